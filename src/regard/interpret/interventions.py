"""Interventions on a model: ablate heads, force attention, or remove positional encoding or the scaling of scores.

An intervention on heads is a lens, an observer of the forward pass: it replaces the attention weights of chosen heads
and changes nothing else. `IntervenedModel` combines a model and an intervention and has the interface of a model, so
that it can translate. The parameters on disk never change.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import LookError
from regard.interpret.address import check_head, locate_head, stack_of
from regard.interpret.trace import Recorder

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.kinds.transformer import Transformer

ABLATION_MODES = ("zeroed", "uniform")


class HeadIntervention:
    """A lens that sets the attention weights of some heads to zero (`zeroed`) or to equal values (`uniform`)."""

    def __init__(self, heads: Iterable[str], mode: str = "zeroed") -> None:
        self.mode = mode
        self._masks: dict[str, Tensor] = {}
        self._heads: dict[str, list[int]] = {}
        for address in heads:
            attention, head = locate_head(address)
            self._heads.setdefault(attention, []).append(head)

    def affects(self, stack: str) -> bool:
        """Return whether this lens changes any head of `stack`, which is `encoder` or `decoder`."""
        return any(stack_of(attention) == stack for attention in self._heads)

    def see(self, name: str, tensor: "Tensor") -> None:
        if name.endswith(".mask"):
            self._masks[name] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        mask = self._masks.pop(f"{name}.mask", None)
        if name not in self._heads:
            return weights_BHLM
        changed_BHLM = weights_BHLM.clone()
        for head in self._heads[name]:
            changed_BHLM[:, head] = self._replacement(f"{name}.{head + 1}", weights_BHLM[:, head], mask)
        return changed_BHLM

    def _replacement(self, head: str, weights_BLM: "Tensor", mask: "Tensor | None") -> "Tensor":
        """Return the new attention weights of one head."""
        if self.mode == "zeroed":
            return weights_BLM.new_zeros(())
        # A causal mask has two axes; a padding mask also has axes for the batch and the heads.
        visible = 1.0 if mask is None else (mask if mask.dim() == 2 else mask[:, 0]).to(weights_BLM.dtype)
        allowed_BLM = weights_BLM.new_ones(weights_BLM.shape) * visible
        return allowed_BLM / allowed_BLM.sum(dim=-1, keepdim=True)


class ForcedAttention(HeadIntervention):
    """A lens that makes chosen queries of some heads attend only to chosen keys, with equal weights.

    `spans` holds, for each head, a pair for every sentence of the batch: the range of queries and the range of keys.
    """

    def __init__(self, spans: Mapping[str, Sequence[tuple[range, range]]]) -> None:
        super().__init__(spans, "forced")
        self._spans = spans

    def _replacement(self, head: str, weights_BLM: "Tensor", mask: "Tensor | None") -> "Tensor":
        forced_BLM = weights_BLM.clone()
        for sentence, (rows, columns) in enumerate(self._spans[head]):
            forced_BLM[sentence, rows.start : rows.stop] = 0
            forced_BLM[sentence, rows.start : rows.stop, columns.start : columns.stop] = 1 / len(columns)
        return forced_BLM


class IntervenedModel:
    """A model with an intervention on its heads; the search and the translator use it like any other model."""

    training = False

    def __init__(self, model: "Transformer", intervention: HeadIntervention) -> None:
        self._model = model
        self._encoder_lens = intervention if intervention.affects("encoder") else None
        self._decoder_lens = intervention if intervention.affects("decoder") else None
        self.vocab_size = model.vocab_size

    def encode(self, source_BS: "Tensor") -> Any:
        return self._model.encode(source_BS, self._encoder_lens)

    def start(self, encoded: Any) -> Any:
        return self._model.start(encoded)

    def decode(self, tokens_NT: "Tensor", state: Any) -> "tuple[Tensor, Any]":
        return self._model.decode(tokens_NT, state, self._decoder_lens)

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
    """Return a model and a recorder; if the model runs with this recorder, it lacks the component or head `without`.

    The given model is unchanged.
    """
    match without:
        case None:
            return model, Recorder()
        case "positions":
            return without_positions(model), Recorder()
        case "scaling":
            return model, _UnscaledRecorder()
    if "." in without:
        return model, _HeadlessRecorder(check_head(without, model.settings))
    raise LookError(
        f"cannot look at a sentence without {without!r}; choose {', '.join(COMPONENTS)} or a head such as "
        "encoder.1.self.1"
    )


def without_head(model: "Transformer", without: str | None) -> IntervenedModel | None:
    """Return the model with one head ablated, or None if `without` is not the address of a head."""
    if without is None or "." not in without:
        return None
    return IntervenedModel(model, HeadIntervention([check_head(without, model.settings)]))


def without_positions(model: "Transformer") -> "Transformer":
    """Return a copy of the model whose positional encoding is zero; all other parameters are shared, not copied."""
    import torch

    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    positionless = copy.deepcopy(model, shared)
    zeros = torch.zeros_like(model.positions.weight)
    positionless.positions.weight = torch.nn.Parameter(zeros) if model.settings.positions == "learned" else zeros
    return positionless


class _HeadlessRecorder(Recorder):
    """A recorder that ablates one head."""

    def __init__(self, head: str) -> None:
        super().__init__()
        self._intervention = HeadIntervention([head])

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        return super().weights(name, self._intervention.weights(name, weights_BHLM))


class _UnscaledRecorder(Recorder):
    """A recorder that replaces attention weights by the softmax of the unscaled scores."""

    def weights(self, name: str, weights_BHLM: "Tensor") -> "Tensor":
        scores_BHLM = self.tensors[f"{name}.score"]
        mask = self.tensors.get(f"{name}.mask")
        if mask is not None:
            scores_BHLM = scores_BHLM.masked_fill(~mask, float("-inf"))
        return super().weights(name, scores_BHLM.softmax(dim=-1))
