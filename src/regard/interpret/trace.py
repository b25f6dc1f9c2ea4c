"""Records one forward pass: every number between a source and the logits of each target token.

The model runs on a source and a target with teacher forcing, and a lens, an observer of the forward pass, records every
tensor. The arrays are read-only. Each has an address, such as `encoder.2.self.5.weight`, `decoder.3.cross.query` or
`decoder.1.self.residual`; layers and heads count from 1.

Shapes: B batch, H heads, L queries, M keys, S source, T target, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from regard.errors import LookError
from regard.interpret.address import is_attention, kind_of, split_head, split_last
from regard.interpret.tokens import Tokens
from regard.settings.kinds.transformer import TransformerSettings

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.kinds.transformer import Transformer

Array = npt.NDArray[Any]

HEAD_QUANTITIES = ("query", "key", "value", "score", "scaled", "mask", "weight", "mixed")  # one array per head


class Recorder:
    """A lens that records every tensor and changes nothing."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}

    def see(self, name: str, tensor: "Tensor") -> None:
        self.tensors[name] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        self.tensors[f"{name}.weight"] = weights_BHLM
        return weights_BHLM


@dataclass(frozen=True)
class Attention:
    """An attention sublayer, such as `decoder.3.cross`, with the tokens of its queries and keys."""

    address: str
    rows: Tokens  # the tokens of the queries; in the decoder, the tokens to be predicted
    columns: Tokens  # the tokens of the keys
    read: Tokens | None = None  # in the decoder, the input token of each query; None in the encoder

    @property
    def kind(self) -> str:
        """The kind of attention: `encoder.self`, `decoder.self` or `decoder.cross`."""
        return kind_of(self.address)


@dataclass(frozen=True)
class Trace:
    """The read-only arrays of one forward pass by address, such as `trace["decoder.3.cross.1.weight"]`."""

    settings: TransformerSettings
    source: Tokens  # the input of the encoder, which ends with EOS
    read: Tokens  # the input of the decoder: BOS, then the target without its last token
    written: Tokens  # the target; each token is predicted from the tokens of `read` up to the same position
    recorded: Mapping[str, Array]

    def __getitem__(self, address: str) -> Array:
        parent, quantity = split_last(address)
        if address in self.recorded and quantity != "mask":
            return self.recorded[address]
        head = split_head(parent)
        if head is not None and head[1].isdigit() and quantity in HEAD_QUANTITIES:
            attention = self.attention(head[0])
            return np.asarray(self[f"{attention.address}.{quantity}"][self.head(head[1]) - 1])
        if quantity in ("scaled", "mask") and is_attention(parent):
            return _read_only(self._derived(self.attention(parent).address, quantity))
        if address == "probability":
            return _read_only(_softmax(self.recorded["logits"]))
        raise LookError(f"nothing has the address {address!r}; examples are {', '.join(self.names[:40:9])}")

    @property
    def names(self) -> tuple[str, ...]:
        """The addresses of all recorded arrays. If an array holds values of all heads, its first axis is the head."""
        derived = [f"{attention.address}.{name}" for attention in self.attentions for name in ("scaled", "mask")]
        return (*dict.fromkeys([*self.recorded, *derived, "probability"]),)

    @property
    def attentions(self) -> tuple[Attention, ...]:
        """All attention sublayers in the order of computation."""
        encoder = [
            Attention(f"encoder.{number}.self", self.source, self.source)
            for number in range(1, self.settings.encoder_layers + 1)
        ]
        decoder = [
            Attention(f"decoder.{number}.{sublayer}", self.written, columns, self.read)
            for number in range(1, self.settings.decoder_layers + 1)
            for sublayer, columns in (("self", self.read), ("cross", self.source))
        ]
        return (*encoder, *decoder)

    def attention(self, address: str) -> Attention:
        """Return the attention sublayer at an address, such as `decoder.3.cross`."""
        for attention in self.attentions:
            if attention.address == address:
                return attention
        raise LookError(
            f"there is no attention {address!r}; this model has {self.settings.encoder_layers} encoder and "
            f"{self.settings.decoder_layers} decoder layers, so attentions go from {self.attentions[0].address} to "
            f"{self.attentions[-1].address}, with self in both stacks and cross in the decoder"
        )

    def head(self, number: str) -> int:
        """Return the number of a head as an integer, and raise an error if the model has no such head."""
        if not number.isdigit() or not 1 <= int(number) <= self.settings.heads:
            raise LookError(f"there is no head {number}; this model's heads are 1 to {self.settings.heads}")
        return int(number)

    def find_head(self, address: str) -> tuple[Attention, int] | None:
        """Return the sublayer and the number (from 1) of the head at an address.

        Return None if the address is that of a map over several heads.
        """
        parts = split_head(address)
        return (self.attention(parts[0]), self.head(parts[1])) if parts else None

    def _derived(self, attention: str, quantity: str) -> Array:
        scores = self.recorded[f"{attention}.score"]
        if quantity == "scaled":
            return np.asarray(scores / np.float32(head_width(self.settings) ** 0.5))
        mask = self.recorded.get(f"{attention}.mask", np.ones((), dtype=bool))
        return np.asarray(np.broadcast_to(mask, scores.shape))


def head_width(settings: TransformerSettings) -> int:
    """Return the width of the query, key and value of one head (d_k)."""
    return settings.width // settings.heads


def record(
    model: "Transformer",
    source: Tokens,
    read: Tokens,
    written: Tokens,
    *,
    generable: Sequence[bool],
    lens: Recorder | None = None,
) -> Trace:
    """Run the model on one source and target with teacher forcing, and record every number."""
    import torch

    lens = lens or Recorder()
    device = next(model.parameters()).device
    with torch.inference_mode():
        source_1S = torch.tensor([source.ids], device=device)
        read_1T = torch.tensor([read.ids], device=device)
        logits_1TV = model(source_1S, read_1T, lens)
        # As in the search, only tokens that can be generated have a probability above zero.
        lens.see("logits", logits_1TV.masked_fill(~torch.tensor(generable, device=device), -torch.inf))
    recorded = {name: _without_batch(name, tensor) for name, tensor in lens.tensors.items()}
    return Trace(model.settings, source, read, written, MappingProxyType(recorded))


def _without_batch(name: str, tensor: "Tensor") -> Array:
    """Return a tensor of a batch of one sentence as a read-only array without the batch axis."""
    # Positional encodings and the causal mask are the same for every sentence and have no batch axis.
    batched = not (name.endswith(".position") or (name.endswith(".mask") and tensor.dim() == 2))
    return _read_only((tensor[0] if batched else tensor).detach().cpu().numpy())


def _read_only(array: Array) -> Array:
    array = array.view()
    array.flags.writeable = False
    return array


def _softmax(logits: Array) -> Array:
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))
