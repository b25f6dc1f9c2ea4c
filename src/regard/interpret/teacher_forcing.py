"""Attention weights, layer outputs and log-probabilities of many sentence pairs, computed with teacher forcing.

The decoder gets the reference translation as input, not the tokens that it predicts.

Shapes: B sentences, S source length, T target length, H heads, L queries, M keys, D width, V vocabulary, N tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.interpret.address import attention_addresses, kind_of
from regard.interpret.annotated_pairs import AnnotatedPair
from regard.interpret.interventions import HeadIntervention
from regard.interpret.trace import Array
from regard.tokenizers.special_ids import PAD

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.kinds.transformer import EncoderOutput, Transformer

_BATCH_TOKENS = 4096  # the maximum number of source or target tokens in a batch, including padding


@dataclass(frozen=True)
class Batch:
    """A batch of sentence pairs of similar length; `indices` are their positions in the list of all pairs."""

    indices: tuple[int, ...]
    source_BS: "Tensor"
    input_BT: "Tensor"  # the input of the decoder
    target_BT: "Tensor"  # the tokens that the decoder should predict
    encoded: "EncoderOutput"  # the encoder output without an intervention


MakeIntervention = Callable[[Batch], HeadIntervention]


class _AttentionRecorder:
    """An object that the model calls with its intermediate results; it records the attention weights of all heads."""

    def __init__(self) -> None:
        self.recorded: dict[str, Tensor] = {}

    def see(self, name: str, tensor: "Tensor") -> None:
        pass

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        self.recorded[name] = weights_BHLM
        return weights_BHLM


class _LayerRecorder:
    """An object that the model calls with its intermediate results; it records the tensors with the given names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.recorded: dict[str, Tensor] = {}

    def see(self, name: str, tensor: "Tensor") -> None:
        if name in self._names:
            self.recorded[name] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        return weights_BHLM


def make_batches(model: "Transformer", pairs: Sequence[AnnotatedPair]) -> list[Batch]:
    """Divide the pairs into batches of similar length, and run the encoder on each batch."""
    import torch

    device = next(model.parameters()).device
    order = sorted(range(len(pairs)), key=lambda index: (len(pairs[index].source_ids), len(pairs[index].target_ids)))
    lengths = [max(len(pair.source_ids), len(pair.target_ids)) for pair in pairs]
    batches = []
    with torch.inference_mode():
        for indices in _index_batches(order, lengths):
            chosen = [pairs[index] for index in indices]
            source_BS = _padded([pair.source_ids for pair in chosen]).to(device)
            input_BT = _padded([pair.decoder_input_ids for pair in chosen]).to(device)
            target_BT = _padded([pair.target_ids for pair in chosen]).to(device)
            batches.append(Batch(tuple(indices), source_BS, input_BT, target_BT, model.encode(source_BS)))
    return batches


def attention_weights(model: "Transformer", pairs: Sequence[AnnotatedPair]) -> Iterator[tuple[int, dict[str, Array]]]:
    """Yield the index of each pair and its attention weights, the shortest pairs first.

    There is an array (H, L, M) without padding for each attention sublayer.
    """
    import torch

    names = attention_addresses(model.settings)
    for batch in make_batches(model, pairs):
        lens = _AttentionRecorder()
        with torch.inference_mode():
            model(batch.source_BS, batch.input_BT, lens)
        arrays = {name: lens.recorded[name].cpu().numpy() for name in names}
        for row, index in enumerate(batch.indices):
            lengths = len(pairs[index].source_ids), len(pairs[index].target_ids)
            yield index, {name: _without_padding(arrays[name][row], kind_of(name), *lengths) for name in names}


def layer_vectors(model: "Transformer", pairs: Sequence[AnnotatedPair], stack: str) -> list[Array]:
    """Return, for each pair, the output vectors of every layer of the encoder or decoder, as an array (layers, L, D).

    Layer 0 is the input of the first layer. `stack` is "encoder" or "decoder".
    """
    import torch

    depth = model.settings.encoder_layers if stack == "encoder" else model.settings.decoder_layers
    names = [f"{stack}.sum", *(f"{stack}.{layer}" for layer in range(1, depth + 1))]
    vectors: list[Array] = [np.empty(0)] * len(pairs)
    for batch in make_batches(model, pairs):
        lens = _LayerRecorder(names)
        with torch.inference_mode():
            model(batch.source_BS, batch.input_BT, lens)
        layers = [lens.recorded[name].cpu().numpy() for name in names]
        for row, index in enumerate(batch.indices):
            length = len(pairs[index].source_ids if stack == "encoder" else pairs[index].target_ids)
            vectors[index] = np.stack([layer[row, :length] for layer in layers])
    return vectors


def log_probabilities(
    model: "Transformer", batches: Sequence[Batch], make_intervention: MakeIntervention | None = None
) -> list[Array]:
    """Return the log-probability of each target token of each pair, with an intervention if one is given."""
    import torch

    results: list[Array] = [np.empty(0)] * sum(len(batch.indices) for batch in batches)
    with torch.inference_mode():
        for batch in batches:
            lens = make_intervention(batch) if make_intervention else None
            encoded = model.encode(batch.source_BS, lens) if lens and lens.affects("encoder") else batch.encoded
            decoder_lens = lens if lens and lens.affects("decoder") else None
            hidden_BTD, _ = model.decode(batch.input_BT, model.start(encoded), decoder_lens)
            for index, logs in zip(batch.indices, _target_logs(model, hidden_BTD, batch.target_BT), strict=True):
                results[index] = logs
    return results


def _target_logs(model: "Transformer", hidden_BTD: "Tensor", target_BT: "Tensor") -> Iterator[Array]:
    real_BT = target_BT != PAD
    logits_NV = model.project(hidden_BTD[real_BT])
    logs_N = logits_NV.gather(1, target_BT[real_BT][:, None])[:, 0] - logits_NV.logsumexp(dim=1)
    for logs in logs_N.cpu().split(real_BT.sum(dim=1).tolist()):
        yield logs.numpy()


def _without_padding(weights_HLM: Array, kind: str, source_length: int, target_length: int) -> Array:
    rows = source_length if kind == "encoder.self" else target_length
    columns = target_length if kind == "decoder.self" else source_length
    return weights_HLM[:, :rows, :columns]


def _index_batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    longest = 0
    for index in order:
        longest = max(longest, lengths[index])
        if batch and longest * (len(batch) + 1) > _BATCH_TOKENS:
            yield batch
            batch, longest = [], lengths[index]
        batch.append(index)
    if batch:
        yield batch


def _padded(rows: Sequence[Sequence[int]]) -> Any:
    import torch

    width = max(map(len, rows))
    return torch.tensor([[*row] + [PAD] * (width - len(row)) for row in rows])
