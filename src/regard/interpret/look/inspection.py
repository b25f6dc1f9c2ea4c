"""What `look` returns: one recorded pass, and every way to see it.

    view.attention("decoder.3.cross.1")          a map, of words; numpy.asarray of it gives the numbers
    view.trace["decoder.3.cross.1.query"]        any number of the pass
    view.walk("encoder.2.self.5", "it")          the arithmetic of one head for one word
    view.steps()                                 what it wrote, with probabilities and alternatives
    view.save("a.html"), .save("a.json")         one self-contained page; the numbers

In a notebook a view shows itself as that page.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import LookError
from regard.files import write_atomically
from regard.inside.arithmetic import Walk, chosen_piece, walk
from regard.inside.beams import Search
from regard.inside.maps import Map, all_heads, attention_map, split_address
from regard.inside.trace import HEADED, Array, Trace

ALTERNATIVES = 5


@dataclass(frozen=True)
class Written:
    """One step of writing: what was read and written, how probable that was, and what else was."""

    read: str
    piece: str
    probability: float
    alternatives: tuple[tuple[str, float], ...]  # the most probable pieces, the written one among them if it is one


@dataclass(frozen=True, repr=False)
class View:
    """A text, what it became, and every number in between."""

    model: str  # the folder
    source: str
    text: str  # what `translate` returned, or the target given
    score: float | None  # None for a target given
    torch_text: str | None  # what torch's road wrote, where that differs from `text`
    whole_text: str | None  # what the whole model writes, where this is translated without a head
    without: str | None  # the part left out, if any
    trace: Trace
    search: Search | None  # none for a target given
    names: tuple[str, ...]  # of all pieces
    parameters: int  # of the model
    positions: Array  # the first rows of its table

    def __repr__(self) -> str:
        return f"<view of {self.source!r} → {self.text!r}; .attention(), .walk(), .steps(), .trace, .save()>"

    @property
    def heads(self) -> tuple[str, ...]:
        """The address of every head."""
        return tuple(all_heads(self.trace))

    def attention(self, address: str, *, pieces: bool = False) -> Map:
        """The map of a head, or one over several: `decoder.3.cross.1`, `encoder.self.mean`, `encoder.self.rollout`."""
        return attention_map(self.trace, address, pieces=pieces)

    def walk(self, address: str, word: str, *, pieces: bool = False) -> Walk:
        """The arithmetic of a head for a word, its first piece if it has several."""
        return walk(self.trace, address, chosen_piece(self.trace, address, word, pieces=pieces)[1].begin)

    def steps(self) -> tuple[Written, ...]:
        """What was written, piece by piece."""
        probability = self.trace["probability"]
        return tuple(
            Written(read, piece, float(row[identity]), self._likeliest(row))
            for read, piece, identity, row in zip(
                self.trace.read.pieces, self.trace.written.pieces, self.trace.written.ids, probability, strict=True
            )
        )

    def json(self, heads: Sequence[str] = ()) -> str:
        """The weights of every head and, for `heads`, all their numbers."""
        self.check(heads)
        numbers = {f"{head}.weight": self.trace[f"{head}.weight"] for head in self.heads}
        numbers |= {f"{head}.{name}": self.trace[f"{head}.{name}"] for head in heads for name in HEADED}
        facts: dict[str, Any] = {
            "model": self.model,
            "source": self.source,
            "text": self.text,
            "torch_text": self.torch_text,
            "whole_text": self.whole_text,
            "without": self.without,
            "pieces": {
                "source": self.trace.source.pieces,
                "read": self.trace.read.pieces,
                "written": self.trace.written.pieces,
            },
            "steps": [vars(step) for step in self.steps()],
            "numbers": {name: _plain(array) for name, array in numbers.items()},
        }
        return json.dumps(facts, ensure_ascii=False) + "\n"

    def html(self, heads: Sequence[str] = ()) -> str:
        """One self-contained page. It has the maps of all heads, and queries, keys and values of `heads`."""
        from regard.inside.export import page

        self.check(heads)
        return page(self, heads)

    def save(self, path: str | Path, heads: Sequence[str] = ()) -> None:
        """Write the page (.html) or the numbers (.json)."""
        path = Path(path)
        if path.suffix not in (".html", ".json"):
            raise LookError(f"{path}: a view is saved as .html or .json; a map is saved from its .svg()")
        write_atomically(path, self.html(heads) if path.suffix == ".html" else self.json(heads))

    def check(self, heads: Sequence[str]) -> None:
        """Whether all of these are heads."""
        for head in heads:
            if split_address(self.trace, head) is None:
                raise LookError(f"{head} is not one head; heads are called as {self.heads[0]}")

    def _repr_html_(self) -> str:
        from regard.inside.report import framed

        return framed(self.html(), "Regard: looking inside")

    def _likeliest(self, row: Any) -> tuple[tuple[str, float], ...]:
        best = np.argsort(-row, kind="stable")[:ALTERNATIVES]
        return tuple((self.names[identity], float(row[identity])) for identity in best if row[identity] > 0)


def _plain(array: Any) -> Any:
    """Numbers as JSON has them: the shortest decimal that gives the same float32."""
    if array.dtype == bool:
        return array.tolist()
    return np.vectorize(lambda number: float(str(number)), otypes=[object])(array).tolist()
