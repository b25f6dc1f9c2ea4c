"""Search over any step function. It knows tensors and scores; it knows no model and no text.

The rule, which the engine follows too: each step takes the 2K best continuations of a sentence by summed
log-probability. Those among the first K that are the end mark are finished; the first K that are not go on. A sentence
stops when K hypotheses are finished or when it has written as much as it may. Of what finished, the K most probable
stay, ranked by the paper's length penalty (section 6.1). Where pieces are drawn instead, each of K hypotheses goes its
own way until it draws the end mark.

Shapes: B sentences still open, K beams, N = B * K rows, V vocabulary, T pieces so far, C candidates of a sentence.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from regard.inference.search.candidates import Candidates, top_candidates
from regard.inference.search.constraints import Constraints
from regard.inference.search.hypothesis import Hypothesis, ranked
from regard.inference.search.sampler import sample
from regard.models.interface import DecoderState
from regard.settings.decode import DecodeSettings

S = TypeVar("S", bound=DecoderState)

# The last pieces (N, 1) and the state before them -> logits (N, V) of what follows, and the state after them.
# The logits belong to the search from then on: it overwrites those of pieces that may not be written.
Step = Callable[[Tensor, S], tuple[Tensor, S]]


@dataclass(frozen=True)
class _History:
    """What each open beam has written so far."""

    tokens_BKT: Tensor
    gains_BKT: Tensor

    def extended(self, chosen: Candidates) -> "_History":
        beams_BKT = chosen.beams_BC[:, :, None].expand(-1, -1, self.tokens_BKT.size(2))
        return _History(
            torch.cat([self.tokens_BKT.gather(1, beams_BKT), chosen.tokens_BC[:, :, None]], dim=2),
            torch.cat([self.gains_BKT.gather(1, beams_BKT), chosen.gains_BC[:, :, None]], dim=2),
        )

    def keep(self, sentences: Tensor) -> "_History":
        return _History(self.tokens_BKT[sentences], self.gains_BKT[sentences])


@torch.inference_mode()
def search(
    step: Step[S],
    state: S,
    *,
    limits_B: Tensor,
    decode: DecodeSettings,
    writable_V: Tensor,
    start: int,
    end: int,
    prefixes: Sequence[Sequence[int]] = (),
    chances_BTK: Tensor | None = None,
    seen: Callable[[Candidates], None] = lambda going: None,
) -> list[list[Hypothesis]]:
    """For each sentence its finished hypotheses, best first: `beams` of them, or fewer where fewer exist.

    `limits_B` is the most pieces each sentence may write, the end mark not counted: what is still open then is
    finished as it stands. `state` begins with one beam per sentence. `prefixes` are the first pieces of each sentence.
    With `chances_BTK` as many hypotheses as it has draws are drawn. `seen` is shown what goes on after each step.
    """
    if bool((limits_B < 1).any()):
        raise ValueError(f"every limit must be at least 1, got {limits_B.tolist()}")
    sentences, device = limits_B.numel(), limits_B.device
    beams = decode.beam_size if chances_BTK is None else chances_BTK.size(2)
    found: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    rules = Constraints.of(writable_V, prefixes, sentences, decode, end)
    open_B = torch.arange(sentences, device=device)
    finished_B = torch.zeros_like(open_B)
    total_BK = torch.zeros(sentences, 1, device=device)
    tokens_N1 = torch.full((sentences, 1), start, dtype=torch.long, device=device)
    history = _History(tokens_N1.new_empty(sentences, 1, 0), total_BK.new_empty(sentences, 1, 0))
    written = 0

    while open_B.numel():
        logits_NV, state = step(tokens_N1, state)
        log_NV = rules.log_probabilities(logits_NV, history.tokens_BKT)
        if chances_BTK is None:
            candidates = top_candidates(log_NV, total_BK, beams)
        else:
            candidates = sample(log_NV, total_BK, chances_BTK[open_B.cpu(), written], decode)
        written += 1

        first = slice(0, beams)
        last_B = limits_B <= written
        ends_BK = (candidates.tokens_BC[:, first] == end) | last_B[:, None]
        ends_BK &= candidates.total_BC[:, first] > -math.inf
        if bool(ends_BK.any()):
            _collect(found, open_B, history, candidates, ends_BK, end, decode.length_penalty)
            finished_B += ends_BK.sum(dim=1)

        going = _going_on(candidates, beams, end)
        stay_B = (finished_B < beams) & ~last_B & (going.total_BC[:, 0] > -math.inf)
        if not bool(stay_B.all()):
            stay = stay_B.nonzero().flatten()
            open_B, finished_B, limits_B, total_BK = open_B[stay], finished_B[stay], limits_B[stay], total_BK[stay]
            history, going, rules = history.keep(stay), going.keep(stay), rules.keep(stay)
            if not open_B.numel():
                break
            state = state.keep(stay)
        if not _is_identity(going.beams_BC, total_BK.size(1)):
            state = state.select(going.beams_BC)
        history, total_BK = history.extended(going), going.total_BC
        tokens_N1 = going.tokens_BC.reshape(-1, 1)
        seen(going)

    # Where every text has probability zero, the shortest says so.
    nothing = Hypothesis.of((), (-math.inf,), decode.length_penalty)
    return [ranked(hypotheses or [nothing], beams) for hypotheses in found]


def _going_on(candidates: Candidates, beams: int, end: int) -> Candidates:
    """The first K that do not end. Where a tiny vocabulary leaves fewer, the rest are impossible (-inf)."""
    ends_BC = candidates.tokens_BC == end
    going = candidates.pick(ends_BC.byte().argsort(dim=1, stable=True)[:, :beams])
    total_BK = going.total_BC.masked_fill(going.tokens_BC == end, -math.inf)
    return Candidates(total_BK, going.beams_BC, going.tokens_BC, going.gains_BC)


def _is_identity(beams_BK: Tensor, before: int) -> bool:
    """Whether every beam goes on from itself, so that the state need not be touched."""
    width = beams_BK.size(1)
    return width == before and (width == 1 or bool((beams_BK == torch.arange(width, device=beams_BK.device)).all()))


def _collect(
    found: list[list[Hypothesis]],
    open_B: Tensor,
    history: _History,
    candidates: Candidates,
    ends_BK: Tensor,
    end: int,
    alpha: float,
) -> None:
    """Copy what ends at this step out of the tensors."""
    rows, ranks = ends_BK.nonzero(as_tuple=True)
    beams = candidates.beams_BC[rows, ranks]
    pieces = torch.cat([history.tokens_BKT[rows, beams], candidates.tokens_BC[rows, ranks, None]], dim=1)
    gains = torch.cat([history.gains_BKT[rows, beams], candidates.gains_BC[rows, ranks, None]], dim=1)
    for sentence, its_pieces, its_gains in zip(open_B[rows].tolist(), pieces.tolist(), gains.tolist(), strict=True):
        written = its_pieces[:-1] if its_pieces[-1] == end else its_pieces
        found[sentence].append(Hypothesis.of(written, its_gains, alpha))
