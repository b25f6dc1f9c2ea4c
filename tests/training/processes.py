"""Runs `regard` in child processes that receive a signal at a disk operation, at a step, or after some time."""

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.training.conftest import TinyRuns

# Runs `regard` in one forked child after another, so that torch is imported only once. Each line of input is a request
# (arguments, and the signal to send at a disk operation, step or time); each line of output is an exit code.
SERVER = '''
import json, os, signal, sys, threading, time
from pathlib import Path

import regard.training.run
from regard.cli import main
from regard.training.planning import step_time
from regard.training.tracking.log import Log

step_time.measure_step_time = lambda *_: step_time.StepTime(0.01, 50.0)


def watch(out, request, journal):
    """Journal the disk operations, and send this process the signal at the requested one."""
    count = 0

    def note(kind, path):
        nonlocal count
        try:
            name = f"{kind} {Path(path).relative_to(out)}"
        except ValueError:
            return  # not a file of this run
        count += 1
        journal.write(name + "\\n")
        journal.flush()
        if request["at"] in (count, name):
            os.kill(os.getpid(), request["signal"])

    def wrap(name, kind, where):
        original = getattr(os, name)

        def wrapped(*arguments, **options):
            note(kind, where(*arguments, **options))
            return original(*arguments, **options)

        setattr(os, name, wrapped)

    def descriptor(number):
        return os.readlink(f"/proc/self/fd/{number}")

    def entry(path, *, dir_fd=None):
        return os.path.join(descriptor(dir_fd), path) if dir_fd is not None else path

    def log(self, step, **values):
        write(self, step, **values)
        if request["at"] == f"step {step}" and "loss" in values:
            journal.write(f"signal {time.time()}\\n")
            journal.flush()
            for _ in range(request["times"]):
                os.kill(os.getpid(), request["signal"])

    write = Log.write
    Log.write = log
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
    killer = threading.Timer(request["after"] or 0, os.kill, (pid, signal.SIGKILL))
    if request["after"] is not None:
        killer.start()
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # the process id stays reserved until waitpid
    killer.cancel()
    if request["after"] is not None:
        killer.join()
    _, status = os.waitpid(pid, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
'''


@dataclass(frozen=True)
class Outcome:
    """The end of a process: its exit code (negative for a signal), its disk operations, and its standard error."""

    code: int
    operations: list[str]
    stderr: str


class Server:
    """A process that runs each command in a child process."""

    def __init__(self, folder: Path) -> None:
        (folder / "server.py").write_text(SERVER, "utf-8")
        self._journal = folder / "journal"
        self.process = subprocess.Popen(
            [sys.executable, folder / "server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self,
        arguments: list[str],
        out: Path,
        at: int | str | None = None,
        send: int = signal.SIGKILL,
        times: int = 1,
        after: float | None = None,
    ) -> Outcome:
        """Run a command, and send a signal just before the disk operation with the number or name `at`.

        `at="step 7"` sends the signal after that step; `after` kills the command after this many seconds.
        """
        request: dict[str, Any] = {"arguments": arguments, "out": str(out), "journal": str(self._journal)}
        request |= {"at": at, "signal": send, "times": times, "after": after}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        stderr = Path(f"{self._journal}.err").read_text("utf-8")
        return Outcome(code, self._journal.read_text("utf-8").splitlines(), stderr)


def command(tiny: TinyRuns, out: Path, steps: int = 50, *more: str) -> list[str]:
    settings = [word for override in (*tiny.overrides, *more) for word in ("--set", override)]
    files = [str(path) for path in tiny.files]
    return ["train", *files, "--out", str(out), "--size", "tiny", "--steps", str(steps), *settings]


def python_m_regard(arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "regard", *arguments]
