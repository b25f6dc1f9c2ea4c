"""Runs commands of one checkout one after another in one process, so that torch is imported only once.

Each line of standard input is one command, as a JSON list of its words. The answer is a line of JSON with the exit
status, the standard output and the standard error of the command. PYTHONPATH selects the checkout.
`comparison/checkout.py` starts this program.
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
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # What libraries print goes to standard error.
    group = import_module("regard.__main__").main
    for line in sys.stdin:
        answers.write(json.dumps(run(group, json.loads(line))) + "\n")
        answers.flush()


def run(group: Any, words: list[str]) -> dict[str, Any]:
    """Run one command and return its exit status and everything that it wrote.

    Its output goes to files, because some commands close their standard output.
    """
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
