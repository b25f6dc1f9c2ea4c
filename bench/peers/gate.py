"""What all workers that train share: a gate after every step, which lets so many steps pass as it is told to.

    python train_X.py JOB

The trainer under measurement runs its own loop; only the end of each step calls the gate. So a round is whole steps,
batches included, and between rounds the trainer waits, or translates what it is asked to. Standard library only.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Gate:
    """Closed until asked. The step in which it is made ready is not counted."""

    def __init__(self) -> None:
        # What libraries print must not mix with answers.
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.job: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))
        self.about: dict[str, Any] = {}
        # Translates the part of that name, "valid" or "test", with so many beams, by what has been learnt so far.
        self.translate: Callable[[str, int], list[str]]
        self._left, self._tokens, self._began = 0, 0, 0.0

    def step_done(self, tokens: int) -> None:
        """A step was taken on so many target pieces, end marks included, padding not."""
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
            self._answer(texts=self.translate(request["part"], request["beams"]))
        os._exit(0)  # in the middle of a trainer's loop there is no other way out

    def _answer(self, **content: Any) -> None:
        print(json.dumps(content), file=self._answers, flush=True)


def peak_memory() -> int:
    """The most this process has held, in bytes; none where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
