"""The diary of a run holds each step once, however often the run was interrupted."""

import json
import os
from pathlib import Path

import pytest

from regard.errors import RunError
from regard.training.planning.request import check_tensorboard
from regard.training.tracking.log import Log


def open_log(folder: Path, resumed_step: int = 0) -> Log:
    return Log(folder, resumed_step=resumed_step, tensorboard=False)


def write(folder: Path, *steps: int, resumed_step: int = 0) -> None:
    with open_log(folder, resumed_step) as log:
        for step in steps:
            log.write(step, loss=step / 2)


def records(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_bytes().splitlines()]


def steps(folder: Path) -> list[int]:
    return [record["step"] for record in records(folder)]


def test_one_object_a_line(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        log.write(1, loss=0.1 + 0.2, learning_rate=1e-9)
        log.write(1, text="déjà\nvu", nothing=None)
    assert records(tmp_path) == [
        {"step": 1, "loss": 0.1 + 0.2, "learning_rate": 1e-9},
        {"step": 1, "text": "déjà\nvu", "nothing": None},
    ]


def test_what_is_written_can_be_read_at_once(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        log.write(1, loss=2.0)
        assert steps(tmp_path) == [1]


def test_a_resumed_run_forgets_what_came_after(tmp_path: Path) -> None:
    write(tmp_path, 1, 2, 3, 3, 4, 5)
    write(tmp_path, 4, 5, 6, resumed_step=3)
    assert steps(tmp_path) == [1, 2, 3, 3, 4, 5, 6]


def test_a_run_from_the_beginning_forgets_everything(tmp_path: Path) -> None:
    write(tmp_path, 1, 2, 3)
    write(tmp_path, 1)
    assert steps(tmp_path) == [1]


@pytest.mark.parametrize("cut", range(1, 26))
def test_a_torn_last_line_is_dropped(tmp_path: Path, cut: int) -> None:
    write(tmp_path, 1, 2, 3)
    torn = '{"step": 4, "loss": 2.0}\n'[:-cut]
    with (tmp_path / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(torn)
    write(tmp_path, 4, 5, resumed_step=3)
    assert steps(tmp_path) == [1, 2, 3, 4, 5]


def test_a_line_that_lost_only_its_end_does_not_swallow_the_next(tmp_path: Path) -> None:
    """The log is not synced as checkpoints are, so a power cut may take the end of an older line."""
    write(tmp_path, 1, 2, 3)
    os.truncate(tmp_path / "log.jsonl", (tmp_path / "log.jsonl").stat().st_size - 1)
    write(tmp_path, 4, resumed_step=3)
    assert steps(tmp_path) == [1, 2, 4]


def test_a_torn_character_is_no_obstacle(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write('{"step": 2, "text": "dé'.encode()[:-1])
    write(tmp_path, 2, resumed_step=1)
    assert steps(tmp_path) == [1, 2]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        log.write(1, text="one\u2028two\u0085three")
    write(tmp_path, 2, resumed_step=1)
    assert records(tmp_path)[0]["text"] == "one\u2028two\u0085three"


def test_tensorboard_is_written_beside_and_purged_on_resume(tmp_path: Path) -> None:
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for first, last, resumed in ((1, 3, 0), (3, 5, 2)):
        with Log(tmp_path, resumed_step=resumed, tensorboard=True) as log:
            for step in range(first, last + 1):
                log.write(step, loss=100.0 * first + step, words="not a number")
    found = event_accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    assert found.Tags()["scalars"] == ["loss"]
    assert [(each.step, each.value) for each in found.Scalars("loss")] == [
        (1, 101.0),
        (2, 102.0),
        (3, 303.0),
        (4, 304.0),
        (5, 305.0),
    ]


def test_tensorboard_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.training.planning.request.find_spec", lambda _: None)
    with pytest.raises(RunError) as caught:
        check_tensorboard()
    assert str(caught.value) == "train.tensorboard needs TensorBoard: pip install 'regard[tensorboard]'"
