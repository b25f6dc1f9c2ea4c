"""What all workers share: load once, then translate on command, one JSON object a line, in and out.

    python with_X.py FILES [ROAD]                  stays, and answers on standard output
    python with_X.py FILES [ROAD] --once TEXT      translates one text and leaves

Loading, warming up and choosing settings are not timed; reading raw lines into pieces and back is. Nothing but the
standard library is imported here, because every peer has an environment of its own.
"""

import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

PAD, UNK, START, END = 0, 1, 2, 3
ALPHA = 0.6  # of the length penalty, Regard's default
EXTRA = 50  # how many pieces longer than its source a translation may grow, Regard's default

Settings = dict[str, Any]


class Peer(ABC):
    """A loaded translator."""

    about: Settings  # versions and all that does not vary

    def choices(self, beams: int) -> list[Settings]:
        """Settings worth trying on this machine; the fastest is measured."""
        return [{}]

    def prepare(self, settings: Settings, beams: int) -> None:
        """Make ready to translate with one of the choices."""
        return

    @abstractmethod
    def translate(self, lines: Sequence[str]) -> tuple[list[str], int]:
        """The texts, in the order of the lines, and the number of target pieces, end marks not counted."""


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def serve(load: Callable[..., Peer]) -> None:
    """Be a worker."""
    # What libraries print must not mix with answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    arguments, once = sys.argv[1:], None
    if "--once" in arguments:
        once = arguments[-1]
        arguments = arguments[: arguments.index("--once")]
    peer = load(*arguments)
    if once is not None:
        peer.prepare(peer.choices(4)[0], 4)
        print(peer.translate([once])[0][0], file=answers, flush=True)
        return

    def answer(**content: Any) -> None:
        print(json.dumps(content), file=answers, flush=True)

    answer(about=peer.about, choices={beams: peer.choices(beams) for beams in (4, 1)})
    for request in sys.stdin:
        asked = json.loads(request)
        peer.prepare(asked["settings"], asked["beams"])
        began = time.perf_counter()
        texts, pieces = peer.translate(asked["lines"])
        answer(seconds=time.perf_counter() - began, texts=texts, pieces=pieces)
