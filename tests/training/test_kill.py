"""A run that is killed anywhere resumes with the same command and ends with the same parameters, bit for bit."""

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
def expected(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the parameters of an uninterrupted run."""
    out = tmp_path_factory.mktemp("uninterrupted") / "model"
    tiny(out)
    return sha256(out / "weights.safetensors")


# kill -9 at chosen disk operations


POINTS = [
    "sync run/texts.tmp/train/source.txt",
    "rename run/texts.tmp",
    "rename run/tokenizer.tmp",
    "sync run/tokens.tmp/train/target.values",
    "rename run/plan.json.tmp",
    "sync run/checkpoints/step-00000020.tmp/optimizer.safetensors",
    "rename run/checkpoints/step-00000030.tmp",
    "sync run/checkpoints",
    "remove run/checkpoints/step-00000020/optimizer.safetensors",
    "rename weights.safetensors.tmp",
    "rename manifest.json.tmp",
]


def test_a_run_killed_once_in_every_stage_resumes(
    tiny: TinyRuns, server: Server, expected: str, tmp_path: Path
) -> None:
    """It is killed while it reads texts, trains the tokenizer, encodes, plans, saves, prunes and writes the model."""
    out = tmp_path / "model"
    for point in POINTS:
        outcome = server.run(command(tiny, out), out, at=point)
        assert outcome.code == -signal.SIGKILL, (point, outcome.stderr)
        assert outcome.operations[-1] == point
        assert not (out / "manifest.json").exists()
    outcome = server.run(command(tiny, out), out)
    assert outcome.code == 0, outcome.stderr
    assert "damaged" not in outcome.stderr
    assert sha256(out / "weights.safetensors") == expected


def test_a_run_killed_before_the_ctranslate2_export_writes_it_when_resumed(
    tiny: TinyRuns, server: Server, expected: str, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    assert server.run(command(tiny, out), out, at="rename ctranslate2.tmp").code == -signal.SIGKILL
    assert server.run(command(tiny, out), out).code == 0
    assert sha256(out / "weights.safetensors") == expected
    assert (out / "ctranslate2" / "manifest.json").exists()


@pytest.mark.slow
def test_a_run_killed_at_every_single_disk_operation_resumes(tiny: TinyRuns, server: Server, tmp_path: Path) -> None:
    """For each sync, rename and removal of a short run, one run is killed just before it."""
    uninterrupted = tmp_path / "uninterrupted"
    arguments = 7, "train.validate_every=2", "train.average=2"
    operations = server.run(command(tiny, uninterrupted, *arguments), uninterrupted).operations
    assert len(operations) > 60
    for number in range(1, len(operations) + 1):
        out = tmp_path / f"killed-{number}"
        outcome = server.run(command(tiny, out, *arguments), out, at=number)
        assert outcome.code == -signal.SIGKILL, (number, outcome.stderr)
        outcome = server.run(command(tiny, out, *arguments), out)
        assert outcome.code == 0, (operations[number - 1], outcome.stderr)
        assert sha256(out / "weights.safetensors") == sha256(uninterrupted / "weights.safetensors"), operations[
            number - 1
        ]


# Requests to stop


LONGER = 200


@pytest.fixture(scope="module")
def expected_of_longer(tiny: TinyRuns, tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("longer") / "model"
    tiny(out, steps=LONGER)
    return sha256(out / "weights.safetensors")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_lets_the_step_finish_and_saves_a_checkpoint(
    tiny: TinyRuns, expected_of_longer: str, tmp_path: Path, number: int, code: int
) -> None:
    """The signal comes from another process, at an arbitrary step."""
    out = tmp_path / "model"
    tiny.stopped(out, 1, steps=LONGER)  # prepared, planned, one step
    process = subprocess.Popen(python_m_regard(command(tiny, out, LONGER)), stderr=subprocess.PIPE, text=True)
    with process:
        wait_for_lines(out / "run" / "log.jsonl", 15, process)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=600)
    assert process.returncode == code, stderr
    assert "stopping after this step; press Ctrl-C again to stop at once\n" in stderr
    step = int(stderr.rpartition("stopped after step ")[2].partition(";")[0])
    assert stderr.endswith(f"stopped after step {step:,}; the same command resumes from there\n")
    assert 10 <= step < LONGER
    events = tiny(out, steps=LONGER)
    assert [event.resumed for event in events if isinstance(event, Planned)] == [step]
    assert isinstance(events[-1], Finished)
    assert sha256(out / "weights.safetensors") == expected_of_longer


def wait_for_lines(file: Path, lines: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 600
    while file.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, "the run ended before the signal"
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize(
    ("number", "code", "point"),
    [
        (signal.SIGTERM, 143, "rename run/texts.tmp"),
        (signal.SIGINT, 130, "sync run/tokens.tmp/train/lines"),
        (signal.SIGTERM, 143, "rename run/checkpoints/step-00000020.tmp"),
    ],
)
def test_a_signal_in_the_middle_of_writing_loses_nothing(
    tiny: TinyRuns, server: Server, expected: str, tmp_path: Path, number: int, code: int, point: str
) -> None:
    out = tmp_path / "model"
    outcome = server.run(command(tiny, out), out, at=point, send=number)
    assert outcome.code == code, outcome.stderr
    assert "Traceback" not in outcome.stderr
    assert ("stopped after step 2" in outcome.stderr) == ("checkpoints" in point)
    outcome = server.run(command(tiny, out), out)
    assert outcome.code == 0, outcome.stderr
    assert sha256(out / "weights.safetensors") == expected
