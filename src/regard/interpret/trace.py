"""One recorded pass: every number on the way from a source to the scores of what follows each piece written.

A chosen text is run once more, forced, with a lens that keeps what it sees. What comes out is read-only, and every
number has one address, counted from 1: `encoder.2.self.5.weight`, `decoder.3.cross.query`, `decoder.1.self.residual`.

Shapes: S source length, T target length, L queries, M keys, E width of a head, D width, V vocabulary.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from regard.errors import LookError
from regard.interpret.address import OVER_HEADS
from regard.interpret.tokens import Tokens
from regard.settings.kinds.transformer import TransformerSettings

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.kinds.transformer import Transformer

Array = npt.NDArray[Any]

HEADED = ("query", "key", "value", "score", "scaled", "mask", "weight", "mixed")  # one for each head


class Recorder:
    """A lens that keeps everything and changes nothing."""

    def __init__(self) -> None:
        self.seen: dict[str, Tensor] = {}

    def see(self, name: str, tensor: "Tensor") -> None:
        self.seen[name] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        self.seen[f"{name}.weight"] = weights_BHLM
        return weights_BHLM


@dataclass(frozen=True)
class Attention:
    """One attention of one layer, such as `decoder.3.cross`, and who looks at whom in it."""

    address: str
    rows: Tokens  # the pieces that look; in the decoder, those about to be written
    columns: Tokens  # the pieces looked at
    read: Tokens | None = None  # in the decoder, the piece each row has just read

    @property
    def kind(self) -> str:
        """`encoder.self`, `decoder.self` or `decoder.cross`."""
        stack, _, part = self.address.split(".")
        return f"{stack}.{part}"


@dataclass(frozen=True)
class Trace:
    """The numbers of one pass, by address: `trace["decoder.3.cross.1.weight"]`. All arrays are read-only."""

    settings: TransformerSettings
    source: Tokens  # closed by the end mark
    read: Tokens  # what the decoder was given: the start mark, then what it wrote
    written: Tokens  # what it was about to write after each of those
    recorded: Mapping[str, Array]

    def __getitem__(self, address: str) -> Array:
        *where, last = address.split(".")
        if address in self.recorded and last != "mask":
            return self.recorded[address]
        if len(where) == 4 and where[3].isdigit() and last in HEADED:
            attention = self.attention(".".join(where[:3]))
            return np.asarray(self[f"{attention.address}.{last}"][self.head(where[3]) - 1])
        if last in ("scaled", "mask") and len(where) == 3:
            return _frozen(self._derived(self.attention(".".join(where)).address, last))
        if address == "probability":
            return _frozen(_softmax(self.recorded["logits"]))
        raise LookError(f"nothing is called {address!r} here; names are such as {', '.join(self.names[:40:9])}")

    @property
    def names(self) -> tuple[str, ...]:
        """Every address without a head; where each head has its own numbers, the first axis is the heads'."""
        derived = [f"{one.address}.{name}" for one in self.attentions for name in ("scaled", "mask")]
        return (*dict.fromkeys([*self.recorded, *derived, "probability"]),)

    @property
    def attentions(self) -> tuple[Attention, ...]:
        """All attentions in the order of the work, whatever the depths of the two stacks."""
        encoder = [
            Attention(f"encoder.{number}.self", self.source, self.source)
            for number in range(1, self.settings.encoder_layers + 1)
        ]
        decoder = [
            Attention(f"decoder.{number}.{part}", self.written, columns, self.read)
            for number in range(1, self.settings.decoder_layers + 1)
            for part, columns in (("self", self.read), ("cross", self.source))
        ]
        return (*encoder, *decoder)

    def attention(self, address: str) -> Attention:
        """The attention called so, as `decoder.3.cross`."""
        for attention in self.attentions:
            if attention.address == address:
                return attention
        layers = f"{self.settings.encoder_layers} and {self.settings.decoder_layers}"
        raise LookError(
            f"there is no attention {address!r}; this model has {layers} layers, so from {self.attentions[0].address} "
            f"to {self.attentions[-1].address}, with self in both and cross in the decoder"
        )

    def head(self, number: str) -> int:
        """The head of that number."""
        if not number.isdigit() or not 1 <= int(number) <= self.settings.heads:
            raise LookError(f"there is no head {number}; this model's heads are 1 to {self.settings.heads}")
        return int(number)

    def _derived(self, attention: str, quantity: str) -> Array:
        scores = self.recorded[f"{attention}.score"]
        if quantity == "scaled":
            return np.asarray(scores / np.float32(head_width(self.settings) ** 0.5))
        mask = self.recorded.get(f"{attention}.mask", np.ones((), dtype=bool))
        return np.asarray(np.broadcast_to(mask, scores.shape))


def head_width(settings: TransformerSettings) -> int:
    """Numbers per query, key and value of one head (d_k)."""
    return settings.width // settings.heads


def record(
    model: "Transformer",
    source: Tokens,
    read: Tokens,
    written: Tokens,
    *,
    writable: Sequence[bool],
    lens: Recorder | None = None,
) -> Trace:
    """Run one sentence through the model, forced to write what it wrote, and keep every number."""
    import torch

    lens = lens or Recorder()
    device = next(model.parameters()).device
    with torch.inference_mode():
        source_1S = torch.tensor([source.ids], device=device)
        read_1T = torch.tensor([read.ids], device=device)
        logits_1TV = model(source_1S, read_1T, lens)
        # As in the search: what may be written shares all of the probability.
        lens.see("logits", logits_1TV.masked_fill(~torch.tensor(writable, device=device), -torch.inf))
    recorded = {name: _one(name, tensor) for name, tensor in lens.seen.items()}
    return Trace(model.settings, source, read, written, MappingProxyType(recorded))


def _one(name: str, tensor: "Tensor") -> Array:
    """The only sentence of a batch, as an array nobody can change."""
    # Positions are the same for every sentence, and so is the mask of what is still to come: they have no batch axis.
    batched = not (name.endswith(".position") or (name.endswith(".mask") and tensor.dim() == 2))
    return _frozen((tensor[0] if batched else tensor).detach().cpu().numpy())


def _frozen(array: Array) -> Array:
    array = array.view()
    array.flags.writeable = False
    return array


def _softmax(logits: Array) -> Array:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def all_heads(trace: Trace) -> Iterator[str]:
    """The address of every head, in the order of the work."""
    for attention in trace.attentions:
        for head in range(1, trace.settings.heads + 1):
            yield f"{attention.address}.{head}"


def split_address(trace: Trace, address: str) -> tuple[Attention, int] | None:
    """The attention and head (from 1) that an address names; None where it names a map over several."""
    parts = address.split(".")
    if len(parts) != 4 or parts[3] in OVER_HEADS:
        return None
    return trace.attention(".".join(parts[:3])), trace.head(parts[3])
