"""Training objectives: which tokens a model predicts in a batch, and the hidden vectors from which it predicts them.

The kind of model names its objective, and the training loop, the loss, the validation and the memory estimate are the
same for all objectives.

Dimensions: B sentence pairs, T target length, N predicted tokens, D model width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data.batching.batches import Batch
from regard.data.prepare.ragged import Padded
from regard.models.inputs import Inputs
from regard.models.interface import SequenceModel, as_autoregressive
from regard.settings.kinds import get_kind
from regard.settings.model import ModelSettings
from regard.tokenizers.special_ids import BOS


class Predictions(NamedTuple):
    """What a model predicts in a batch, without padding."""

    hidden_ND: Tensor  # the hidden vectors, which the model projects to logits
    target_N: Tensor  # the correct token of each
    weight_N: Tensor | None  # the loss weight of each; None means that all weights are 1


@dataclass(frozen=True)
class Objective:
    """What a model learns to predict. Its random choices, such as the tokens to mask, depend on the batch and a seed.

    `count` and `predict` make the same choices with the same seed. `count` is called first, for all micro-batches of a
    step, because the gradient of each is divided by the number of predictions in the whole step.
    """

    count: Callable[[Batch, int], int]  # returns the number of predictions in a batch, which is at least 1
    predict: Callable[[SequenceModel, Batch, int], Predictions]
    translates: bool  # whether the model translates, so that BLEU and chrF are computed in each validation


def objective_of(settings: ModelSettings) -> Objective:
    """Return the objective of models of this kind."""
    objective: Objective = resolve_name(get_kind(settings.kind).objective)
    return objective


def _count_target_tokens(batch: Batch, seed: int) -> int:
    return batch.target_tokens


def _predict_target_tokens(model: SequenceModel, batch: Batch, seed: int) -> Predictions:
    """Predict each target token from the source and the target tokens before it (teacher forcing)."""
    model = as_autoregressive(model)
    source, target = inputs_on(batch.source, model.device), inputs_on(batch.target, model.device)
    shifted_BT = target.values.roll(1, dims=1)
    shifted_BT[:, 0] = BOS
    hidden_BTD, _ = model.decode(shifted_BT, model.start(model.encode(source)))
    weight_N = None
    if batch.weight_BT is not None:
        weight_N = target.real(torch.from_numpy(batch.weight_BT).to(model.device))
    return Predictions(target.real(hidden_BTD), target.real(target.values), weight_N)


translation = Objective(_count_target_tokens, _predict_target_tokens, translates=True)


def inputs_on(padded: Padded, device: torch.device) -> Inputs:
    """Return the padded sequences of a batch as the input of a model on a device. Vectors become float32."""
    values = torch.from_numpy(padded.values).to(device)
    return Inputs.from_lengths(values.float() if values.is_floating_point() else values, padded.lengths)
