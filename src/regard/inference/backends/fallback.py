"""A backend that uses a fast backend where it supports the decode settings, and an exact one for all other settings."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from regard.inference.backends.ctranslate2 import CTranslate2Backend
from regard.inference.backends.interface import Backend, Batching, Sources, TokenPairs
from regard.inference.search.hypothesis import Hypothesis
from regard.interchange.ctranslate2.support import supports_decode
from regard.settings.decode import DecodeSettings


class FallbackBackend(Backend):
    """CTranslate2, with another backend for the settings that CTranslate2 does not support."""

    def __init__(self, fast: CTranslate2Backend, exact: Callable[[], Backend]) -> None:
        """`exact` makes the other backend. It is called when first needed, because it imports torch."""
        self._fast, self._make_exact = fast, exact
        self._exact: Backend | None = None

    def batching(self, decode: DecodeSettings) -> Batching:
        return self._choose(decode).batching(decode)

    def generate(self, batch: Sources, decode: DecodeSettings) -> Future[list[list[Hypothesis]]]:
        return self._choose(decode).generate(batch, decode)

    def score(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        return self._fast.score(pairs)

    def attend(self, pairs: TokenPairs) -> list[Any]:
        return self._fast.attend(pairs)

    def close(self) -> None:
        self._fast.close()
        if self._exact is not None:
            self._exact.close()

    def _choose(self, decode: DecodeSettings) -> Backend:
        if supports_decode(decode):
            return self._fast
        if self._exact is None:
            self._exact = self._make_exact()
        return self._exact
