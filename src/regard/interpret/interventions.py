"""Heads taken out of a model, made indifferent, or turned to another word: what follows shows what they are worth.

An edit is a lens: it changes the weights of some heads and leaves all else as it is. A model with an edit has the face
of a model, so that it can be translated with. The weights on disk never change.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import LookError
from regard.interpret.address import check_head
from regard.interpret.trace import Recorder

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.kinds.transformer import Transformer

WAYS = ("zeroed", "uniform")


class HeadIntervention:
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


class ForcedAttention(HeadIntervention):
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


class IntervenedModel:
    """A model under a lens, with the face of a model: search and translator do not know the difference."""

    training = False

    def __init__(self, model: "Transformer", edit: HeadIntervention) -> None:
        self._model = model
        self._encoder = edit if edit.touches("encoder") else None
        self._decoder = edit if edit.touches("decoder") else None
        self.vocab_size = model.vocab_size

    def encode(self, source_BS: "Tensor") -> Any:
        return self._model.encode(source_BS, self._encoder)

    def start(self, memory: Any) -> Any:
        return self._model.start(memory)

    def decode(self, tokens_NT: "Tensor", state: Any) -> "tuple[Tensor, Any]":
        return self._model.decode(tokens_NT, state, self._decoder)

    def project(self, hidden: "Tensor") -> "Tensor":
        return self._model.project(hidden)

    def train(self, mode: bool = True) -> "IntervenedModel":
        return self

    def parameters(self) -> Any:
        return self._model.parameters()

    def zero_grad(self, set_to_none: bool = True) -> None:
        pass


COMPONENTS = ("positions", "scaling")


def intervene(model: "Transformer", without: str | None) -> "tuple[Transformer, Recorder]":
    """A model and a lens that together do without that part; the model given is left as it is."""
    match without:
        case None:
            return model, Recorder()
        case "positions":
            return without_positions(model), Recorder()
        case "scaling":
            return model, _Unscaled()
    if "." in without:
        return model, _WithoutHead(check_head(without, model.settings))
    raise LookError(
        f"a sentence can be looked at without {', '.join(COMPONENTS)} or a head such as encoder.1.self.1, not without "
        f"{without!r}"
    )


def without_head(model: "Transformer", without: str | None) -> IntervenedModel | None:
    """The model without that head, if it is one that is to be left out."""
    if without is None or "." not in without:
        return None
    return IntervenedModel(model, HeadIntervention([check_head(without, model.settings)]))


def without_positions(model: "Transformer") -> "Transformer":
    """The same weights, shared, with zero for every position."""
    import torch

    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    blind = copy.deepcopy(model, shared)
    zeros = torch.zeros_like(model.positions.weight)
    blind.positions.weight = torch.nn.Parameter(zeros) if model.settings.positions == "learned" else zeros
    return blind


class _WithoutHead(Recorder):
    """Records what the model does without one head."""

    def __init__(self, head: str) -> None:
        super().__init__()
        self._edit = HeadIntervention([head])

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        return super().weights(name, self._edit.weights(name, weights_BHLM))


class _Unscaled(Recorder):
    """Gives each attention the softmax of its raw scores."""

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        scores_BHLM = self.seen[f"{name}.score"]
        mask = self.seen.get(f"{name}.mask")
        if mask is not None:
            scores_BHLM = scores_BHLM.masked_fill(~mask, float("-inf"))
        return super().weights(name, scores_BHLM.softmax(dim=-1))
