"""A model and its tokenizer made into a translator of text, in torch.

Shapes: B sentences, S source length, N = B * beams rows, T pieces of this step (one), D width, V vocabulary.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from regard.data.tokenizer import END, PAD, START
from regard.decoding.candidates import Candidates, chances
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.rules import log_softmax, unwritable
from regard.decoding.search import State, search
from regard.decoding.text_translator import Forced, Sources, TextTokenizer, TextTranslator
from regard.decoding.translation import Translation
from regard.folder import AlignmentHead
from regard.model.face import SequenceModel
from regard.model.transformer import Transformer
from regard.settings import DecodeSettings

__all__ = ["Translation", "Translator"]


class WritingTokenizer(TextTokenizer, Protocol):
    """A tokenizer that also says which rows of the vocabulary may be written."""

    @property
    def writable(self) -> list[bool]: ...


class Translator(TextTranslator):
    """Raw text in, raw text out. A sentence comes out the same alone and in any company."""

    def __init__(
        self,
        model: SequenceModel,
        tokenizer: WritingTokenizer,
        *,
        longest: int,
        device: torch.device | str = "cpu",
        aligning: AlignmentHead | None = None,
    ) -> None:
        """The model must already be on the device. One that has a head that aligns takes a lens."""
        super().__init__(tokenizer, longest=longest, aligning=aligning)
        self.model = model
        self.device = torch.device(device)
        self._writable_V = torch.tensor(tokenizer.writable, device=self.device)

    def _begin(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        return (self._write(batch, decode) if batch else [] for batch in batches)

    def _write(self, batch: Sources, decode: DecodeSettings) -> list[list[Hypothesis]]:
        with _evaluating(self.model):
            return write(self.model, batch, self._writable_V, decode)

    @torch.inference_mode()
    def _attend(self, pairs: Forced) -> list[Any]:
        assert self.aligning is not None
        lens = _Head(self.aligning.head)
        model = cast(Transformer, self.model)
        read_BT = _read(_padded([target for _, target in pairs]).to(self.device))[:, : self.longest]
        with _evaluating(model):
            memory = model.encode(_padded([source for source, _ in pairs]).to(self.device))
            model.decode(read_BT, model.start(memory), lens)
        return [
            weights_LM[: len(target) + 1, : len(source)].cpu().numpy()
            for weights_LM, (source, target) in zip(lens.seen_BLM, pairs, strict=True)
        ]

    @torch.inference_mode()
    def _force(self, pairs: Forced) -> list[tuple[float, ...]]:
        target_BT = _padded([target for _, target in pairs]).to(self.device)
        read_BT = _read(target_BT)
        with _evaluating(self.model):
            memory = self.model.encode(_padded([source for source, _ in pairs]).to(self.device))
            hidden_BTD, _ = self.model.decode(read_BT, self.model.start(memory))
            return [
                self._each(hidden_TD[: len(target) + 1], target_T[: len(target) + 1])
                for hidden_TD, target_T, (_, target) in zip(hidden_BTD, target_BT, pairs, strict=True)
            ]

    def _each(self, hidden_TD: Tensor, target_T: Tensor) -> tuple[float, ...]:
        """The log-probability of each piece of one target: the scores of a whole batch would not fit into memory."""
        log_TV = log_softmax(self.model.project(hidden_TD), unwritable(self._writable_V))
        return tuple(log_TV.gather(1, target_T[:, None]).squeeze(1).tolist())


@torch.inference_mode()
def write(
    model: SequenceModel,
    batch: Sources,
    writable_V: Tensor,
    decode: DecodeSettings,
    seen: Callable[[Candidates], None] = lambda going: None,
) -> list[list[Hypothesis]]:
    """What a model makes of each source; `seen` is shown what goes on after each step."""
    device = writable_V.device
    ids, limits = [source.ids for source in batch], [source.limit for source in batch]

    def step(tokens_N1: Tensor, state: State) -> tuple[Tensor, State]:
        hidden_NTD, state = model.decode(tokens_N1, state)
        return model.project(hidden_NTD[:, -1]), state

    return search(
        step,
        model.start(model.encode(_padded(ids).to(device))),
        limits_B=torch.tensor(limits, device=device),
        decode=decode,
        writable_V=writable_V,
        start=START,
        end=END,
        prefixes=[source.prefix for source in batch],
        chances_BTK=chances(ids, max(limits), decode) if decode.temperature else None,
        seen=seen,
    )


def _padded(sources: Sequence[Sequence[int]]) -> Tensor:
    """One row for each source, closed by the end mark."""
    width = max(len(source) for source in sources) + 1
    return torch.tensor([[*source, END] + [PAD] * (width - 1 - len(source)) for source in sources])


def _read(target_BT: Tensor) -> Tensor:
    """What is read before each piece of a target is written."""
    read_BT = target_BT.roll(1, dims=1)
    read_BT[:, 0] = START
    return read_BT


class _Head:
    """A lens that keeps where one head looks."""

    seen_BLM: Tensor

    def __init__(self, address: str) -> None:
        self._attention, _, head = address.rpartition(".")
        self._head = int(head) - 1

    def see(self, name: str, tensor: Tensor) -> None:
        pass

    def weights(self, name: str, weights_BHLM: Tensor) -> Tensor:
        if name == self._attention:
            self.seen_BLM = weights_BHLM[:, self._head]
        return weights_BHLM


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
