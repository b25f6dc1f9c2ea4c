"""Many sentences through a model at once, forced to write what they should: what every head did, or what it cost.

Shapes: B sentences, S source length, T target length, H heads, L queries, M keys, D width.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from regard.interpret.address import attention_addresses
from regard.interpret.annotated_pairs import AnnotatedPair
from regard.interpret.interventions import HeadIntervention
from regard.interpret.trace import Array
from regard.tokenizers.special_ids import PAD

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.kinds.transformer import EncoderOutput, Transformer

Result = TypeVar("Result")

_TOKENS = 4096  # pieces at once, padding included


@dataclass(frozen=True)
class Batch:
    """Sentences of like length, which they are, and what the encoder made of them when nobody meddled."""

    indices: tuple[int, ...]
    source_BS: "Tensor"
    read_BT: "Tensor"
    written_BT: "Tensor"
    memory: "EncoderOutput"


class _Weights:
    """A lens that keeps the weights of all heads and nothing else."""

    def __init__(self) -> None:
        self.seen: dict[str, Tensor] = {}

    def see(self, name: str, tensor: "Tensor") -> None:
        pass

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        self.seen[name] = weights_BHLM
        return weights_BHLM


class _Vectors(_Weights):
    """A lens that keeps what goes into a stack and what comes out of each of its layers."""

    def __init__(self, stack: str) -> None:
        super().__init__()
        self._stack = stack

    def see(self, name: str, tensor: "Tensor") -> None:
        stack, _, layer = name.partition(".")
        if stack == self._stack and (layer == "sum" or layer.isdigit()):
            self.seen["0" if layer == "sum" else layer] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        return weights_BHLM


def make_batches(model: "Transformer", items: Sequence[AnnotatedPair]) -> list[Batch]:
    """The items in batches, each read by the encoder once."""
    import torch

    device = next(model.parameters()).device
    order = sorted(range(len(items)), key=lambda at: (len(items[at].source_ids), len(items[at].written_ids)))
    found = []
    with torch.inference_mode():
        for indices in _cut(order, [max(len(one.source_ids), len(one.written_ids)) for one in items]):
            chosen = [items[at] for at in indices]
            source_BS = _padded([one.source_ids for one in chosen]).to(device)
            read_BT = _padded([one.read_ids for one in chosen]).to(device)
            written_BT = _padded([one.written_ids for one in chosen]).to(device)
            found.append(Batch(tuple(indices), source_BS, read_BT, written_BT, model.encode(source_BS)))
    return found


def attention_weights(model: "Transformer", items: Sequence[AnnotatedPair]) -> Iterator[tuple[int, dict[str, Array]]]:
    """For each item, in any order: its number, and the weights (H, L, M) of each attention, without padding."""
    import torch

    names = attention_addresses(model.settings)
    for batch in make_batches(model, items):
        lens = _Weights()
        with torch.inference_mode():
            model(batch.source_BS, batch.read_BT, lens)
        arrays = {name: lens.seen[name].cpu().numpy() for name in names}
        for row, at in enumerate(batch.indices):
            sizes = {"source": len(items[at].source_ids), "target": len(items[at].written_ids)}
            yield at, {name: _real(arrays[name][row], name, sizes) for name in names}


def layer_vectors(model: "Transformer", items: Sequence[AnnotatedPair], stack: str) -> list[Array]:
    """For each item, the vectors (layers from 0 on, L, D) of its source pieces, or of the decoder's rows."""
    import torch

    found: list[Array] = [np.empty(0)] * len(items)
    for batch in make_batches(model, items):
        lens = _Vectors(stack)
        with torch.inference_mode():
            model(batch.source_BS, batch.read_BT, lens)
        layers = [lens.seen[str(layer)].cpu().numpy() for layer in range(len(lens.seen))]
        for row, at in enumerate(batch.indices):
            length = len(items[at].source_ids if stack == "encoder" else items[at].written_ids)
            found[at] = np.stack([layer[row, :length] for layer in layers])
    return found


def log_probabilities(
    model: "Transformer", batches: Sequence[Batch], edit: Callable[[Batch], HeadIntervention] | None = None
) -> list[Array]:
    """For each item the log-probability of each piece it should write, perhaps under an edit."""
    import torch

    found: list[Array] = [np.empty(0)] * sum(len(batch.indices) for batch in batches)
    with torch.inference_mode():
        for batch in batches:
            lens = edit(batch) if edit else None
            memory = model.encode(batch.source_BS, lens) if lens and lens.touches("encoder") else batch.memory
            in_decoder = lens if lens and lens.touches("decoder") else None
            hidden_BTD, _ = model.decode(batch.read_BT, model.start(memory), in_decoder)
            for at, logs in zip(batch.indices, _logs(model, hidden_BTD, batch.written_BT), strict=True):
                found[at] = logs
    return found


def _logs(model: "Transformer", hidden_BTD: "Tensor", written_BT: "Tensor") -> Iterator[Array]:
    real_BT = written_BT != PAD
    scores_NV = model.project(hidden_BTD[real_BT])
    right_N = scores_NV.gather(1, written_BT[real_BT][:, None])[:, 0] - scores_NV.logsumexp(dim=1)
    for logs in right_N.cpu().split(real_BT.sum(dim=1).tolist()):
        yield logs.numpy()


def _real(weights_HLM: Array, name: str, sizes: dict[str, int]) -> Array:
    rows = sizes["source" if name.startswith("encoder") else "target"]
    columns = sizes["target" if name.startswith("decoder") and name.endswith("self") else "source"]
    return weights_HLM[:, :rows, :columns]


def _cut(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    longest = 0
    for at in order:
        longest = max(longest, lengths[at])
        if batch and longest * (len(batch) + 1) > _TOKENS:
            yield batch
            batch, longest = [], lengths[at]
        batch.append(at)
    if batch:
        yield batch


def _padded(rows: Sequence[Sequence[int]]) -> Any:
    import torch

    width = max(map(len, rows))
    return torch.tensor([[*row] + [PAD] * (width - len(row)) for row in rows])
