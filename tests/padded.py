"""Inputs and batches from arrays of token ids that are padded with PAD."""

from typing import Any

import numpy as np
from torch import Tensor

from regard.data.batching.batches import Batch
from regard.data.prepare.ragged import Padded
from regard.models.inputs import Inputs
from regard.tokenizers.special_ids import PAD


def inputs(ids_BS: Tensor) -> Inputs:
    """Return padded token ids as the input of a model."""
    return Inputs.from_lengths(ids_BS, (ids_BS != PAD).sum(dim=1))


def padded(ids_BS: Any) -> Padded:
    return Padded(np.asarray(ids_BS), (np.asarray(ids_BS) != PAD).sum(axis=1))


def batch(source_BS: Any, target_BT: Any, weight_BT: Any = None) -> Batch:
    """Return a batch of padded token ids."""
    return Batch(padded(source_BS), padded(target_BT), weight_BT)
