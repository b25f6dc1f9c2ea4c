"""Runs that are killed, resumed and terminated, often: each ends in the weights of the run that never was."""

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
OPTIONS = (STEPS, f"train.validate_every={EVERY}", "train.average=2")


@campaign("kills")
def test_killed_at_random_instants(tiny: TinyRuns, server: Server, tmp_path: Path, report: Report, count: int) -> None:
    """`kill -9`, two of three by the clock, one of three inside a save; then the same command again, until it ends."""
    whole = tmp_path / "whole"
    began = time.monotonic()
    assert server.run(command(tiny, whole, *OPTIONS), whole).code == 0
    duration = time.monotonic() - began
    numbers, kills, inside, runs, most_lost = random.Random(1), 0, 0, 0, 0
    while kills < count or not is_done(tmp_path / f"run-{runs}"):
        out = tmp_path / f"run-{runs}"
        before = logged_steps(out)
        arguments = command(tiny, out, *OPTIONS)
        if kills >= count:
            outcome = server.run(arguments, out)
        elif kills % 3 == 0:
            outcome = server.run(arguments, out, at=act_of_a_save(out, numbers))
            inside += outcome.code == -signal.SIGKILL
        else:
            outcome = server.run(arguments, out, after=numbers.uniform(0, 0.8) * duration)
        assert outcome.code in (0, -signal.SIGKILL), outcome.said
        assert "damaged" not in outcome.said
        kills += outcome.code != 0
        if going_on := re.search(r"going on after step ([\d,]+)", outcome.said):
            most_lost = max(most_lost, before - int(going_on[1].replace(",", "")))
        if outcome.code == 0:
            assert sha256(out / "weights.safetensors") == sha256(whole / "weights.safetensors")
            runs += kills < count
    assert most_lost <= EVERY
    assert inside >= count // 4
    report(
        f"kill -9: {kills} times, {inside} of them inside a save; {kills} restarts by the same command; "
        f"{runs + 1} runs came to their end, each with the SHA-256 of the uninterrupted one; at most {most_lost} steps "
        f"were taken again (a checkpoint every {EVERY})"
    )


def is_done(out: Path) -> bool:
    return (out / "manifest.json").exists()


def logged_steps(out: Path) -> int:
    log = out / "run" / "log.jsonl"
    steps = re.findall(rb'^{"step": (\d+),.*\n', log.read_bytes(), re.MULTILINE) if log.exists() else []
    return int(steps[-1]) if steps else 0


def act_of_a_save(out: Path, numbers: random.Random) -> str:
    """Something that one of the next checkpoints, or the model after the last, asks of the disk."""
    found = [int(path.name.removeprefix("step-")) for path in (out / "run" / "checkpoints").glob("step-????????")]
    step = (max(found, default=0) // EVERY + 1 + numbers.randrange(3)) * EVERY
    if step > STEPS:
        return numbers.choice(
            ["sync weights.safetensors.tmp", "rename weights.safetensors.tmp", "sync fast.tmp/model.bin"]
        )
    folder = f"run/checkpoints/step-{step:08d}.tmp"
    return numbers.choice(
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
def test_resumed_after_any_step(tiny: TinyRuns, tmp_path: Path, report: Report, count: int) -> None:
    """With dropout, two micro-batches a step, shuffling, averaging, and an order of data that spans epochs."""
    last = 60
    whole = tiny.fresh_for(tmp_path / "whole", last + 1)
    events = tiny(whole, steps=last + 1)
    epochs = max(event.position.epoch for event in events if hasattr(event, "position"))
    assert epochs >= 3
    wanted = Result.of(whole)
    steps = sorted({1 + number * (last - 1) // max(1, count - 1) for number in range(count)})
    assert len(steps) == count
    for step in steps:
        out = tiny.fresh_for(tmp_path / f"stopped-{step}", last + 1)
        assert tiny.stopped(out, step, steps=last + 1)[-1] == Stopped(step)
        (planned,) = [event for event in tiny(out, steps=last + 1) if isinstance(event, Planned)]
        assert planned.resumed == step
        assert Result.of(out) == wanted, step
    report(
        f"resumed after each of {len(steps)} steps from 1 to {last}, over {epochs} epochs: weights, card and the loss "
        f"of every step bit-identical in {len(steps)} of {len(steps)}"
    )


@campaign("terminations")
def test_terminated_at_random_steps(tiny: TinyRuns, server: Server, tmp_path: Path, report: Report, count: int) -> None:
    whole = tmp_path / "whole"
    assert server.run(command(tiny, whole, *OPTIONS), whole).code == 0
    wanted = sha256(whole / "weights.safetensors")
    numbers = random.Random(2)
    seconds: list[float] = []
    twice: list[float] = []
    for number in range(count):
        out, step = tmp_path / f"stopped-{number}", numbers.randrange(1, STEPS)
        # One in ten is in a hurry, and asks twice.
        times = 2 if number % 10 == 9 else 1
        outcome = server.run(command(tiny, out, *OPTIONS), out, at=f"step {step}", send=signal.SIGTERM, times=times)
        asked = next(float(act.split()[1]) for act in outcome.acts if act.startswith("signal "))
        (seconds if times == 1 else twice).append(time.time() - asked)
        assert outcome.code == 143, outcome.said
        assert "Traceback" not in outcome.said
        if times == 1:
            assert outcome.said.endswith(f"stopped after step {step}; the same command goes on from there\n")
            assert find_damage(out / "run" / "checkpoints" / f"step-{step:08d}") is None
        assert server.run(command(tiny, out, *OPTIONS), out).code == 0
        assert sha256(out / "weights.safetensors") == wanted
    late = sorted(seconds)[-max(1, len(seconds) // 20)]
    report(
        f"SIGTERM at {count} random steps: exit 143 and resumed bit-identical in {count} of {count}; the very step "
        f"saved in {len(seconds)} of {len(seconds)}; from signal to exit {late:.2f} s at the 95th percentile"
        + (f"; asked twice, at most {max(twice):.2f} s" if twice else "")
    )
