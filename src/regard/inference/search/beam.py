"""Beam search and sampling with any step function. This module handles tensors only, neither models nor text.

For each sentence, a beam search step takes the 2K continuations with the largest total log-probability. Those among
the first K that end in EOS are finished; the first K that do not end in EOS are continued. The search for a sentence
stops when K hypotheses are finished, or at its length limit. It returns the K most probable finished hypotheses, ranked
with the paper's length penalty (section 6.1). CTranslate2 searches by the same rule. When sampling, each of K
hypotheses continues independently until it samples EOS.

Shapes: B unfinished sentences, K beams, N = B * K hypotheses, V vocabulary, T tokens so far, C candidates per sentence.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

import torch
from torch import Tensor

from regard.inference.search.candidates import Candidates, top_candidates
from regard.inference.search.constraints import Constraints
from regard.inference.search.hypothesis import Hypothesis, rank
from regard.inference.search.sampler import sample
from regard.models.interface import DecoderState
from regard.settings.decode import DecodeSettings

S = TypeVar("S", bound=DecoderState)

# A step function takes the last token of each hypothesis (N, 1) and the decoder state before it; it returns the logits
# of the next token (N, V) and the new state. The search may overwrite these logits.
Step = Callable[[Tensor, S], tuple[Tensor, S]]


@dataclass(frozen=True)
class _Active:
    """The unfinished sentences of a search, with the tokens of their unfinished hypotheses."""

    sentence_B: Tensor  # the index of each sentence in the batch
    limits_B: Tensor
    finished_B: Tensor  # the number of finished hypotheses of each sentence
    total_BK: Tensor
    tokens_BKT: Tensor
    log_BKT: Tensor

    @classmethod
    def start(cls, limits_B: Tensor) -> "_Active":
        sentence_B = torch.arange(limits_B.numel(), device=limits_B.device)
        total_BK = torch.zeros(limits_B.numel(), 1, device=limits_B.device)
        no_tokens, no_logs = sentence_B.new_empty(*total_BK.shape, 0), total_BK.new_empty(*total_BK.shape, 0)
        return cls(sentence_B, limits_B, torch.zeros_like(sentence_B), total_BK, no_tokens, no_logs)

    def keep(self, rows: Tensor) -> "_Active":
        return _Active(*(getattr(self, field.name)[rows] for field in fields(self)))

    def extended(self, chosen: Candidates) -> "_Active":
        beams_BKT = chosen.beams_BC[:, :, None].expand(-1, -1, self.tokens_BKT.size(2))
        tokens_BKT = torch.cat([self.tokens_BKT.gather(1, beams_BKT), chosen.tokens_BC[:, :, None]], dim=2)
        log_BKT = torch.cat([self.log_BKT.gather(1, beams_BKT), chosen.log_BC[:, :, None]], dim=2)
        return _Active(self.sentence_B, self.limits_B, self.finished_B, chosen.total_BC, tokens_BKT, log_BKT)


@torch.inference_mode()
def search(
    step: Step[S],
    state: S,
    *,
    limits_B: Tensor,
    decode: DecodeSettings,
    generable_V: Tensor,
    bos: int,
    eos: int,
    prefixes: Sequence[Sequence[int]] = (),
    uniform_BTK: Tensor | None = None,
    on_step: Callable[[Candidates], None] = lambda continued: None,
) -> list[list[Hypothesis]]:
    """Return the finished hypotheses of each sentence, best first: K of them, or fewer if fewer exist.

    `limits_B` is the maximum number of tokens generated for each sentence, without EOS; a hypothesis that reaches it is
    finished without EOS. `state` is the decoder state before the first token, with one beam per sentence. `prefixes`
    are the tokens with which the hypotheses of each sentence must begin. If `uniform_BTK` is given, K hypotheses are
    sampled with these random numbers between 0 and 1. `on_step` is called after each step with the hypotheses that
    continue.
    """
    if bool((limits_B < 1).any()):
        raise ValueError(f"every limit must be at least 1, got {limits_B.tolist()}")
    sentences = limits_B.numel()
    beams = decode.beam_size if uniform_BTK is None else uniform_BTK.size(2)
    finished: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    constraints = Constraints.of(generable_V, prefixes, sentences, decode, eos)
    tokens_N1 = torch.full((sentences, 1), bos, dtype=torch.long, device=limits_B.device)
    active = _Active.start(limits_B)
    length = 0

    while active.sentence_B.numel():
        logits_NV, state = step(tokens_N1, state)
        log_NV = constraints.log_probabilities(logits_NV, active.tokens_BKT)
        if uniform_BTK is None:
            candidates = top_candidates(log_NV, active.total_BK, beams)
        else:
            candidates = sample(log_NV, active.total_BK, uniform_BTK[active.sentence_B.cpu(), length], decode)
        length += 1

        last_B = active.limits_B <= length
        active = _collect(finished, active, candidates, beams, last_B, eos, decode.length_penalty)
        continued = _continued(candidates, beams, eos)
        stay_B = (active.finished_B < beams) & ~last_B & (continued.total_BC[:, 0] > -math.inf)
        if not bool(stay_B.all()):
            stay = stay_B.nonzero().flatten()
            if not stay.numel():
                break
            active, continued, constraints = active.keep(stay), continued.keep(stay), constraints.keep(stay)
            state = state.keep(stay)
        if not _is_identity(continued.beams_BC, active.total_BK.size(1)):
            state = state.select(continued.beams_BC)
        active = active.extended(continued)
        tokens_N1 = continued.tokens_BC.reshape(-1, 1)
        on_step(continued)

    # If every possible text has probability zero, the result is an empty text with that probability.
    impossible = Hypothesis.of((), (-math.inf,), decode.length_penalty)
    return [rank(hypotheses or [impossible], beams) for hypotheses in finished]


def _continued(candidates: Candidates, beams: int, eos: int) -> Candidates:
    """Return the first K candidates of each sentence that do not end in EOS.

    If a tiny vocabulary gives fewer than K, candidates that end in EOS fill the rest, with a log-probability of -inf.
    """
    ends_BC = candidates.tokens_BC == eos
    continued = candidates.pick(ends_BC.byte().argsort(dim=1, stable=True)[:, :beams])
    total_BK = continued.total_BC.masked_fill(continued.tokens_BC == eos, -math.inf)
    return Candidates(total_BK, continued.beams_BC, continued.tokens_BC, continued.log_BC)


def _is_identity(beams_BK: Tensor, before: int) -> bool:
    """Return whether every beam continues the former beam of the same index, so that the state can stay as it is."""
    width = beams_BK.size(1)
    return width == before and (width == 1 or bool((beams_BK == torch.arange(width, device=beams_BK.device)).all()))


def _collect(
    finished: list[list[Hypothesis]],
    active: _Active,
    candidates: Candidates,
    beams: int,
    last_B: Tensor,
    eos: int,
    alpha: float,
) -> _Active:
    """Add each hypothesis that ends at this step to the finished hypotheses of its sentence, and count it."""
    first = slice(0, beams)
    ends_BK = (candidates.tokens_BC[:, first] == eos) | last_B[:, None]
    ends_BK &= candidates.total_BC[:, first] > -math.inf
    if not bool(ends_BK.any()):
        return active
    rows, ranks = ends_BK.nonzero(as_tuple=True)
    parents = candidates.beams_BC[rows, ranks]
    tokens = torch.cat([active.tokens_BKT[rows, parents], candidates.tokens_BC[rows, ranks, None]], dim=1)
    logs = torch.cat([active.log_BKT[rows, parents], candidates.log_BC[rows, ranks, None]], dim=1)
    sentences = active.sentence_B[rows].tolist()
    for sentence, ids, log_probabilities in zip(sentences, tokens.tolist(), logs.tolist(), strict=True):
        without_eos = ids[:-1] if ids[-1] == eos else ids
        finished[sentence].append(Hypothesis.of(without_eos, log_probabilities, alpha))
    return replace(active, finished_B=active.finished_B + ends_BK.sum(dim=1))
