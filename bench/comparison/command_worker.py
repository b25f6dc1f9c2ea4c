"""A process that runs commands of one checkout one after another, so that torch is imported only once.

It reads a JSON list of words for each command, a line each, and answers with a JSON line: exit status, standard output
and standard error of the command. The checkout is the one that PYTHONPATH names. Run by `comparison/checkout.py`.
"""

import json
import os
import sys
import tempfile
import traceback
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # What a library prints must not come between the answers.
    group = import_module("regard.__main__").main
    for line in sys.stdin:
        answers.write(json.dumps(run(group, json.loads(line))) + "\n")
        answers.flush()


def run(group: Any, words: list[str]) -> dict[str, Any]:
    """Run one command and return everything it wrote; it writes to files, because it may close its output."""
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        with output.open("w", encoding="utf-8") as out, errors.open("w", encoding="utf-8") as err:
            with redirect_stdout(out), redirect_stderr(err):
                status = _status(group, words)
            err.flush()
            if not out.closed:
                out.flush()
        return {"status": status, "output": output.read_text("utf-8"), "errors": errors.read_text("utf-8")}


def _status(group: Any, words: list[str]) -> int:
    try:
        group(words, prog_name="regard")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
