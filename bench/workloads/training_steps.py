"""Training steps on texts of one length, as `regard train` runs them.

Every batch has about the same number of tokens, whatever the length of its texts. Some rows are shorter, so that the
cost of padding masks is included.

    python -m workloads.training_steps LENGTH TOKENS STEPS
"""

import dataclasses
import sys
from itertools import repeat

import numpy as np
import torch
from common.child_process import report

from regard.data.batching.batches import Batch, StreamPosition
from regard.data.prepare.ragged import Padded
from regard.machine.process import tune_for_training
from regard.models.build import build_model
from regard.settings.kinds.transformer import SIZES
from regard.settings.sections import assemble
from regard.tokenizers.special_ids import EOS, FIRST_SUBWORD, PAD
from regard.training.optimizers.adam import make_optimizer
from regard.training.step import training_steps

SIZE, ROWS = "tiny", 8_000
_WARM_UP = 1  # steps that are not measured


def main(length: int, tokens: int, steps: int) -> None:
    tune_for_training()
    settings = assemble(SIZES[SIZE])
    shape = dataclasses.replace(settings.model.with_vocab_size(ROWS), max_positions=length)
    train = dataclasses.replace(settings.train, steps=_WARM_UP + steps, batch_tokens=tokens, micro_batch_tokens=tokens)
    model = build_model(shape, train.dropout, seed=1)
    stream = repeat((batch(length, tokens // length), StreamPosition()))
    taken = list(training_steps(model, make_optimizer(model, train), stream, train))[_WARM_UP:]
    attentions = shape.encoder_layers + 2 * shape.decoder_layers
    report(
        seconds=[round(step.seconds, 4) for step in taken],
        tokens=taken[0].target_tokens,
        # The bytes of all attention weights, if they were kept for the backward pass.
        weights=4 * attentions * shape.heads * (tokens // length) * length**2,
        threads=torch.get_num_threads(),
    )


def batch(length: int, rows: int) -> Batch:
    """Return a batch of random tokens; the first row is full, the last is one eighth shorter."""
    random = np.random.default_rng(1)
    shorter = np.sort(random.integers(0, length // 8 + 1, rows))
    shorter[0], shorter[-1] = 0, length // 8 if rows > 1 else 0
    lengths = length - shorter
    ends = lengths[:, None]
    positions = np.arange(length)
    ids = random.integers(FIRST_SUBWORD, ROWS, (2, rows, length))
    source, target = np.where(positions < ends - 1, ids, np.where(positions == ends - 1, EOS, PAD))
    return Batch(Padded(source, lengths), Padded(target, lengths))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
