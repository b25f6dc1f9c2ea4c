"""A run that is killed, anywhere, goes on with the same command and ends in the same weights, bit for bit."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from regard.files import sha256
from regard.training.run import Finished, Planned

if TYPE_CHECKING:
    from tests.training.conftest import TinyRuns

torch.set_num_threads(1)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or not Path("/proc/self/fd").is_dir(), reason="needs Linux")

# Runs `regard` in one child after the other, so that torch is imported only once. Each line of input is a request
# (arguments, and which act on the disk gets which signal just before it), each line of output what became of it.
SERVER = '''
import json, os, sys
from pathlib import Path

import regard.training.run
from regard.cli import main

regard.training.plan.measure = lambda *_: regard.training.plan.Speed(0.01, 50.0)


def watch(out, request, journal):
    """Count the acts on the disk, and send this process its signal at the one that was asked for."""
    count = 0

    def act(kind, path):
        nonlocal count
        try:
            name = f"{kind} {Path(path).relative_to(out)}"
        except ValueError:
            return  # not of this run
        count += 1
        journal.write(name + "\\n")
        journal.flush()
        if request["at"] in (count, name):
            os.kill(os.getpid(), request["signal"])

    def wrap(name, kind, where):
        original = getattr(os, name)

        def wrapped(*arguments, **options):
            act(kind, where(*arguments, **options))
            return original(*arguments, **options)

        setattr(os, name, wrapped)

    def descriptor(number):
        return os.readlink(f"/proc/self/fd/{number}")

    def entry(path, *, dir_fd=None):
        return os.path.join(descriptor(dir_fd), path) if dir_fd is not None else path

    wrap("fsync", "sync", descriptor)
    wrap("unlink", "remove", entry)
    wrap("rmdir", "remove", entry)
    wrap("replace", "rename", lambda source, target: source)


def child(request):
    out = Path(request["out"])
    log = os.open(request["journal"] + ".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    watch(out, request, open(request["journal"], "w"))
    try:
        main(request["arguments"])
    except SystemExit as end:
        sys.stderr.flush()
        os._exit(end.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(99)


for line in sys.stdin:
    request = json.loads(line)
    pid = os.fork()
    if pid == 0:
        child(request)
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
'''


@dataclass(frozen=True)
class Outcome:
    """How a process ended (the negative of a signal, or its exit code), what it did on the disk, what it said."""

    code: int
    acts: list[str]
    said: str


class Server:
    """Gives commands to a process that runs each in a child of its own."""

    def __init__(self, folder: Path) -> None:
        (folder / "server.py").write_text(SERVER, "utf-8")
        self._journal = folder / "journal"
        self.process = subprocess.Popen(
            [sys.executable, folder / "server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, arguments: list[str], out: Path, at: int | str | None = None, send: int = signal.SIGKILL) -> Outcome:
        """Run a command; if `at` is given, the act of that number or name is not done: the signal comes first."""
        request = {"arguments": arguments, "out": str(out), "journal": str(self._journal), "at": at, "signal": send}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        said = Path(f"{self._journal}.err").read_text("utf-8")
        return Outcome(code, self._journal.read_text("utf-8").splitlines(), said)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    with server.process:
        yield server


def command(tiny: "TinyRuns", out: Path, steps: int = 50, *more: str) -> list[str]:
    settings = [word for override in (*tiny.overrides, *more) for word in ("--set", override)]
    files = [str(path) for path in tiny.files]
    return ["train", *files, "--out", str(out), "--size", "tiny", "--steps", str(steps), *settings]


@pytest.fixture(scope="module")
def wanted(tiny: "TinyRuns", tmp_path_factory: pytest.TempPathFactory) -> str:
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


def test_killed_in_every_stage_one_after_the_other(
    tiny: "TinyRuns", server: Server, wanted: str, tmp_path: Path
) -> None:
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
    tiny: "TinyRuns", server: Server, wanted: str, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    assert server.run(command(tiny, out), out, at="rename fast.tmp").code == -signal.SIGKILL
    assert server.run(command(tiny, out), out).code == 0
    assert sha256(out / "weights.safetensors") == wanted
    assert (out / "fast" / "manifest.json").exists()


@pytest.mark.slow
def test_killed_at_every_single_act_on_the_disk(tiny: "TinyRuns", server: Server, tmp_path: Path) -> None:
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


@pytest.mark.slow
def test_killed_twenty_times_at_random_moments(tiny: "TinyRuns", server: Server, tmp_path: Path) -> None:
    """A real command under `kill -9`: 15 times by the clock, 5 times inside a save or a stage of preparation."""
    steps, more = 300, "train.validate_every=20"
    whole = tmp_path / "whole"
    began = time.monotonic()
    assert subprocess.run(python_m_regard(command(tiny, whole, steps, more)), check=False).returncode == 0
    duration = time.monotonic() - began
    wanted = sha256(whole / "weights.safetensors")

    numbers = random.Random(20)
    stages = ["sync run/texts.tmp/train/target.offsets", "rename run/tokenizer.tmp", "sync run/shards.tmp/train/lines"]
    outs = (tmp_path / f"killed-{number}" for number in itertools.count())
    out, killed = next(outs), 0
    while killed < 20:
        arguments = command(tiny, out, steps, more)
        if killed < 3 or killed in (8, 14):
            outcome = server.run(arguments, out, at=stages[killed] if killed < 3 else next_save(out, steps))
            assert outcome.code == -signal.SIGKILL, outcome.said
            killed += 1
        else:
            killed += is_killed_after(numbers.uniform(0.1, 0.7) * duration, arguments)
        if (out / "manifest.json").exists():  # it came to its end before we did; the next begins anew
            assert sha256(out / "weights.safetensors") == wanted
            out = next(outs)
    assert server.run(command(tiny, out, steps, more), out).code == 0
    assert sha256(out / "weights.safetensors") == wanted


def is_killed_after(seconds: float, arguments: list[str]) -> bool:
    """Run a command and kill it; False if it came to its end before."""
    process = subprocess.Popen(python_m_regard(arguments), stderr=subprocess.DEVNULL)
    try:
        assert process.wait(timeout=seconds) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    return False


def next_save(out: Path, steps: int) -> str:
    """Where the next checkpoint is being written, or the model itself after the last."""
    found = [int(path.name.removeprefix("step-")) for path in (out / "run" / "checkpoints").glob("step-????????")]
    step = (max(found, default=0) // 20 + 1) * 20
    if step > steps:
        return "sync weights.safetensors.tmp"
    return f"sync run/checkpoints/step-{step:08d}.tmp/weights.safetensors"


def python_m_regard(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "regard", *arguments]


# Asked to stop


LONGER = 200


@pytest.fixture(scope="module")
def wanted_of_longer(tiny: "TinyRuns", tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("longer") / "model"
    tiny(out, steps=LONGER)
    return sha256(out / "weights.safetensors")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_asked_to_stop_it_finishes_the_step_saves_and_says_so(
    tiny: "TinyRuns", wanted_of_longer: str, tmp_path: Path, number: int, code: int
) -> None:
    """A real command, and a signal from outside at whatever step it is."""
    out = tmp_path / "model"
    tiny.stopped(out, 1, steps=LONGER)  # prepared, planned, one step
    process = subprocess.Popen(python_m_regard(command(tiny, out, LONGER)), stderr=subprocess.PIPE, text=True)
    with process:
        wait_for_lines(out / "run" / "log.jsonl", 15, process)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
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
    until = time.monotonic() + 60
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
    tiny: "TinyRuns", server: Server, wanted: str, tmp_path: Path, number: int, code: int, point: str
) -> None:
    out = tmp_path / "model"
    outcome = server.run(command(tiny, out), out, at=point, send=number)
    assert outcome.code == code, outcome.said
    assert "Traceback" not in outcome.said
    assert ("stopped after step 2" in outcome.said) == ("checkpoints" in point)
    outcome = server.run(command(tiny, out), out)
    assert outcome.code == 0, outcome.said
    assert sha256(out / "weights.safetensors") == wanted
