"""The interface of a backend, which turns source tokens into hypotheses, scores target tokens, and returns attention.

A translator knows only this interface. This module does not import torch, because CTranslate2 does not need it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from regard.inference.search.hypothesis import Hypothesis
from regard.settings.decode import DecodeSettings


@dataclass(frozen=True)
class SourceTokens:
    """The token ids of a source, without EOS, and the constraints on its translation."""

    ids: tuple[int, ...]
    limit: int  # the maximum number of tokens of the translation
    prefix: tuple[int, ...] = ()  # token ids with which the translation must begin


Sources = list[SourceTokens]

TokenPairs = Sequence[tuple[Sequence[int], Sequence[int]]]  # pairs of a source and its translation, as token ids


@dataclass(frozen=True)
class Batching:
    """How a translator makes batches for a backend."""

    tokens: int  # maximum size of a batch: source tokens with padding, times hypotheses per sentence
    min_source_tokens: int = 1  # a shorter source counts as this many tokens
    workers: int = 1  # the number of batches that are computed at the same time
    # How many batches are submitted before the first result is needed: enough that no worker waits, and few enough that
    # little work is wasted if the caller stops early. 0 if `generate` returns only when its batch is finished.
    ahead: int = 0


class Backend(ABC):
    """A loaded model that generates and scores token sequences. The results of a source do not depend on its batch."""

    @abstractmethod
    def batching(self, decode: DecodeSettings) -> Batching:
        """Return how to make batches; raise a SettingsError if the backend does not support the settings."""

    @abstractmethod
    def generate(
        self, batch: Sources, decode: DecodeSettings, *, sentences: int | None = None
    ) -> Future[list[list[Hypothesis]]]:
        """Return a future of the hypotheses of each source, best first.

        If `decode.alignment` is True and the model has an alignment head, they include its attention weights.
        `sentences` is the number of sentences that are translated at the same time, in this batch and in others; None
        means only this batch. If there are few, several cores may share a batch.
        """

    @abstractmethod
    def score(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        """Return, for each pair, the log-probability of each target token, followed by that of EOS."""

    @abstractmethod
    def attend(self, pairs: TokenPairs) -> list[Any]:
        """Return, for each pair, the attention weights of the alignment head as a matrix.

        A matrix has one row for each target token and one for EOS, and one column for each source token.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the model and its threads. Batches that have not started are cancelled. A second call has no effect."""


def with_attention(
    batch: Sources, found: list[list[Hypothesis]], attend: Callable[[TokenPairs], list[Any]]
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each source with the attention weights that `attend` returns for them."""
    pairs = [(source.ids, each.token_ids) for source, some in zip(batch, found, strict=True) for each in some]
    weights = iter(attend(pairs))
    return [[replace(each, attention=next(weights)) for each in some] for some in found]
