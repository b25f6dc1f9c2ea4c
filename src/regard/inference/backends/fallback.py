"""A backend that uses a fast backend where it supports the decode settings, and an exact one for all other settings."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Any

from regard.inference.backends.ctranslate2 import CTranslate2Backend
from regard.inference.backends.interface import Backend, Batching, Sources, TokenPairs
from regard.inference.search.hypothesis import Hypothesis
from regard.interchange.ctranslate2.support import supports_decode
from regard.settings.decode import DecodeSettings

if TYPE_CHECKING:
    from regard.inference.backends.torch import TorchBackend
    from regard.models.interface import AutoregressiveModel


class FallbackBackend(Backend):
    """CTranslate2, with another backend for the settings that CTranslate2 does not support."""

    def __init__(self, fast: CTranslate2Backend, exact: "Callable[[], TorchBackend]") -> None:
        """`exact` makes the other backend. It is called when first needed, because it imports torch."""
        self._fast, self._make_exact = fast, exact
        self._exact: TorchBackend | None = None
        self._making = Lock()

    @property
    def model(self) -> "AutoregressiveModel":
        """The torch model of the exact backend."""
        return self._exact_backend().model

    def batching(self, decode: DecodeSettings) -> Batching:
        return self._choose(decode).batching(decode)

    def generate(
        self, batch: Sources, decode: DecodeSettings, *, sentences: int | None = None
    ) -> Future[list[list[Hypothesis]]]:
        return self._choose(decode).generate(batch, decode, sentences=sentences)

    def score(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        return self._fast.score(pairs)

    def attend(self, pairs: TokenPairs) -> list[Any]:
        return self._fast.attend(pairs)

    def close(self) -> None:
        self._fast.close()
        if self._exact is not None:
            self._exact.close()

    def _choose(self, decode: DecodeSettings) -> Backend:
        return self._fast if supports_decode(decode) else self._exact_backend()

    def _exact_backend(self) -> "TorchBackend":
        with self._making:
            if self._exact is None:
                self._exact = self._make_exact()
            return self._exact
