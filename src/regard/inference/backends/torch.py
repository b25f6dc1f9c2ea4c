"""The torch backend, which runs any model with the interface `AutoregressiveModel` and supports all decode settings.

Shapes: B sentences, S source length, N = B * beams hypotheses, T target length, D width, V vocabulary.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from regard.inference.backends.interface import Backend, Batching, Sources, TokenPairs, with_attention
from regard.inference.length_buckets import length_buckets
from regard.inference.search.beam import search
from regard.inference.search.candidates import Candidates
from regard.inference.search.constraints import forbidden_tokens, log_softmax
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.search.sampler import uniform_numbers
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel, DecoderState
from regard.models.lens import with_rows
from regard.settings.anatomy import locate_head
from regard.settings.decode import DecodeSettings
from regard.tokenizers.special_ids import BOS, EOS, PAD

BATCH_TOKENS = 8192


class TorchBackend(Backend):
    """A model that runs in torch. A batch is computed within the call of `generate`."""

    def __init__(
        self,
        model: AutoregressiveModel,
        generable: Sequence[bool],
        *,
        device: torch.device | str = "cpu",
        alignment_head: str | None = None,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        """Wrap a model that is on `device`.

        `generable` says for each row of the embedding matrix whether its token may be generated. With the address of an
        alignment head, the model must accept a lens.
        """
        self.model = model
        self.device = torch.device(device)
        self._generable_V = torch.tensor(generable, device=self.device)
        self._alignment_head, self._batch_tokens = alignment_head, batch_tokens

    def batching(self, decode: DecodeSettings) -> Batching:
        return Batching(self._batch_tokens)

    def generate(
        self, batch: Sources, decode: DecodeSettings, *, sentences: int | None = None
    ) -> Future[list[list[Hypothesis]]]:
        future: Future[list[list[Hypothesis]]] = Future()
        with _evaluation_mode(self.model):
            found = decode_batch(self.model, batch, self._generable_V, decode)
        is_aligned = decode.alignment and self._alignment_head is not None
        future.set_result(with_attention(batch, found, self.attend) if is_aligned else found)
        return future

    def close(self) -> None:
        """Do nothing: the model belongs to the caller, and there are no threads."""

    def score(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        scored: dict[int, tuple[float, ...]] = {}
        for batch in length_buckets([max(map(len, pair)) for pair in pairs], self._batch_tokens):
            scored.update(zip(batch, self._score_batch([pairs[index] for index in batch]), strict=True))
        return [scored[index] for index in range(len(pairs))]

    @torch.inference_mode()
    def attend(self, pairs: TokenPairs) -> list[Any]:
        assert self._alignment_head is not None
        lens, model = _HeadLens(*locate_head(self._alignment_head)), self.model
        target = _padded([target for _, target in pairs], self.device)
        # A translation that was cut off may fill all positions, so that there is none left for EOS.
        input_BT = _decoder_input(target.values)[:, : model.settings.max_positions]
        with _evaluation_mode(model):
            encoded = model.encode(_padded([source for source, _ in pairs], self.device))
            model.decode(input_BT, model.start(encoded), lens)
        return [
            weights_LM[: len(target) + 1, : len(source)].cpu().numpy()
            for weights_LM, (source, target) in zip(lens.weights_BLM, pairs, strict=True)
        ]

    @torch.inference_mode()
    def next_tokens(self, source: Sequence[int], prefix: Sequence[int], count: int) -> list[int]:
        """Return the most probable tokens after the first tokens of a translation, the most probable one first."""
        input_1T = _decoder_input(_padded([prefix], self.device).values)
        with _evaluation_mode(self.model):
            encoded = self.model.encode(_padded([source], self.device))
            hidden_1TD, _ = self.model.decode(input_1T, self.model.start(encoded))
            log_1V = log_softmax(self.model.project(hidden_1TD[:, -1]), forbidden_tokens(self._generable_V))
        found = log_1V[0].topk(min(count, log_1V.shape[1]))
        return [
            token
            for token, value in zip(found.indices.tolist(), found.values.tolist(), strict=True)
            if value > -math.inf
        ]

    @torch.inference_mode()
    def _score_batch(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        target_BT = _padded([target for _, target in pairs], self.device).values
        input_BT = _decoder_input(target_BT)
        with _evaluation_mode(self.model):
            encoded = self.model.encode(_padded([source for source, _ in pairs], self.device))
            hidden_BTD, _ = self.model.decode(input_BT, self.model.start(encoded))
            return [
                self._log_probabilities(hidden_TD[: len(target) + 1], target_T[: len(target) + 1])
                for hidden_TD, target_T, (_, target) in zip(hidden_BTD, target_BT, pairs, strict=True)
            ]

    def _log_probabilities(self, hidden_TD: Tensor, target_T: Tensor) -> tuple[float, ...]:
        """Return the log-probability of each token of one target. The logits of a whole batch may not fit in memory."""
        log_TV = log_softmax(self.model.project(hidden_TD), forbidden_tokens(self._generable_V))
        return tuple(log_TV.gather(1, target_T[:, None]).squeeze(1).tolist())


@torch.inference_mode()
def decode_batch(
    model: AutoregressiveModel,
    batch: Sources,
    generable_V: Tensor,
    decode: DecodeSettings,
    on_step: Callable[[Candidates], None] = lambda continued: None,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each source.

    After each step of the search, `on_step` is called with the hypotheses that are not finished yet.
    """
    device = generable_V.device
    ids, limits = [source.ids for source in batch], [source.limit for source in batch]

    def step(tokens_N1: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        hidden_NTD, state = model.decode(tokens_N1, state)
        return model.project(hidden_NTD[:, -1]), state

    return search(
        step,
        model.start(model.encode(_padded(ids, device))),
        limits_B=torch.tensor(limits, device=device),
        decode=decode,
        generable_V=generable_V,
        bos=BOS,
        eos=EOS,
        prefixes=[source.prefix for source in batch],
        uniform_BTK=uniform_numbers(ids, max(limits), decode) if decode.temperature else None,
        on_step=on_step,
    )


def _padded(sequences: Sequence[Sequence[int]], device: torch.device) -> Inputs:
    """Return sequences as the input of a model: the ids of each, then EOS, then padding."""
    return Inputs.from_ids([[*ids, EOS] for ids in sequences], pad=PAD, device=device)


def _decoder_input(target_BT: Tensor) -> Tensor:
    """Return the decoder input for teacher forcing: BOS, then the target without its last token."""
    input_BT = target_BT.roll(1, dims=1)
    input_BT[:, 0] = BOS
    return input_BT


class _HeadLens:
    """A lens that keeps the attention weights of one head."""

    weights_BLM: Tensor

    def __init__(self, attention: str, head: int) -> None:
        self._attention, self._head = attention, head
        self._all_heads: Tensor | None = None

    def see(self, name: str, tensor: Tensor) -> None:
        pass

    def weights(self, name: str, weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        if name == self._attention:
            self._all_heads = with_rows(self._all_heads, weights_BHLM, first_row)
            self.weights_BLM = self._all_heads[:, self._head]
        return weights_BHLM


@contextmanager
def _evaluation_mode(model: AutoregressiveModel) -> Iterator[None]:
    """Within the context, put the model in evaluation mode (no dropout). Restore its former mode afterwards."""
    if not model.training:
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train(True)
