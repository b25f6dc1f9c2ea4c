"""Which pieces may come next, and how probable that makes each of them.

What is forbidden is forbidden before the softmax, as in the engine: what may be written shares all of the probability.
A piece of the prefix is different: it keeps the probability the model gives it, so that a text costs the same whether
the model wrote its beginning or was given it.

Shapes: B sentences, K beams, N = B * K rows, V vocabulary, T pieces so far, P pieces of the longest prefix, W runs of
pieces, G pieces of a run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from regard.settings.decode import DecodeSettings

_FREE = -1


@dataclass(frozen=True)
class Constraints:
    """What the sentences still open may write."""

    unwritable: Tensor
    prefixes_BP: Tensor  # the pieces each sentence begins with, then _FREE
    end: int
    shortest: int
    no_repeat: int

    @classmethod
    def of(
        cls, writable_V: Tensor, prefixes: Sequence[Sequence[int]], sentences: int, decode: DecodeSettings, end: int
    ) -> Self:
        """`prefixes` may be empty; else it has one for each sentence."""
        width = max(map(len, prefixes), default=0)
        rows = [[*prefix, *[_FREE] * (width - len(prefix))] for prefix in prefixes] or [[]] * sentences
        prefixes_BP = torch.tensor(rows, dtype=torch.long, device=writable_V.device).view(sentences, width)
        return cls(forbidden_tokens(writable_V), prefixes_BP, end, decode.min_length, decode.no_repeat_ngram_size)

    def keep(self, sentences: Tensor) -> Self:
        """For these sentences only."""
        return replace(self, prefixes_BP=self.prefixes_BP[sentences])

    def log_probabilities(self, logits_NV: Tensor, pieces_BKT: Tensor) -> Tensor:
        """Of every piece that may follow what is written. Uses up the logits."""
        logits_NV, written = logits_NV.float(), pieces_BKT.size(2)
        forced_N = None
        if written < self.prefixes_BP.size(1):
            forced_N = self.prefixes_BP[:, written].repeat_interleave(pieces_BKT.size(1))
        if written < self.shortest:
            logits_NV[:, self.end] = -math.inf
        if 0 < self.no_repeat <= written:
            _forbid_repeats(logits_NV, pieces_BKT.flatten(0, 1), self.no_repeat, forced_N)
        log_NV = log_softmax(logits_NV, self.unwritable)
        if forced_N is not None:
            others_NV = torch.arange(log_NV.size(1), device=log_NV.device) != forced_N[:, None]
            log_NV.masked_fill_(others_NV & (forced_N != _FREE)[:, None], -math.inf)
        return log_NV


def forbidden_tokens(writable_V: Tensor) -> Tensor:
    """The pieces that may never be written."""
    return (~writable_V).nonzero().flatten()


def log_softmax(logits_NV: Tensor, unwritable: Tensor) -> Tensor:
    """Log-probabilities of what may be written. Uses up the logits."""
    logits_NV = logits_NV.float().index_fill_(1, unwritable, -math.inf)
    log_NV = logits_NV.log_softmax(dim=-1)
    lost_N = log_NV[:, 0].isnan()
    if bool(lost_N.any()):
        if not bool((logits_NV[lost_N] == -math.inf).all()):
            raise ValueError("the model's logits are not finite numbers")
        log_NV[lost_N] = -math.inf
    return log_NV


def _forbid_repeats(logits_NV: Tensor, pieces_NT: Tensor, size: int, forced_N: Tensor | None) -> None:
    """Forbid what would end a run of `size` pieces that is there already. The prefix may repeat itself."""
    runs_NWG = pieces_NT.unfold(1, size, 1)
    last_NG = pieces_NT[:, pieces_NT.size(1) - size + 1 :]
    again_NW = (runs_NWG[:, :, :-1] == last_NG[:, None]).all(dim=2)
    if forced_N is not None:
        again_NW &= (forced_N == _FREE)[:, None]
    rows, runs = again_NW.nonzero(as_tuple=True)
    logits_NV[rows, runs_NWG[rows, runs, -1]] = -math.inf
