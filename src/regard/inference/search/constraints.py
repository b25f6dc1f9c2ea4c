"""The constraints on the next token, and the probability of each token under them.

Forbidden tokens are masked before the softmax, as in CTranslate2, so the probabilities of the allowed tokens sum to 1.
The tokens of a prefix keep the probability that the model gives them. So a text has the same log-probability whether
the model generated its beginning or the beginning was given as a prefix.

Shapes: B sentences, K beams, N = B * K hypotheses, V vocabulary, T tokens so far, P tokens of the longest prefix, W
n-grams, G tokens of an n-gram.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from regard.settings.decode import DecodeSettings

_FREE = -1  # marks positions after the end of a prefix, where any token is allowed


@dataclass(frozen=True)
class Constraints:
    """The constraints on the next token of the unfinished sentences."""

    forbidden: Tensor  # the ids of tokens that are never generated
    prefixes_BP: Tensor  # the prefix of each sentence, filled up with _FREE
    eos: int
    min_length: int
    no_repeat_ngram_size: int

    @classmethod
    def of(
        cls, generable_V: Tensor, prefixes: Sequence[Sequence[int]], sentences: int, decode: DecodeSettings, eos: int
    ) -> Self:
        """Collect the constraints of a search. `prefixes` is empty, or has one prefix for each sentence."""
        width = max(map(len, prefixes), default=0)
        rows = [[*prefix, *[_FREE] * (width - len(prefix))] for prefix in prefixes] or [[]] * sentences
        prefixes_BP = torch.tensor(rows, dtype=torch.long, device=generable_V.device).view(sentences, width)
        return cls(forbidden_tokens(generable_V), prefixes_BP, eos, decode.min_length, decode.no_repeat_ngram_size)

    def keep(self, sentences: Tensor) -> Self:
        """Return the constraints of these sentences only."""
        return replace(self, prefixes_BP=self.prefixes_BP[sentences])

    def log_probabilities(self, logits_NV: Tensor, tokens_BKT: Tensor) -> Tensor:
        """Return the log-probability of each possible next token. The logits are overwritten."""
        logits_NV, length = logits_NV.float(), tokens_BKT.size(2)
        forced_N = None
        if length < self.prefixes_BP.size(1):
            forced_N = self.prefixes_BP[:, length].repeat_interleave(tokens_BKT.size(1))
        if length < self.min_length:
            logits_NV[:, self.eos] = -math.inf
        if 0 < self.no_repeat_ngram_size <= length:
            _forbid_repeats(logits_NV, tokens_BKT.flatten(0, 1), self.no_repeat_ngram_size, forced_N)
        log_NV = log_softmax(logits_NV, self.forbidden)
        if forced_N is not None:
            different_NV = torch.arange(log_NV.size(1), device=log_NV.device) != forced_N[:, None]
            log_NV.masked_fill_(different_NV & (forced_N != _FREE)[:, None], -math.inf)
        return log_NV


def forbidden_tokens(generable_V: Tensor) -> Tensor:
    """Return the ids of tokens that are never generated."""
    return (~generable_V).nonzero().flatten()


def log_softmax(logits_NV: Tensor, forbidden: Tensor) -> Tensor:
    """Return the log-probability of each token, which is -inf for the forbidden ones. The logits are overwritten."""
    logits_NV = logits_NV.float().index_fill_(1, forbidden, -math.inf)
    log_NV = logits_NV.log_softmax(dim=-1)
    undefined_N = log_NV[:, 0].isnan()
    if bool(undefined_N.any()):
        if not bool((logits_NV[undefined_N] == -math.inf).all()):
            raise ValueError("the model's logits are not finite numbers")
        log_NV[undefined_N] = -math.inf
    return log_NV


def _forbid_repeats(logits_NV: Tensor, tokens_NT: Tensor, size: int, forced_N: Tensor | None) -> None:
    """Forbid tokens that would repeat an n-gram of this size. Inside a prefix, repeated n-grams are allowed."""
    ngrams_NWG = tokens_NT.unfold(1, size, 1)
    last_NG = tokens_NT[:, tokens_NT.size(1) - size + 1 :]
    repeated_NW = (ngrams_NWG[:, :, :-1] == last_NG[:, None]).all(dim=2)
    if forced_N is not None:
        repeated_NW &= (forced_N == _FREE)[:, None]
    rows, ngrams = repeated_NW.nonzero(as_tuple=True)
    logits_NV[rows, ngrams_NWG[rows, ngrams, -1]] = -math.inf
