"""The steps of a beam search: which beams stay open, which beam each extends, by which token, and what finished.

The search is the one that the torch backend runs; it reports the open beams after each step.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.inference.search.hypothesis import Hypothesis
from regard.inference.translator import SourceTokens
from regard.settings.decode import DecodeSettings

if TYPE_CHECKING:
    from regard.inference.search.candidates import Candidates
    from regard.models.interface import SequenceModel


@dataclass(frozen=True)
class Beam:
    """One open beam after a step: its last token, and the beam of the step before that it extends."""

    token: int
    parent: int
    log_probability: float  # of the last token
    total: float  # of all tokens so far


@dataclass(frozen=True)
class SearchTrace:
    """The open beams after each step and the finished hypotheses, both best first."""

    steps: tuple[tuple[Beam, ...], ...]
    hypotheses: tuple[Hypothesis, ...]

    def path(self, step: int, beam: int) -> tuple[int, ...]:
        """Return the tokens of a beam up to a step; both count from 0."""
        tokens: list[int] = []
        for beams in reversed(self.steps[: step + 1]):
            tokens.append(beams[beam].token)
            beam = beams[beam].parent
        return tuple(reversed(tokens))


def trace_search(
    model: "SequenceModel", source: SourceTokens, generable: Sequence[bool], decode: DecodeSettings
) -> SearchTrace:
    """Search for one source as the torch backend does, and record the open beams."""
    import torch

    from regard.inference.backends.torch import decode_batch

    steps: list[tuple[Beam, ...]] = []

    def record_step(candidates: "Candidates") -> None:
        columns = (candidates.tokens_BC, candidates.beams_BC, candidates.log_BC, candidates.total_BC)
        beams = map(Beam, *(column[0].tolist() for column in columns))
        steps.append(tuple(beam for beam in beams if beam.total > -math.inf))

    generable_V = torch.tensor(generable, device=next(model.parameters()).device)
    (hypotheses,) = decode_batch(model, [source], generable_V, decode, on_step=record_step)
    return SearchTrace(tuple(steps), tuple(hypotheses))
