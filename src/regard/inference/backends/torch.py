"""A model and its tokenizer made into a translator of text, in torch.

Shapes: B sentences, S source length, N = B * beams rows, T pieces of this step (one), D width, V vocabulary.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor

from regard.inference.result import Translation
from regard.inference.search.beam import search
from regard.inference.search.candidates import Candidates
from regard.inference.search.constraints import forbidden_tokens, log_softmax
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.search.sampler import uniform_numbers
from regard.inference.translator import Sources, TokenPairs, Translator
from regard.model_folder.folder import AlignmentHead
from regard.models.interface import DecoderState, SequenceModel
from regard.models.kinds.transformer import Transformer
from regard.settings.decode import DecodeSettings
from regard.tokenizers.protocol import WritingTokenizer
from regard.tokenizers.special_ids import BOS, EOS, PAD

__all__ = ["TorchBackend", "Translation"]


class TorchBackend(Translator):
    """Raw text in, raw text out. A sentence comes out the same alone and in any company."""

    def __init__(
        self,
        model: SequenceModel,
        tokenizer: WritingTokenizer,
        *,
        max_positions: int,
        device: torch.device | str = "cpu",
        alignment_head: AlignmentHead | None = None,
    ) -> None:
        """The model must already be on the device. One that has a head that aligns takes a lens."""
        super().__init__(tokenizer, max_positions=max_positions, alignment_head=alignment_head)
        self.model = model
        self.device = torch.device(device)
        self._writable_V = torch.tensor(tokenizer.generable, device=self.device)

    def _generate(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        return (self._write(batch, decode) if batch else [] for batch in batches)

    def _write(self, batch: Sources, decode: DecodeSettings) -> list[list[Hypothesis]]:
        with _evaluating(self.model):
            return decode_batch(self.model, batch, self._writable_V, decode)

    @torch.inference_mode()
    def _attend(self, pairs: TokenPairs) -> list[Any]:
        assert self.alignment_head is not None
        lens = _Head(self.alignment_head.head)
        model = cast(Transformer, self.model)
        read_BT = _read(_padded([target for _, target in pairs]).to(self.device))[:, : self.max_positions]
        with _evaluating(model):
            memory = model.encode(_padded([source for source, _ in pairs]).to(self.device))
            model.decode(read_BT, model.start(memory), lens)
        return [
            weights_LM[: len(target) + 1, : len(source)].cpu().numpy()
            for weights_LM, (source, target) in zip(lens.seen_BLM, pairs, strict=True)
        ]

    @torch.inference_mode()
    def _score_tokens(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
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
        log_TV = log_softmax(self.model.project(hidden_TD), forbidden_tokens(self._writable_V))
        return tuple(log_TV.gather(1, target_T[:, None]).squeeze(1).tolist())


@torch.inference_mode()
def decode_batch(
    model: SequenceModel,
    batch: Sources,
    writable_V: Tensor,
    decode: DecodeSettings,
    seen: Callable[[Candidates], None] = lambda going: None,
) -> list[list[Hypothesis]]:
    """What a model makes of each source; `seen` is shown what goes on after each step."""
    device = writable_V.device
    ids, limits = [source.ids for source in batch], [source.limit for source in batch]

    def step(tokens_N1: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        hidden_NTD, state = model.decode(tokens_N1, state)
        return model.project(hidden_NTD[:, -1]), state

    return search(
        step,
        model.start(model.encode(_padded(ids).to(device))),
        limits_B=torch.tensor(limits, device=device),
        decode=decode,
        writable_V=writable_V,
        start=BOS,
        end=EOS,
        prefixes=[source.prefix for source in batch],
        chances_BTK=uniform_numbers(ids, max(limits), decode) if decode.temperature else None,
        seen=seen,
    )


def _padded(sources: Sequence[Sequence[int]]) -> Tensor:
    """One row for each source, closed by the end mark."""
    width = max(len(source) for source in sources) + 1
    return torch.tensor([[*source, EOS] + [PAD] * (width - 1 - len(source)) for source in sources])


def _read(target_BT: Tensor) -> Tensor:
    """What is read before each piece of a target is written."""
    read_BT = target_BT.roll(1, dims=1)
    read_BT[:, 0] = BOS
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
