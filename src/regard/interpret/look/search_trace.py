"""Records a beam search of the torch backend: the open beams after each step, and the finished hypotheses."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.inference.backends.interface import SourceTokens
from regard.inference.search.hypothesis import Hypothesis
from regard.settings.decode import DecodeSettings

if TYPE_CHECKING:
    from regard.inference.search.candidates import Candidates
    from regard.models.interface import AutoregressiveModel


@dataclass(frozen=True)
class Beam:
    """One open beam after a step: the id of its last token, and the index of the beam that it extends (`parent`)."""

    token: int
    parent: int
    log_probability: float  # log-probability of the last token
    total: float  # log-probability of all tokens so far


@dataclass(frozen=True)
class SearchTrace:
    """The open beams after each step, best first, and the finished hypotheses, best first."""

    steps: tuple[tuple[Beam, ...], ...]
    hypotheses: tuple[Hypothesis, ...]

    def path(self, step: int, beam: int) -> tuple[int, ...]:
        """Return the token ids of a beam up to a step. Steps and beams count from 0."""
        tokens: list[int] = []
        for beams in reversed(self.steps[: step + 1]):
            tokens.append(beams[beam].token)
            beam = beams[beam].parent
        return tuple(reversed(tokens))


def trace_search(
    model: "AutoregressiveModel", source: SourceTokens, generable: Sequence[bool], decode: DecodeSettings
) -> SearchTrace:
    """Translate one source with the beam search of the torch backend, and record the open beams after each step."""
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
