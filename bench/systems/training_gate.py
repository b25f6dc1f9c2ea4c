"""The protocol of all training workers: a gate after every step, which lets a requested number of steps pass.

    python train_X.py JOB

The trainer under measurement runs its own loop and only calls the gate at the end of each step. A round therefore
consists of complete steps, batching included. Between rounds the trainer waits, or translates on request. This file
imports the standard library only.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Gate:
    """A gate that is closed until steps are requested. The first step, which includes the set-up, is not counted."""

    def __init__(self) -> None:
        # The output of libraries must not mix with the answers.
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
        self.about: dict[str, Any] = {}
        # Translates the split "valid" or "test" with a number of beams, by the model as it is trained so far.
        self.translate: Callable[[str, int], list[str]]
        self._left, self._tokens, self._began = 0, 0, 0.0

    def step_done(self, tokens: int) -> None:
        """Count a step on this number of target tokens, EOS included and padding not."""
        self._tokens += tokens
        self._left -= 1
        if self._left > 0:
            return
        seconds = time.perf_counter() - self._began
        if self._began:
            self._answer(seconds=seconds, tokens=self._tokens, memory=peak_memory())
        else:
            self._answer(about=self.about)
        for line in sys.stdin:
            request = json.loads(line)
            if "steps" in request:
                self._left, self._tokens, self._began = request["steps"], 0, time.perf_counter()
                return
            self._answer(texts=self.translate(request["split"], request["beams"]))
        os._exit(0)  # the only way to leave the loop of a trainer

    def _answer(self, **content: Any) -> None:
        print(json.dumps(content), file=self._answers, flush=True)


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes; 0 where the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
