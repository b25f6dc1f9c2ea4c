"""Interventions on a model: ablate heads, force attention, or remove positional encoding or the scaling of scores.

An intervention on heads is a lens, an observer of the forward pass: it replaces the attention weights of chosen heads
and changes nothing else. The parameters on disk never change.
"""

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from regard.errors import LookError
from regard.interpret.address import check_head, locate_head
from regard.interpret.trace import Intervention, Recorder
from regard.settings.anatomy import Anatomy, Side

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.interface import AutoregressiveModel

ABLATION_MODES = ("zeroed", "uniform")

UNIFORM = "uniform"  # what replaces the attention weights of a head, if not a pair of tokens

_MODES_IN_WORDS = {"zeroed": "set to zero", "uniform": "set to equal values", "forced": "set to chosen keys"}
_UNSCALED = "the scores are not divided by the square root of the head width"
_WITHOUT_POSITIONS = "the positional encoding is zero"


class HeadIntervention:
    """A lens that sets the attention weights of some heads to zero (`zeroed`) or to equal values (`uniform`)."""

    def __init__(self, heads: Iterable[str], mode: str = "zeroed") -> None:
        self.heads = tuple(heads)
        self.mode = mode
        self._seen_masks: dict[str, Tensor] = {}
        self._masks: dict[str, Tensor | None] = {}  # of the current forward pass
        self._heads: dict[str, list[int]] = {}
        for address in self.heads:
            attention, head = locate_head(address)
            self._heads.setdefault(attention, []).append(head)

    def affects(self, side: Side, anatomy: Anatomy) -> bool:
        """Return whether this lens changes any head whose queries are on a side: "source" or "target".

        Heads of the source side work in `encode`, and heads of the target side in `decode`.
        """
        return any(attention.queries == side for attention in anatomy.attentions if attention.address in self._heads)

    def see(self, name: str, tensor: "Tensor") -> None:
        if name.endswith(".mask"):
            self._seen_masks[name] = tensor

    def weights(self, name: str, weights_BHLM: "Tensor", first_row: int = 0) -> "Tensor":
        if not first_row:  # the mask of an earlier forward pass is not that of this one, which may have none
            self._masks[name] = self._seen_masks.pop(f"{name}.mask", None)
        if name not in self._heads:
            return weights_BHLM
        mask = self._masks[name]
        changed_BHLM = weights_BHLM.clone()
        for head in self._heads[name]:
            changed_BHLM[:, head] = self._replacement(f"{name}.{head + 1}", weights_BHLM[:, head], mask, first_row)
        return changed_BHLM

    def _replacement(self, head: str, weights_BLM: "Tensor", mask: "Tensor | None", first_row: int) -> "Tensor":
        """Return the new attention weights of one head, for its queries from `first_row` on."""
        if self.mode == "zeroed":
            return weights_BLM.new_zeros(())
        # A causal mask has two axes; a padding mask also has axes for the batch and the heads.
        visible = 1.0 if mask is None else (mask if mask.dim() == 2 else mask[:, 0]).to(weights_BLM.dtype)
        allowed_BLM = weights_BLM.new_ones(weights_BLM.shape) * visible
        return allowed_BLM / allowed_BLM.sum(dim=-1, keepdim=True)


class ReplacedOutputs(HeadIntervention):
    """A lens that replaces the outputs of heads, for example by their mean over many sentences.

    `outputs` has a tensor for each head that can be broadcast to the outputs of a batch (B, L, E).
    """

    def __init__(self, outputs: "Mapping[str, Tensor]") -> None:
        super().__init__(outputs, "replaced")
        self._outputs = outputs

    def _replacement(self, head: str, weights_BLM: "Tensor", mask: "Tensor | None", first_row: int) -> "Tensor":
        return weights_BLM

    def outputs(self, name: str, outputs_BHLE: "Tensor", first_row: int = 0) -> "Tensor":
        if name not in self._heads:
            return outputs_BHLE
        changed_BHLE = outputs_BHLE.clone()
        for head in self._heads[name]:
            new = self._outputs[f"{name}.{head + 1}"]
            rows = slice(first_row, first_row + outputs_BHLE.size(2))
            changed_BHLE[:, head] = new[:, rows] if new.dim() == 3 and new.size(1) > 1 else new
        return changed_BHLE


class ForcedAttention(HeadIntervention):
    """A lens that makes chosen queries of some heads attend only to chosen keys, with equal weights.

    `spans` holds, for each head, a pair for every sentence of the batch: the range of queries and the range of keys. A
    single pair is for all sentences. Without keys, the queries attend to nothing.
    """

    def __init__(self, spans: Mapping[str, Sequence[tuple[range, range]]]) -> None:
        super().__init__(spans, "forced")
        self._spans = spans

    def _replacement(self, head: str, weights_BLM: "Tensor", mask: "Tensor | None", first_row: int) -> "Tensor":
        forced_BLM = weights_BLM.clone()
        pairs = self._spans[head]
        for sentence, (rows, columns) in enumerate(pairs):
            sentences = slice(None) if len(pairs) == 1 else slice(sentence, sentence + 1)
            chosen = slice(max(0, rows.start - first_row), max(0, rows.stop - first_row))
            forced_BLM[sentences, chosen] = 0
            forced_BLM[sentences, chosen, columns.start : columns.stop] = 1 / max(1, len(columns))
        return forced_BLM


def intervene(
    model: "AutoregressiveModel", without: str | None, instead: str | None = None
) -> "tuple[AutoregressiveModel, Recorder]":
    """Return a model and a recorder; if the model runs with this recorder, it lacks the component or head `without`.

    `instead` replaces the attention weights of the head, as `head_intervention` says. The given model is unchanged.
    """
    anatomy = model.anatomy()
    if intervention := head_intervention(anatomy, without, instead):
        return model, InterventionRecorder(intervention, str(without))
    if without is None:
        return model, Recorder()
    if without not in anatomy.removable:
        choices = ", ".join(anatomy.removable) or "nothing"
        head = f" or a head such as {anatomy.heads[0]}" if anatomy.heads else ""
        raise LookError(f"cannot look at a sentence without {without!r}; choose {choices}{head}")
    if without == "positions":
        return without_positions(model), Recorder(Intervention(without, _WITHOUT_POSITIONS))
    return model, _UnscaledRecorder()


def head_intervention(
    anatomy: Anatomy, without: str | None, instead: str | None, source_length: int | None = None
) -> HeadIntervention | None:
    """Return the intervention on the head `without`, or None if this is not the address of a head.

    Without `instead`, the attention weights of the head become zero; with "uniform", equal; and with a pair of tokens
    such as "8:2" or "8-9:2", counted from 1, the first attends only to the second. A target token that is not written
    has no effect. If the number of source tokens is given, a source token beyond it is an error.
    """
    if without is None or "." not in without:
        if instead is not None:
            raise LookError(f"{instead!r} replaces the attention weights of a head; say which head")
        return None
    check_head(without, anatomy)
    if instead is None or instead == UNIFORM:
        return HeadIntervention([without], instead or "zeroed")
    found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?:(\d{1,6})(?:-(\d{1,6}))?", instead)
    if not found:
        raise LookError(f"{instead!r} is neither {UNIFORM!r} nor a pair of tokens such as '8:2' or '8-9:2'")
    row, last_row, column, last_column = found.groups()
    rows, columns = range(int(row) - 1, int(last_row or row)), range(int(column) - 1, int(last_column or column))
    attention = next(each for each in anatomy.attentions if without in each.head_addresses)
    if min(rows.start, columns.start) < 0 or not rows or not columns:
        raise LookError(f"{instead!r} has no token; tokens are counted from 1, and the first is given before the last")
    for tokens, side in ((rows, attention.queries), (columns, attention.keys)):
        if side == "source" and source_length is not None and tokens.stop > source_length:
            raise LookError(f"{instead!r} has token {tokens.stop} of the text, which has {source_length} tokens")
    if attention.causal and columns.stop > rows.start + 1:
        raise LookError(f"{instead!r} makes a token attend to a later one, which {without} cannot see")
    return ForcedAttention({without: [(rows, columns)]})


def without_positions(model: "AutoregressiveModel") -> "AutoregressiveModel":
    """Return a copy of the model whose positional encoding is zero; all other parameters are shared, not copied."""
    import torch

    assert model.positions is not None
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    positionless = copy.deepcopy(model, shared)
    assert positionless.positions is not None
    zeros = torch.zeros_like(model.positions.weight)
    is_learned = isinstance(model.positions.weight, torch.nn.Parameter)
    positionless.positions.weight = torch.nn.Parameter(zeros) if is_learned else zeros
    return positionless


class InterventionRecorder(Recorder):
    """A recorder that applies an intervention on heads."""

    def __init__(self, heads: HeadIntervention, name: str) -> None:
        replaced = f"the attention weights of {', '.join(heads.heads)} are {_MODES_IN_WORDS[heads.mode]}"
        super().__init__(Intervention(name, replaced, heads=heads.heads))
        self._heads = heads

    def see(self, name: str, tensor: "Tensor") -> None:
        self._heads.see(name, tensor)
        super().see(name, tensor)

    def replace(self, name: str, weights_BHLM: "Tensor", first_row: int) -> "Tensor":
        return self._heads.weights(name, weights_BHLM, first_row)


class _UnscaledRecorder(Recorder):
    """A recorder that passes the unscaled scores to the softmax."""

    def __init__(self) -> None:
        super().__init__(Intervention("scaling", _UNSCALED, scores_are_scaled=False))

    def weights(self, name: str, weights_BHLM: "Tensor", first_row: int = 0) -> "Tensor":
        scores_BHLM = self.tensors[f"{name}.scaled"] = self.tensors[f"{name}.score"]
        mask = self.tensors.get(f"{name}.mask")
        if mask is not None:
            scores_BHLM = scores_BHLM.masked_fill(~mask, float("-inf"))
        return super().weights(name, scores_BHLM.softmax(dim=-1), first_row)
