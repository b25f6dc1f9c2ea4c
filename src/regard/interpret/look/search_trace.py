"""What a beam search did, step by step: which beams went on, from which, by which piece, and what finished.

The search itself is the translator's own, and tells what goes on after each step.
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
    """One open beam after a step: the piece it wrote, and the beam of the step before that it went on from."""

    token: int
    parent: int
    log_probability: float  # of the piece
    total: float  # of all pieces so far


@dataclass(frozen=True)
class SearchTrace:
    """The open beams after each step, best first, and the hypotheses found, best first."""

    steps: tuple[tuple[Beam, ...], ...]
    found: tuple[Hypothesis, ...]

    def path(self, step: int, beam: int) -> tuple[int, ...]:
        """What a beam has written up to a step; both count from 0."""
        pieces: list[int] = []
        for beams in reversed(self.steps[: step + 1]):
            pieces.append(beams[beam].token)
            beam = beams[beam].parent
        return tuple(reversed(pieces))


def trace_search(
    model: "SequenceModel", source: SourceTokens, writable: Sequence[bool], decode: DecodeSettings
) -> SearchTrace:
    """Search as the translator does on torch's road, for one source."""
    import torch

    from regard.inference.backends.torch import decode_batch

    steps: list[tuple[Beam, ...]] = []

    def note(going: "Candidates") -> None:
        columns = (going.tokens_BC, going.beams_BC, going.gains_BC, going.total_BC)
        beams = map(Beam, *(column[0].tolist() for column in columns))
        steps.append(tuple(beam for beam in beams if beam.total > -math.inf))

    writable_V = torch.tensor(writable, device=next(model.parameters()).device)
    (found,) = decode_batch(model, [source], writable_V, decode, seen=note)
    return SearchTrace(tuple(steps), tuple(found))
