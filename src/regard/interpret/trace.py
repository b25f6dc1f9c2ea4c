"""Records one forward pass: every number between a source and the logits of each target token.

The model runs on a source and a target with teacher forcing, and a lens, an observer of the forward pass, records every
tensor. The arrays are read-only. Each has an address, such as `encoder.2.self.5.weight`, `decoder.3.cross.query` or
`decoder.1.self.residual`; layers and heads count from 1.

Shapes: B batch, H heads, L queries, M keys, S source, T target, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from regard.errors import LookError
from regard.interpret.address import REDUCTIONS, split_last
from regard.interpret.tokens import Tokens
from regard.settings.anatomy import Anatomy, Attention
from regard.settings.model import ModelSettings

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.interface import AutoregressiveModel

Array = npt.NDArray[Any]

# One array per head. `softmax` is what the softmax gives, and `weight` is what is used. They differ where an
# intervention replaces the weights.
HEAD_QUANTITIES = ("query", "key", "value", "score", "scaled", "mask", "softmax", "weight", "mixed")

# One array for all heads. With pre-norm, `skip` is what the residual connection adds: the input before its layer norm.
ATTENTION_QUANTITIES = ("input", "score_vector", "joined", "output", "skip", "residual", "norm")


@dataclass(frozen=True)
class Intervention:
    """What was changed in a forward pass."""

    name: str  # as in `look --without`: a component, such as `scaling`, or the address of a head
    description: str  # such as "the scores are not divided by the square root of the head width"
    scores_are_scaled: bool = True
    heads: tuple[str, ...] = ()  # the heads whose attention weights are replaced


class Recorder:
    """A lens that records every tensor. It changes nothing, but a subclass may replace attention weights.

    `intervention` describes what is changed, if anything is.
    """

    def __init__(self, intervention: Intervention | None = None) -> None:
        self.intervention = intervention
        self.tensors: dict[str, Tensor] = {}

    def see(self, name: str, tensor: "Tensor") -> None:
        self.tensors[name] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor", first_row: int = 0) -> "Tensor":
        from regard.models.lens import with_rows

        used_BHLM = self.replace(name, weights_BHLM, first_row)
        for address, rows_BHLM in ((f"{name}.softmax", weights_BHLM), (f"{name}.weight", used_BHLM)):
            self.tensors[address] = with_rows(self.tensors.get(address), rows_BHLM, first_row)
        return used_BHLM

    def replace(self, name: str, weights_BHLM: "Tensor", first_row: int) -> "Tensor":
        """Return the attention weights that the model is to use: the given ones, unless a subclass replaces them."""
        return weights_BHLM


@dataclass(frozen=True)
class TracedAttention:
    """An attention of the model, such as `decoder.3.cross`, with the tokens of its queries and keys."""

    anatomy: Attention
    rows: Tokens  # the tokens of the queries; for target positions, the tokens to be predicted
    columns: Tokens  # the tokens of the keys
    read: Tokens | None = None  # for target positions, the input token of each query; None for source positions

    @property
    def address(self) -> str:
        return self.anatomy.address

    @property
    def kind(self) -> str:
        """The kind of attention, which is the same in all layers: `decoder.cross` for `decoder.3.cross`."""
        return self.anatomy.kind


@dataclass(frozen=True)
class Trace:
    """The read-only arrays of one forward pass by address, such as `trace["decoder.3.cross.1.weight"]`."""

    settings: ModelSettings
    source: Tokens  # the input of the encoder, which ends with EOS
    read: Tokens  # the input of the decoder: BOS, then the target without its last token
    written: Tokens  # the target; each token is predicted from the tokens of `read` up to the same position
    recorded: Mapping[str, Array]
    intervention: Intervention | None = None  # what was changed in the forward pass

    def __getitem__(self, address: str) -> Array:
        parent, quantity = split_last(address)
        if address in self.recorded and quantity != "mask":
            return self.recorded[address]
        attention, head = split_last(parent)
        if quantity in HEAD_QUANTITIES and head.isdigit():
            number = self.head(parent)
            return np.asarray(self[f"{attention}.{quantity}"][number - 1])
        if quantity == "mask" and self._find(parent):
            return _read_only(self._mask(parent))
        if address == "probability":
            return _read_only(_softmax(self.recorded["logits"]))
        raise LookError(f"nothing has the address {address!r}; examples are {', '.join(self.names[:40:9])}")

    @cached_property
    def anatomy(self) -> Anatomy:
        """The stacks and attentions of the model."""
        return self.settings.anatomy()

    @property
    def names(self) -> tuple[str, ...]:
        """The addresses of all recorded arrays. If an array holds values of all heads, its first axis is the head."""
        masks = [f"{attention.address}.mask" for attention in self.attentions]
        return (*dict.fromkeys([*self.recorded, *masks, "probability"]),)

    @cached_property
    def attentions(self) -> tuple[TracedAttention, ...]:
        """All attentions in the order of computation."""
        return tuple(
            TracedAttention(
                attention,
                self.source if attention.queries == "source" else self.written,
                self.source if attention.keys == "source" else self.read,
                None if attention.queries == "source" else self.read,
            )
            for attention in self.anatomy.attentions
        )

    def attention(self, address: str) -> TracedAttention:
        """Return the attention at an address, such as `decoder.3.cross`."""
        if found := self._find(address):
            return found
        if not self.attentions:
            raise LookError(f"there is no attention {address!r}; this model has no attention")
        if len(self.attentions) == 1:
            raise LookError(f"there is no attention {address!r}; this model has one, {self.attentions[0].address}")
        layers = " and ".join(f"{stack.layers} {stack.name}" for stack in self.anatomy.stacks)
        kinds = dict.fromkeys(attention.kind for attention in self.attentions)
        raise LookError(
            f"there is no attention {address!r}; this model has {layers} layers, so attentions go from "
            f"{self.attentions[0].address} to {self.attentions[-1].address}, of the kinds {', '.join(kinds)}"
        )

    def head(self, address: str) -> int:
        """Return the number of a head from its address, and raise an error if the model has no such head."""
        attention, number = split_last(address)
        heads = self.attention(attention).anatomy.heads
        if not number.isdigit() or not 1 <= int(number) <= heads:
            raise LookError(f"there is no head {number}; the heads of {attention} are 1 to {heads}")
        return int(number)

    def find_head(self, address: str) -> tuple[TracedAttention, int] | None:
        """Return the attention and the number (from 1) of the head at an address.

        Return None if the address is that of a map over several heads.
        """
        attention, head = split_last(address)
        if head in (*REDUCTIONS, "rollout") or (not self._find(attention) and not head.isdigit()):
            return None
        return self.attention(attention), self.head(address)

    def _find(self, address: str) -> TracedAttention | None:
        return next((attention for attention in self.attentions if attention.address == address), None)

    def _mask(self, attention: str) -> Array:
        shape = self.recorded[f"{attention}.weight"].shape
        mask = self.recorded.get(f"{attention}.mask", np.ones((), dtype=bool))
        return np.asarray(np.broadcast_to(mask, shape))


def record(
    model: "AutoregressiveModel",
    source: Tokens,
    read: Tokens,
    written: Tokens,
    *,
    generable: Sequence[bool],
    lens: Recorder | None = None,
) -> Trace:
    """Run the model on one source and target with teacher forcing, and record every number."""
    import torch

    from regard.models.inputs import Inputs

    lens = lens or Recorder()
    with torch.inference_mode():
        source_1S = torch.tensor([source.ids], device=model.device)
        read_1T = torch.tensor([read.ids], device=model.device)
        logits_1TV = model(Inputs(source_1S), read_1T, lens)
        # As in the search, only tokens that can be generated have a probability above zero.
        lens.see("logits", logits_1TV.masked_fill(~torch.tensor(generable, device=model.device), -torch.inf))
    recorded = {name: _without_batch(name, tensor) for name, tensor in lens.tensors.items()}
    return Trace(model.settings, source, read, written, MappingProxyType(recorded), lens.intervention)


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
