"""Attention weights, layer outputs and log-probabilities of many sentence pairs, computed with teacher forcing.

The decoder gets the reference translation as input, not the tokens that it predicts.

Shapes: B sentences, S source length, T target length, H heads, L queries, M keys, D width, V vocabulary, N tokens.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.interpret.address import locate_head
from regard.interpret.annotated_pairs import AnnotatedPair
from regard.interpret.interventions import HeadIntervention
from regard.interpret.trace import Array
from regard.settings.anatomy import Attention, Stack
from regard.tokenizers.special_ids import PAD

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.inputs import Inputs
    from regard.models.interface import AutoregressiveModel

_BATCH_TOKENS = 4096  # the maximum number of source or target tokens in a batch, including padding


@dataclass(frozen=True)
class Batch:
    """A batch of sentence pairs of similar length; `indices` are their positions in the list of all pairs."""

    indices: tuple[int, ...]
    source: "Inputs"
    input_BT: "Tensor"  # the input of the decoder
    target: "Inputs"  # the tokens that the decoder should predict
    encoded: Any = None  # the encoder output without an intervention, after `encode_batches`


MakeIntervention = Callable[[Batch], HeadIntervention]


class AttentionRecorder:
    """An object that the model calls with its intermediate results; it records the attention weights of all heads."""

    def __init__(self) -> None:
        self.recorded: dict[str, Tensor] = {}

    def see(self, name: str, tensor: "Tensor") -> None:
        pass

    def weights(self, name: str, weights_BHLM: "Tensor", first_row: int = 0) -> "Tensor":
        from regard.models.lens import with_rows

        self.recorded[name] = with_rows(self.recorded.get(name), weights_BHLM, first_row)
        return weights_BHLM


class _LayerRecorder:
    """An object that the model calls with its intermediate results; it records the tensors with the given names."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.recorded: dict[str, Tensor] = {}

    def see(self, name: str, tensor: "Tensor") -> None:
        if name in self._names:
            self.recorded[name] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor", first_row: int = 0) -> "Tensor":
        return weights_BHLM


def make_batches(model: "AutoregressiveModel", pairs: Sequence[AnnotatedPair]) -> Iterator[Batch]:
    """Divide the pairs into batches of similar length, the shortest first."""
    from regard.models.inputs import Inputs

    order = sorted(range(len(pairs)), key=lambda index: (len(pairs[index].source_ids), len(pairs[index].target_ids)))
    lengths = [max(len(pair.source_ids), len(pair.target_ids)) for pair in pairs]
    for indices in _index_batches(order, lengths):
        chosen = [pairs[index] for index in indices]
        source, decoder_input, target = (
            Inputs.from_ids([getattr(pair, side) for pair in chosen], pad=PAD, device=model.device)
            for side in ("source_ids", "decoder_input_ids", "target_ids")
        )
        yield Batch(tuple(indices), source, decoder_input.values, target)


def encode_batches(model: "AutoregressiveModel", pairs: Sequence[AnnotatedPair]) -> list[Batch]:
    """Divide the pairs into batches and run the encoder on each, to score the same pairs several times."""
    import torch

    with torch.inference_mode():
        return [replace(batch, encoded=model.encode(batch.source)) for batch in make_batches(model, pairs)]


def attention_weights(
    model: "AutoregressiveModel", pairs: Sequence[AnnotatedPair]
) -> Iterator[tuple[int, dict[str, Array]]]:
    """Yield the index of each pair and its attention weights, the shortest pairs first.

    There is an array (H, L, M) without padding for each attention.
    """
    import torch

    attentions = model.anatomy().attentions
    for batch in make_batches(model, pairs):
        lens = AttentionRecorder()
        with torch.inference_mode():
            model(batch.source, batch.input_BT, lens)
        arrays = {name: weights.cpu().numpy() for name, weights in lens.recorded.items()}
        for row, index in enumerate(batch.indices):
            yield (
                index,
                {one.address: _without_padding(arrays[one.address][row], one, pairs[index]) for one in attentions},
            )


def layer_vectors(model: "AutoregressiveModel", pairs: Sequence[AnnotatedPair], stack: Stack) -> list[Array]:
    """Return, for each pair, the output vectors of every layer of a stack, as an array (layers, L, D).

    Layer 0 is the input of the first layer.
    """
    import torch

    names = stack.outputs
    vectors: list[Array] = [np.empty(0)] * len(pairs)
    for batch in make_batches(model, pairs):
        lens = _LayerRecorder(names)
        with torch.inference_mode():
            model(batch.source, batch.input_BT, lens)
        layers = [lens.recorded[name].cpu().numpy() for name in names]
        for row, index in enumerate(batch.indices):
            length = _length(pairs[index], stack.side)
            vectors[index] = np.stack([layer[row, :length] for layer in layers])
    return vectors


def head_outputs(
    model: "AutoregressiveModel", pairs: Sequence[AnnotatedPair], heads: Sequence[str]
) -> dict[str, list[Array]]:
    """Return the outputs of some heads on each pair, as arrays (L, E)."""
    import torch

    places = {head: locate_head(head) for head in heads}
    anatomy = model.anatomy()
    outputs: dict[str, list[Array]] = {head: [np.empty(0)] * len(pairs) for head in heads}
    for batch in make_batches(model, pairs):
        lens = _LayerRecorder([f"{attention}.mixed" for attention, _ in places.values()])
        with torch.inference_mode():
            model(batch.source, batch.input_BT, lens)
        for head, (address, number) in places.items():
            attention = anatomy.attention(address)
            assert attention is not None
            mixed_BLE = lens.recorded[f"{address}.mixed"][:, number].cpu().numpy()
            for row, index in enumerate(batch.indices):
                outputs[head][index] = mixed_BLE[row, : _length(pairs[index], attention.queries)]
    return outputs


def log_probabilities(
    model: "AutoregressiveModel", batches: Sequence[Batch], make_intervention: MakeIntervention | None = None
) -> list[Array]:
    """Return the log-probability of each target token of each pair, with an intervention if one is given."""
    import torch

    anatomy = model.anatomy()
    results: list[Array] = [np.empty(0)] * sum(len(batch.indices) for batch in batches)
    with torch.inference_mode():
        for batch in batches:
            lens = make_intervention(batch) if make_intervention else None
            encoded = model.encode(batch.source, lens) if lens and lens.affects("source", anatomy) else batch.encoded
            decoder_lens = lens if lens and lens.affects("target", anatomy) else None
            hidden_BTD, _ = model.decode(batch.input_BT, model.start(encoded), decoder_lens)
            for index, logs in zip(batch.indices, _target_logs(model, hidden_BTD, batch.target), strict=True):
                results[index] = logs
    return results


def _target_logs(model: "AutoregressiveModel", hidden_BTD: "Tensor", target: "Inputs") -> Iterator[Array]:
    logits_NV = model.project(target.real(hidden_BTD))
    logs_N = logits_NV.gather(1, target.real(target.values)[:, None])[:, 0] - logits_NV.logsumexp(dim=1)
    for logs in logs_N.cpu().split(target.lengths.tolist()):
        yield logs.numpy()


def _without_padding(weights_HLM: Array, attention: Attention, pair: AnnotatedPair) -> Array:
    return weights_HLM[:, : _length(pair, attention.queries), : _length(pair, attention.keys)]


def _length(pair: AnnotatedPair, side: str) -> int:
    return len(pair.source_ids if side == "source" else pair.target_ids)


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
