"""Steps of learning on texts of one length, as `regard train` takes them: python -m growth.steps LENGTH TOKENS STEPS.

Every batch has about as many pieces, whatever their length. Some rows are shorter, because masks of padding must not
cost more than the rows they hide.
"""

import dataclasses
import sys
from itertools import repeat

import numpy as np
import torch
from growth.child import tell

from regard.data.batching.batches import Batch, StreamPosition
from regard.machine.malloc import retain_freed_memory
from regard.models.kinds.transformer import Transformer
from regard.settings.sections import assemble
from regard.settings.sizes import SIZES
from regard.tokenizers.special_ids import EOS, FIRST_SUBWORD, PAD
from regard.training.optimizers.adam import make_optimizer
from regard.training.step import training_steps

SIZE, ROWS = "tiny", 8_000
_WARM = 1  # steps that do not count


def main(length: int, tokens: int, steps: int) -> None:
    settings = assemble(SIZES[SIZE])
    shape = dataclasses.replace(settings.model, vocab_size=ROWS, max_positions=length)
    train = dataclasses.replace(settings.train, steps=_WARM + steps, batch_tokens=tokens, micro_tokens=tokens)
    torch.manual_seed(1)
    model = Transformer(shape, train.dropout)
    stream = repeat((batch(length, tokens // length), StreamPosition()))
    with retain_freed_memory():
        taken = list(training_steps(model, make_optimizer(model, train), stream, train, width=shape.width))[_WARM:]
    attentions = shape.encoder_layers + 2 * shape.decoder_layers
    tell(
        seconds=[round(step.seconds, 4) for step in taken],
        tokens=taken[0].target_tokens,
        # What all weights of attention would take, kept for the way back.
        weights=4 * attentions * shape.heads * (tokens // length) * length**2,
        threads=torch.get_num_threads(),
    )


def batch(length: int, rows: int) -> Batch:
    """Random pieces; the first row is whole, the last an eighth shorter, others in between."""
    random = np.random.default_rng(1)
    shorter = np.sort(random.integers(0, length // 8 + 1, rows))
    shorter[0], shorter[-1] = 0, length // 8 if rows > 1 else 0
    ends = (length - shorter)[:, None]
    places = np.arange(length)
    ids = random.integers(FIRST_SUBWORD, ROWS, (2, rows, length))
    source, target = np.where(places < ends - 1, ids, np.where(places == ends - 1, EOS, PAD))
    return Batch(source, target, int(ends.sum()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
