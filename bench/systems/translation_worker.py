"""The protocol of all translation workers: load once, then answer requests, one JSON object per line.

    python translate_X.py FILES [BACKEND]                  answers on standard output until its input ends
    python translate_X.py FILES [BACKEND] --once TEXT      translates one text and exits

Loading, warming up and choosing settings are not timed; tokenising and detokenising are. This file imports the standard
library only, because every system has its own environment.
"""

import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

PAD, UNK, BOS, EOS = 0, 1, 2, 3
LENGTH_PENALTY = 0.6  # Regard's default
MAX_LENGTH_OFFSET = 50  # how many tokens longer than its source a translation may be, Regard's default

Settings = dict[str, Any]


class System(ABC):
    """A loaded translator."""

    about: Settings  # versions and fixed settings

    def choices(self, beams: int) -> list[Settings]:
        """Return the settings to try on this machine; the fastest is measured."""
        return [{}]

    def prepare(self, settings: Settings, beams: int) -> None:
        """Apply one of the choices."""
        return

    @abstractmethod
    def translate(self, lines: Sequence[str]) -> tuple[list[str], int]:
        """Return the texts in the order of the lines, and the number of target tokens, EOS not counted."""


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def serve(load: Callable[..., System]) -> None:
    """Run as a worker."""
    # The output of libraries must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    arguments, once = sys.argv[1:], None
    if "--once" in arguments:
        once = arguments[-1]
        arguments = arguments[: arguments.index("--once")]
    system = load(*arguments)
    if once is not None:
        system.prepare(system.choices(4)[0], 4)
        print(system.translate([once])[0][0], file=answers, flush=True)
        return

    def answer(**content: Any) -> None:
        print(json.dumps(content), file=answers, flush=True)

    answer(about=system.about, choices={beams: system.choices(beams) for beams in (4, 1)})
    for line in sys.stdin:
        request = json.loads(line)
        system.prepare(request["settings"], request["beams"])
        began = time.perf_counter()
        texts, tokens = system.translate(request["lines"])
        answer(seconds=time.perf_counter() - began, texts=texts, pieces=tokens)
