"""Python in a process of its own: a broken library may end the process that imports it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

TELL = """
import json
def tell(value):
    print("\\n=> " + json.dumps(value), flush=True)
"""

_MARK = "=> "


class ChildError(Exception):
    """A process that failed; why, in its own last words."""


def run_child(code: str, *arguments: str) -> Iterator[Any]:
    """The values that Python code gives to `tell`, as they come."""
    # -P: what lies in the current folder is not imported by mistake.
    command = [sys.executable, "-P", "-c", TELL + code, *arguments]
    last = ""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace"
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(_MARK):
                yield json.loads(line.removeprefix(_MARK))
            else:
                last = line.strip() or last
    if child.returncode < 0:
        raise ChildError(f"it was ended by {signal.Signals(-child.returncode).name}")
    if child.returncode:
        raise ChildError(last or f"it ended with code {child.returncode}")
