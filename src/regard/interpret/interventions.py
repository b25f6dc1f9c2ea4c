"""Heads taken out of a model, made indifferent, or turned to another word: what follows shows what they are worth.

An edit is a lens: it changes the weights of some heads and leaves all else as it is. A model with an edit has the face
of a model, so that it can be translated with. The weights on disk never change.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import LookError
from regard.settings import ModelSettings

if TYPE_CHECKING:
    from torch import Tensor

    from regard.model.transformer import Transformer

WAYS = ("zeroed", "uniform")
_PARTS = {"encoder": ("self",), "decoder": ("self", "cross")}


def head_addresses(settings: ModelSettings) -> tuple[str, ...]:
    """Every head of a model, in the order of the work."""
    return tuple(
        f"{attention}.{head}" for attention in attention_addresses(settings) for head in range(1, settings.heads + 1)
    )


def attention_addresses(settings: ModelSettings) -> tuple[str, ...]:
    """Every attention of a model, in the order of the work."""
    depths = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
    return tuple(
        f"{stack}.{layer}.{part}"
        for stack, depth in depths.items()
        for layer in range(1, depth + 1)
        for part in _PARTS[stack]
    )


class Edit:
    """A lens under which some heads give nothing (`zeroed`) or look everywhere alike (`uniform`)."""

    def __init__(self, heads: Iterable[str], way: str = "zeroed") -> None:
        self.way = way
        self._masks: dict[str, Tensor] = {}
        self._heads: dict[str, list[int]] = {}
        for address in heads:
            attention, _, head = address.rpartition(".")
            self._heads.setdefault(attention, []).append(int(head) - 1)

    def touches(self, stack: str) -> bool:
        """Whether this changes anything there: where it does not, the quick road will do."""
        return any(attention.startswith(stack) for attention in self._heads)

    def see(self, name: str, tensor: "Tensor") -> None:
        if name.endswith(".mask"):
            self._masks[name] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        mask = self._masks.pop(f"{name}.mask", None)
        if name not in self._heads:
            return weights_BHLM
        edited = weights_BHLM.clone()
        for head in self._heads[name]:
            edited[:, head] = self._changed(f"{name}.{head + 1}", weights_BHLM[:, head], mask)
        return edited

    def _changed(self, head: str, weights_BLM: "Tensor", mask: "Tensor | None") -> "Tensor":
        if self.way == "zeroed":
            return weights_BLM.new_zeros(())
        # A mask has no batch axis where it is of what is still to come, and an axis for heads where it has.
        seen = 1.0 if mask is None else (mask if mask.dim() == 2 else mask[:, 0]).to(weights_BLM.dtype)
        allowed_BLM = weights_BLM.new_ones(weights_BLM.shape) * seen
        return allowed_BLM / allowed_BLM.sum(dim=-1, keepdim=True)


class Forced(Edit):
    """A lens under which some rows of some heads look at chosen pieces alone, alike at each.

    `looks` has, for each head and each sentence of the batch, the rows and the columns.
    """

    def __init__(self, looks: Mapping[str, Sequence[tuple[range, range]]]) -> None:
        super().__init__(looks, "forced")
        self._looks = looks

    def _changed(self, head: str, weights_BLM: "Tensor", mask: "Tensor | None") -> "Tensor":
        changed = weights_BLM.clone()
        for sentence, (rows, columns) in enumerate(self._looks[head]):
            changed[sentence, rows.start : rows.stop] = 0
            changed[sentence, rows.start : rows.stop, columns.start : columns.stop] = 1 / len(columns)
        return changed


class Edited:
    """A model under a lens, with the face of a model: search and translator do not know the difference."""

    training = False

    def __init__(self, model: "Transformer", edit: Edit) -> None:
        self._model = model
        self._encoder = edit if edit.touches("encoder") else None
        self._decoder = edit if edit.touches("decoder") else None
        self.vocabulary = model.vocabulary

    def encode(self, source_BS: "Tensor") -> Any:
        return self._model.encode(source_BS, self._encoder)

    def start(self, memory: Any) -> Any:
        return self._model.start(memory)

    def decode(self, tokens_NT: "Tensor", state: Any) -> "tuple[Tensor, Any]":
        return self._model.decode(tokens_NT, state, self._decoder)

    def project(self, hidden: "Tensor") -> "Tensor":
        return self._model.project(hidden)

    def train(self, mode: bool = True) -> "Edited":
        return self

    def parameters(self) -> Any:
        return self._model.parameters()

    def zero_grad(self, set_to_none: bool = True) -> None:
        pass


def check_head(address: str, settings: ModelSettings) -> str:
    """The address, if there is such a head."""
    known = head_addresses(settings)
    if address not in known:
        raise LookError(f"there is no head {address!r}; this model's heads are {known[0]} to {known[-1]}")
    return address
