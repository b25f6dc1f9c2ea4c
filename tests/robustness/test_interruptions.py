"""Runs that are often killed, stopped and resumed end with the parameters of an uninterrupted run."""

import random
import re
import signal
import time
from pathlib import Path

import torch
from tests.robustness.conftest import Report
from tests.robustness.counts import campaign
from tests.training.conftest import Result, TinyRuns
from tests.training.processes import Server, command

from regard.storage.manifest import find_damage, sha256
from regard.training.tracking.events import Planned, Stopped

torch.set_num_threads(1)

STEPS, EVERY = 60, 5
RESUMED = r"resuming after step ([\d,]+)"
OPTIONS = (STEPS, f"train.validate_every={EVERY}", "train.average=2")


@campaign("kills")
def test_runs_killed_at_random_times_resume(
    tiny: TinyRuns, server: Server, tmp_path: Path, report: Report, count: int
) -> None:
    """Two of three kills come at a random time, one during a save; the same command then resumes the run."""
    uninterrupted = tmp_path / "uninterrupted"
    began = time.monotonic()
    assert server.run(command(tiny, uninterrupted, *OPTIONS), uninterrupted).code == 0
    duration = time.monotonic() - began
    generator, kills, kills_in_saves, runs, max_repeated = random.Random(1), 0, 0, 0, 0
    while kills < count or not is_done(tmp_path / f"run-{runs}"):
        out = tmp_path / f"run-{runs}"
        before = logged_steps(out)
        arguments = command(tiny, out, *OPTIONS)
        if kills >= count:
            outcome = server.run(arguments, out)
        elif kills % 3 == 0:
            outcome = server.run(arguments, out, at=operation_of_a_save(out, generator))
            kills_in_saves += outcome.code == -signal.SIGKILL
        else:
            outcome = server.run(arguments, out, after=generator.uniform(0, 0.8) * duration)
        assert outcome.code in (0, -signal.SIGKILL), outcome.stderr
        assert "damaged" not in outcome.stderr
        kills += outcome.code != 0
        if resumed := re.search(RESUMED, outcome.stderr):
            max_repeated = max(max_repeated, before - int(resumed[1].replace(",", "")))
        if outcome.code == 0:
            assert sha256(out / "weights.safetensors") == sha256(uninterrupted / "weights.safetensors")
            runs += kills < count
    assert max_repeated <= EVERY
    assert kills_in_saves >= count // 4
    report(
        f"kill -9: {kills} kills, {kills_in_saves} of them during a save, each followed by the same command; "
        f"{runs + 1} of {runs + 1} runs finished with the same SHA-256 as an uninterrupted run; at most {max_repeated} "
        f"steps had to be repeated (one checkpoint every {EVERY} steps)"
    )


def is_done(out: Path) -> bool:
    return (out / "manifest.json").exists()


def logged_steps(out: Path) -> int:
    log = out / "run" / "log.jsonl"
    steps = re.findall(rb'^{"step": (\d+),.*\n', log.read_bytes(), re.MULTILINE) if log.exists() else []
    return int(steps[-1]) if steps else 0


def operation_of_a_save(out: Path, generator: random.Random) -> str:
    """Return a disk operation of one of the next checkpoints, or of the model folder after the last one."""
    steps = [int(path.name.removeprefix("step-")) for path in (out / "run" / "checkpoints").glob("step-????????")]
    step = (max(steps, default=0) // EVERY + 1 + generator.randrange(3)) * EVERY
    if step > STEPS:
        return generator.choice(
            ["sync weights.safetensors.tmp", "rename weights.safetensors.tmp", "sync fast.tmp/model.bin"]
        )
    folder = f"run/checkpoints/step-{step:08d}.tmp"
    return generator.choice(
        [
            f"sync {folder}/weights.safetensors",
            f"sync {folder}/optimizer.safetensors",
            f"sync {folder}/progress.json.tmp",
            f"rename {folder}/progress.json.tmp",
            f"sync {folder}/manifest.json.tmp",
            f"rename {folder}/manifest.json.tmp",
            f"sync {folder}",
            f"rename {folder}",
        ]
    )


@campaign("resumed steps")
def test_runs_resumed_after_any_step_are_bit_identical(
    tiny: TinyRuns, tmp_path: Path, report: Report, count: int
) -> None:
    """The runs have dropout, two micro-batches per step, shuffling, averaging and several epochs."""
    last = 60
    uninterrupted = tiny.fresh_for(tmp_path / "uninterrupted", last + 1)
    events = tiny(uninterrupted, steps=last + 1)
    epochs = max(event.position.epoch for event in events if hasattr(event, "position"))
    assert epochs >= 3
    expected = Result.of(uninterrupted)
    steps = sorted({1 + number * (last - 1) // max(1, count - 1) for number in range(count)})
    assert len(steps) == count
    for step in steps:
        out = tiny.fresh_for(tmp_path / f"stopped-{step}", last + 1)
        assert tiny.stopped(out, step, steps=last + 1)[-1] == Stopped(step)
        (planned,) = [event for event in tiny(out, steps=last + 1) if isinstance(event, Planned)]
        assert planned.resumed == step
        assert Result.of(out) == expected, step
    report(
        f"stopped and resumed after each of {len(steps)} steps between 1 and {last}, over {epochs} epochs: parameters, "
        f"model card and the loss of every step are bit-identical in {len(steps)} of {len(steps)} runs"
    )


@campaign("terminations")
def test_runs_terminated_at_random_steps_resume(
    tiny: TinyRuns, server: Server, tmp_path: Path, report: Report, count: int
) -> None:
    uninterrupted = tmp_path / "uninterrupted"
    assert server.run(command(tiny, uninterrupted, *OPTIONS), uninterrupted).code == 0
    expected = sha256(uninterrupted / "weights.safetensors")
    generator = random.Random(2)
    seconds_after_one: list[float] = []
    seconds_after_two: list[float] = []
    for number in range(count):
        out, step = tmp_path / f"stopped-{number}", generator.randrange(1, STEPS)
        # Every tenth run gets the signal twice, which stops it at once.
        times = 2 if number % 10 == 9 else 1
        outcome = server.run(command(tiny, out, *OPTIONS), out, at=f"step {step}", send=signal.SIGTERM, times=times)
        sent = next(float(line.split()[1]) for line in outcome.operations if line.startswith("signal "))
        (seconds_after_one if times == 1 else seconds_after_two).append(time.time() - sent)
        assert outcome.code == 143, outcome.stderr
        assert "Traceback" not in outcome.stderr
        if times == 1:
            assert outcome.stderr.endswith(f"stopped after step {step}; the same command resumes from there\n")
            assert find_damage(out / "run" / "checkpoints" / f"step-{step:08d}") is None
        assert server.run(command(tiny, out, *OPTIONS), out).code == 0
        assert sha256(out / "weights.safetensors") == expected
    single = len(seconds_after_one)
    p95 = sorted(seconds_after_one)[-max(1, single // 20)]
    report(
        f"SIGTERM at {count} random steps: exit code 143 and bit-identical after resuming in {count} of {count} runs; "
        f"the current step was saved in {single} of {single}; the time from signal to exit is {p95:.2f} s at the 95th "
        "percentile"
        + (f", and at most {max(seconds_after_two):.2f} s after a second signal" if seconds_after_two else "")
    )
