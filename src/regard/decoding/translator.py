"""A model and its tokenizer made into a translator of text, in torch.

Shapes: B sentences, S source length, N = B * beams rows, T pieces of this step (one), D width, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor

from regard.data.tokenizer import END, PAD, START
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import State, search
from regard.decoding.translation import Sources, TextTokenizer, TextTranslator, Translation
from regard.model.face import SequenceModel
from regard.settings import DecodeSettings

__all__ = ["Translation", "Translator"]


class WritingTokenizer(TextTokenizer, Protocol):
    """A tokenizer that also says which rows of the vocabulary may be written."""

    @property
    def writable(self) -> list[bool]: ...


class Translator(TextTranslator):
    """Raw text in, raw text out. A sentence comes out the same alone and in any company."""

    def __init__(
        self, model: SequenceModel, tokenizer: WritingTokenizer, *, longest: int, device: torch.device | str = "cpu"
    ) -> None:
        """The model must already be on the device."""
        super().__init__(tokenizer, longest=longest)
        self.model = model
        self.device = torch.device(device)
        self._writable_V = torch.tensor(tokenizer.writable, device=self.device)

    def _begin(self, batches: list[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        return (self._write(batch, decode) for batch in batches)

    @torch.inference_mode()
    def _write(self, batch: Sources, decode: DecodeSettings) -> list[list[Hypothesis]]:
        with _evaluating(self.model):
            memory = self.model.encode(_padded([source for source, _ in batch]).to(self.device))
            return search(
                self._step,
                self.model.start(memory),
                limits_B=torch.tensor([limit for _, limit in batch], device=self.device),
                beams=decode.beams,
                alpha=decode.alpha,
                writable_V=self._writable_V,
                start=START,
                end=END,
            )

    def _step(self, tokens_N1: Tensor, state: State) -> tuple[Tensor, State]:
        hidden_NTD, state = self.model.decode(tokens_N1, state)
        return self.model.project(hidden_NTD[:, -1]), state


def _padded(sources: Sequence[Sequence[int]]) -> Tensor:
    """One row for each source, closed by the end mark."""
    width = max(len(source) for source in sources) + 1
    return torch.tensor([[*source, END] + [PAD] * (width - 1 - len(source)) for source in sources])


@contextmanager
def _evaluating(model: SequenceModel) -> Iterator[None]:
    """No dropout while translating; a model in training goes back to it afterwards."""
    if not model.training:
        yield
        return
    model.train(False)
    try:
        yield
    finally:
        model.train(True)
