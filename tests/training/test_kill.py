"""A run that is killed, anywhere, goes on with the same command and ends in the same weights, bit for bit."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.training.conftest import TinyRuns
from tests.training.processes import Server, command, python_m_regard

from regard.storage.manifest import sha256
from regard.training.tracking.events import Finished, Planned

torch.set_num_threads(1)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or not Path("/proc/self/fd").is_dir(), reason="needs Linux")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    with server.process:
        yield server


@pytest.fixture(scope="module")
def wanted(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the weights of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole") / "model"
    tiny(out)
    return sha256(out / "weights.safetensors")


# kill -9 at chosen acts


POINTS = [
    "sync run/texts.tmp/train/source.txt",
    "rename run/texts.tmp",
    "rename run/tokenizer.tmp",
    "sync run/shards.tmp/train/target.ids",
    "rename run/plan.json.tmp",
    "sync run/checkpoints/step-00000020.tmp/optimizer.safetensors",
    "rename run/checkpoints/step-00000030.tmp",
    "sync run/checkpoints",
    "remove run/checkpoints/step-00000020/optimizer.safetensors",
    "rename weights.safetensors.tmp",
    "rename manifest.json.tmp",
]


def test_killed_in_every_stage_one_after_the_other(tiny: TinyRuns, server: Server, wanted: str, tmp_path: Path) -> None:
    """While it gathers texts, finds pieces, encodes, plans, saves, prunes, and writes the model."""
    out = tmp_path / "model"
    for point in POINTS:
        outcome = server.run(command(tiny, out), out, at=point)
        assert outcome.code == -signal.SIGKILL, (point, outcome.said)
        assert outcome.acts[-1] == point
        assert not (out / "manifest.json").exists()
    outcome = server.run(command(tiny, out), out)
    assert outcome.code == 0, outcome.said
    assert "damaged" not in outcome.said
    assert sha256(out / "weights.safetensors") == wanted


def test_killed_before_the_engines_files_are_written_it_writes_them(
    tiny: TinyRuns, server: Server, wanted: str, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    assert server.run(command(tiny, out), out, at="rename fast.tmp").code == -signal.SIGKILL
    assert server.run(command(tiny, out), out).code == 0
    assert sha256(out / "weights.safetensors") == wanted
    assert (out / "fast" / "manifest.json").exists()


@pytest.mark.slow
def test_killed_at_every_single_act_on_the_disk(tiny: TinyRuns, server: Server, tmp_path: Path) -> None:
    """Each sync, rename and removal of a short run is once the one that does not happen."""
    whole = tmp_path / "whole"
    arguments = 7, "train.validate_every=2", "train.average=2"
    acts = server.run(command(tiny, whole, *arguments), whole).acts
    assert len(acts) > 60
    for number in range(1, len(acts) + 1):
        out = tmp_path / f"killed-{number}"
        outcome = server.run(command(tiny, out, *arguments), out, at=number)
        assert outcome.code == -signal.SIGKILL, (number, outcome.said)
        outcome = server.run(command(tiny, out, *arguments), out)
        assert outcome.code == 0, (acts[number - 1], outcome.said)
        assert sha256(out / "weights.safetensors") == sha256(whole / "weights.safetensors"), acts[number - 1]


# Asked to stop


LONGER = 200


@pytest.fixture(scope="module")
def wanted_of_longer(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("longer") / "model"
    tiny(out, steps=LONGER)
    return sha256(out / "weights.safetensors")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_asked_to_stop_it_finishes_the_step_saves_and_says_so(
    tiny: TinyRuns, wanted_of_longer: str, tmp_path: Path, number: int, code: int
) -> None:
    """A real command, and a signal from outside at whatever step it is."""
    out = tmp_path / "model"
    tiny.stopped(out, 1, steps=LONGER)  # prepared, planned, one step
    process = subprocess.Popen(python_m_regard(command(tiny, out, LONGER)), stderr=subprocess.PIPE, text=True)
    with process:
        wait_for_lines(out / "run" / "log.jsonl", 15, process)
        process.send_signal(number)
        _, said = process.communicate(timeout=600)
    assert process.returncode == code, said
    assert "stopping after this step; once more stops at once\n" in said
    step = int(said.rpartition("stopped after step ")[2].partition(";")[0])
    assert said.endswith(f"stopped after step {step:,}; the same command goes on from there\n")
    assert 10 <= step < LONGER
    events = tiny(out, steps=LONGER)
    assert [event.resumed for event in events if isinstance(event, Planned)] == [step]
    assert isinstance(events[-1], Finished)
    assert sha256(out / "weights.safetensors") == wanted_of_longer


def wait_for_lines(file: Path, lines: int, process: subprocess.Popen) -> None:
    until = time.monotonic() + 600
    while file.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, "it ended by itself"
        assert time.monotonic() < until
        time.sleep(0.002)


@pytest.mark.parametrize(
    ("number", "code", "point"),
    [
        (signal.SIGTERM, 143, "rename run/texts.tmp"),
        (signal.SIGINT, 130, "sync run/shards.tmp/train/lines"),
        (signal.SIGTERM, 143, "rename run/checkpoints/step-00000020.tmp"),
    ],
)
def test_asked_to_stop_in_the_middle_of_writing_it_loses_nothing(
    tiny: TinyRuns, server: Server, wanted: str, tmp_path: Path, number: int, code: int, point: str
) -> None:
    out = tmp_path / "model"
    outcome = server.run(command(tiny, out), out, at=point, send=number)
    assert outcome.code == code, outcome.said
    assert "Traceback" not in outcome.said
    assert ("stopped after step 2" in outcome.said) == ("checkpoints" in point)
    outcome = server.run(command(tiny, out), out)
    assert outcome.code == 0, outcome.said
    assert sha256(out / "weights.safetensors") == wanted
