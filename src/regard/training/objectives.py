"""Training objectives: which tokens a model predicts in a batch, and the hidden vectors from which it predicts them.

An objective is a function of a model and a batch. The kind of model names its objective, and the training loop, the
loss and the memory estimate are the same for all of them.

Dimensions: B sentence pairs, T target length, N predicted tokens, D model width.
"""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data.batching.batches import Batch
from regard.data.prepare.ragged import Padded
from regard.models.inputs import Inputs
from regard.models.interface import SequenceModel, as_autoregressive
from regard.settings.kinds import get_kind
from regard.tokenizers.special_ids import BOS


class Predictions(NamedTuple):
    """What a model predicts in a batch, without padding."""

    hidden_ND: Tensor  # the hidden vectors, which the model projects to logits
    target_N: Tensor  # the correct token of each
    weight_N: Tensor | None  # the loss weight of each; None means that all weights are 1


Objective = Callable[[SequenceModel, Batch], Predictions]


def objective_of(model: SequenceModel) -> Objective:
    """Return the objective of the kind of a model."""
    objective: Objective = resolve_name(get_kind(model.settings.kind).objective)
    return objective


def translation(model: SequenceModel, batch: Batch) -> Predictions:
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


def inputs_on(padded: Padded, device: torch.device) -> Inputs:
    """Return the padded sequences of a batch as the input of a model on a device."""
    return Inputs.from_lengths(torch.from_numpy(padded.values).to(device), padded.lengths)
