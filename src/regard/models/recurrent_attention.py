"""The attention of a recurrent decoder to the source, with one head and three ways to score (Luong et al. 2015).

In the order of Luong et al., a decoder state first attends to the encoder outputs, and a projection then joins the
state with the context, which is the weighted sum of the encoder outputs. Bahdanau et al. (2015) attend with the state
before the step instead; the additive scoring is theirs.

Shapes: B sentences, L queries (of all beams of a sentence), M source positions, D width.
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from regard.models.lens import Lens, record, replace_outputs


@dataclass(frozen=True)
class AttendedSource:
    """What a decoder attends to: the keys and values of the source, and the mask of real positions (B, 1, M)."""

    keys_BMD: Tensor
    values_BMD: Tensor
    mask: Tensor | None

    def keep(self, sentences: Tensor) -> Self:
        """Return the keys and values of these sentences only."""
        mask = self.mask[sentences] if self.mask is not None else None
        return replace(self, keys_BMD=self.keys_BMD[sentences], values_BMD=self.values_BMD[sentences], mask=mask)


class RecurrentAttention(nn.Module):
    """Attention with one head, scored by `dot`, `general` or `additive`."""

    def __init__(self, scoring: str, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False) if scoring == "additive" else None
        self.key = nn.Linear(width, width, bias=scoring == "additive") if scoring != "dot" else None
        self.score = nn.Linear(width, 1, bias=False) if scoring == "additive" else None
        self.output = nn.Linear(2 * width, width)

    def start(self, encoded_BMD: Tensor, mask_BM: Tensor | None) -> AttendedSource:
        """Return what the decoder attends to. The keys are computed once for all steps."""
        keys_BMD = encoded_BMD if self.key is None else self.key(encoded_BMD)
        return AttendedSource(keys_BMD, encoded_BMD, None if mask_BM is None else mask_BM[:, None, :])

    def forward(self, state_BLD: Tensor, source: AttendedSource, name: str, lens: Lens | None) -> Tensor:
        """Return the attention output: tanh of a projection of the context and the decoder state."""
        query_BLD = state_BLD if self.query is None else self.query(state_BLD)
        if self.score is None:
            scores_BLM = query_BLD @ source.keys_BMD.mT
        else:
            hidden_BLMD = torch.tanh(query_BLD[:, :, None] + source.keys_BMD[:, None])
            scores_BLM = self.score(hidden_BLMD).squeeze(-1)
        if lens is not None:
            self._record(lens, name, state_BLD, query_BLD, source, scores_BLM)
        if source.mask is not None:
            scores_BLM = scores_BLM.masked_fill(~source.mask, float("-inf"))
        weights_BLM = scores_BLM.softmax(dim=-1)
        if lens is not None:
            weights_BLM = lens.weights(name, weights_BLM[:, None])[:, 0]
        context_BLD = replace_outputs(lens, name, (weights_BLM @ source.values_BMD)[:, None])[:, 0]
        joined_BLD = torch.cat([context_BLD, state_BLD], dim=-1)
        output_BLD = torch.tanh(self.output(joined_BLD))
        record(lens, name, mixed=context_BLD[:, None], joined=joined_BLD, output=output_BLD)
        return output_BLD

    def _record(
        self, lens: Lens, name: str, state_BLD: Tensor, query_BLD: Tensor, source: AttendedSource, scores_BLM: Tensor
    ) -> None:
        """Record what the weights are computed from. Tensors of a head have an axis of heads, as in all attentions."""
        record(lens, name, input=state_BLD, query=query_BLD[:, None], key=source.keys_BMD[:, None])
        record(lens, name, value=source.values_BMD[:, None], score=scores_BLM[:, None], scaled=scores_BLM[:, None])
        if self.score is not None:
            record(lens, name, score_vector=self.score.weight)
        if source.mask is not None:
            record(lens, name, mask=source.mask[:, None])
