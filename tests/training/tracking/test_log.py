"""The log of a run holds each step once, however often the run was interrupted."""

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


def test_each_line_is_a_json_object(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        log.write(1, loss=0.1 + 0.2, learning_rate=1e-9)
        log.write(1, text="déjà\nvu", nothing=None)
    assert records(tmp_path) == [
        {"step": 1, "loss": 0.1 + 0.2, "learning_rate": 1e-9},
        {"step": 1, "text": "déjà\nvu", "nothing": None},
    ]


def test_a_record_can_be_read_immediately(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        log.write(1, loss=2.0)
        assert steps(tmp_path) == [1]


def test_a_resumed_run_drops_records_after_its_checkpoint(tmp_path: Path) -> None:
    write(tmp_path, 1, 2, 3, 3, 4, 5)
    write(tmp_path, 4, 5, 6, resumed_step=3)
    assert steps(tmp_path) == [1, 2, 3, 3, 4, 5, 6]


def test_a_run_from_the_beginning_drops_all_records(tmp_path: Path) -> None:
    write(tmp_path, 1, 2, 3)
    write(tmp_path, 1)
    assert steps(tmp_path) == [1]


@pytest.mark.parametrize("cut", range(1, 26))
def test_a_last_line_that_was_cut_off_is_dropped(tmp_path: Path, cut: int) -> None:
    write(tmp_path, 1, 2, 3)
    partial = '{"step": 4, "loss": 2.0}\n'[:-cut]
    with (tmp_path / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(partial)
    write(tmp_path, 4, 5, resumed_step=3)
    assert steps(tmp_path) == [1, 2, 3, 4, 5]


def test_a_line_without_its_line_feed_is_dropped(tmp_path: Path) -> None:
    """Unlike checkpoints, the log is not synced, so a power cut may remove the end of an older line."""
    write(tmp_path, 1, 2, 3)
    os.truncate(tmp_path / "log.jsonl", (tmp_path / "log.jsonl").stat().st_size - 1)
    write(tmp_path, 4, resumed_step=3)
    assert steps(tmp_path) == [1, 2, 4]


def test_a_line_cut_off_inside_a_character_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write('{"step": 2, "text": "dé'.encode()[:-1])
    write(tmp_path, 2, resumed_step=1)
    assert steps(tmp_path) == [1, 2]


def test_other_line_separators_do_not_end_a_line(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        log.write(1, text="one\u2028two\u0085three")
    write(tmp_path, 2, resumed_step=1)
    assert records(tmp_path)[0]["text"] == "one\u2028two\u0085three"


def test_tensorboard_files_are_written_and_purged_on_resume(tmp_path: Path) -> None:
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for first, last, resumed in ((1, 3, 0), (3, 5, 2)):
        with Log(tmp_path, resumed_step=resumed, tensorboard=True) as log:
            for step in range(first, last + 1):
                log.write(step, loss=100.0 * first + step, words="not a number")
    accumulator = event_accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    accumulator.Reload()
    assert accumulator.Tags()["scalars"] == ["loss"]
    assert [(scalar.step, scalar.value) for scalar in accumulator.Scalars("loss")] == [
        (1, 101.0),
        (2, 102.0),
        (3, 303.0),
        (4, 304.0),
        (5, 305.0),
    ]


def test_missing_tensorboard_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.training.planning.request.find_spec", lambda _: None)
    with pytest.raises(RunError) as caught:
        check_tensorboard()
    assert str(caught.value) == "train.tensorboard needs TensorBoard: pip install 'regard[tensorboard]'"
