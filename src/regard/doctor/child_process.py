"""Runs Python code in a child process, because a broken library may crash the process that imports it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

_PREAMBLE = """
import json
def report(value):
    print("\\n=> " + json.dumps(value), flush=True)
"""

_PREFIX = "=> "


class ChildError(Exception):
    """The failure of a child process; the message is the last line of its output, or the signal that ended it."""


def run_child(code: str, *arguments: str) -> Iterator[Any]:
    """Run Python code in a child process, and yield each value as soon as the code passes it to `report`."""
    # With -P, Python does not import modules from the current folder by mistake.
    command = [sys.executable, "-P", "-c", _PREAMBLE + code, *arguments]
    last_line = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace"
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(_PREFIX):
                yield json.loads(line.removeprefix(_PREFIX))
            else:
                last_line = line.strip() or last_line
    if child.returncode < 0:
        raise ChildError(f"the process was killed by {signal.Signals(-child.returncode).name}")
    if child.returncode:
        raise ChildError(last_line or f"the process exited with code {child.returncode}")
