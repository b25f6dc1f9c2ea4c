"""What a beam search did, step by step: which beams went on, from which, by which piece, and what finished.

The search itself is the translator's own; only the model's step and its state are watched.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.data.tokenizer import END, START
from regard.decoding.hypothesis import Hypothesis
from regard.settings import DecodeSettings

if TYPE_CHECKING:
    from torch import Tensor

    from regard.model.face import SequenceModel


@dataclass(frozen=True)
class Beam:
    """One open beam after a step: the piece it wrote, and the beam of the step before that it went on from."""

    piece: int
    parent: int
    log_probability: float  # of the piece
    total: float  # of all pieces so far


@dataclass(frozen=True)
class Search:
    """The open beams after each step, best first, and the hypotheses found, best first."""

    steps: tuple[tuple[Beam, ...], ...]
    found: tuple[Hypothesis, ...]

    def path(self, step: int, beam: int) -> tuple[int, ...]:
        """What a beam has written up to a step; both count from 0."""
        pieces: list[int] = []
        for beams in reversed(self.steps[: step + 1]):
            pieces.append(beams[beam].piece)
            beam = beams[beam].parent
        return tuple(reversed(pieces))


def watch(
    model: "SequenceModel", source: Sequence[int], writable: Sequence[bool], limit: int, decode: DecodeSettings
) -> Search:
    """Search as the translator does on torch's road, for one source (ids without the end mark)."""
    import torch

    from regard.decoding.search import search

    device = next(model.parameters()).device
    writable_V = torch.tensor(writable, device=device)
    watcher = _Watcher(model, ~writable_V)
    with torch.inference_mode():
        memory = model.encode(torch.tensor([[*source, END]], device=device))
        (found,) = search(
            watcher.step,
            _Watched(model.start(memory)),
            limits_B=torch.tensor([limit], device=device),
            beams=decode.beams,
            alpha=decode.alpha,
            writable_V=writable_V,
            start=START,
            end=END,
        )
    return Search(tuple(watcher.steps), tuple(found))


@dataclass(frozen=True)
class _Watched:
    """A state that remembers which beams were last selected from it."""

    state: Any
    parents: tuple[int, ...] | None = None

    def select(self, beams_BK: "Tensor") -> "_Watched":
        return _Watched(self.state.select(beams_BK), tuple(beams_BK[0].tolist()))

    def keep(self, sentences: "Tensor") -> "_Watched":
        return _Watched(self.state.keep(sentences), self.parents)


class _Watcher:
    """The model's step, with a note of what the search has chosen each time it asks for one."""

    def __init__(self, model: "SequenceModel", forbidden_V: "Tensor") -> None:
        self._model = model
        self._forbidden_V = forbidden_V
        self._log_NV: Tensor | None = None
        self.steps: list[tuple[Beam, ...]] = []

    def step(self, tokens_N1: "Tensor", watched: _Watched) -> "tuple[Tensor, _Watched]":
        self._note(tokens_N1.flatten().tolist(), watched.parents)
        hidden_NTD, state = self._model.decode(tokens_N1, watched.state)
        logits_NV = self._model.project(hidden_NTD[:, -1])
        self._log_NV = logits_NV.float().masked_fill(self._forbidden_V, -math.inf).log_softmax(dim=-1)
        return logits_NV, _Watched(state)

    def _note(self, pieces: list[int], parents: tuple[int, ...] | None) -> None:
        if self._log_NV is None:
            return  # the start mark: nothing was chosen
        # Where every beam goes on from itself, the search leaves the state alone.
        parents = parents or tuple(range(len(pieces)))
        before = [beam.total for beam in self.steps[-1]] if self.steps else [0.0]
        gains = [self._log_NV[parent, piece].item() for parent, piece in zip(parents, pieces, strict=True)]
        self.steps.append(
            tuple(
                Beam(piece, parent, gain, before[parent] + gain)
                for piece, parent, gain in zip(pieces, parents, gains, strict=True)
            )
        )
