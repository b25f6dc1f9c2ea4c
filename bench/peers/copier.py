"""A model of any size whose texts are as long as real ones, without training: its weights are set to copy the source.

How long a program takes to multiply does not depend on what is multiplied, but how long it goes on does: a model with
random weights, or one that has learnt for minutes, repeats itself up to the limit of length. This one writes the source
again and ends where that ends, so every output can be checked, and lengths are those of the text.

How: tokens and positions get dimensions of their own. In the first decoder layer every query of the cross attention is
its position, every key that of its source piece, so that target piece t takes the embedding of source piece t, which
then outweighs what was there. All other parts keep their random weights, scaled down to a whisper.
"""

import dataclasses
import sys
from itertools import chain
from pathlib import Path

import torch

from regard.data.formats.pairs import Lines
from regard.model_folder.writer import save_folder
from regard.models.kinds.transformer import Transformer
from regard.settings.sections import assemble
from regard.settings.sizes import SIZES
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer

MARGIN = 6.0  # by which the right source piece scores above its neighbours
LOUD, SHARP, WHISPER = 4.0, 3.0, 0.01


def make(size: str, source: Path, target: Path, out: Path, norm: str = "", pieces: int = 8_000) -> None:
    """Write the model folder; the pieces are those of the two texts. The norms are before or after each part, or where
    that size has them."""
    settings = assemble(SIZES[size], {"model": {"norm": norm}} if norm else {})
    data = train_tokenizer(chain(Lines(source), Lines(target)), kind=settings.tokenizer.kind, vocab_size=pieces)
    tokenizer = SentencePieceTokenizer(data)
    torch.manual_seed(1)
    model = Transformer(dataclasses.replace(settings.model, vocab_size=tokenizer.embedding_rows))
    with torch.no_grad():
        _set_weights(model)
    card = f"A copier of size {size}: weights set by hand for measuring speed. It translates nothing.\n"
    save_folder(
        out,
        settings=model.settings,
        weights=model.state_dict(),
        tokenizer=tokenizer,
        languages=(None, None),
        card=card,
    )


def _set_weights(model: Transformer) -> None:
    width, heads = model.settings.width, model.settings.heads
    half, reference, each = width // 2, width - 2, width // heads
    for name, parameter in model.named_parameters():
        if name.endswith(("output.weight", "outer.weight")):
            parameter *= WHISPER
    # The first half of the dimensions is left to the quick sinusoids. The last sine is so slow that it stays near zero:
    # after a layer norm it shows what was subtracted from all others, and is taken off them again.
    embedding = model.embedding.weight
    embedding[:, :half] = 0
    embedding[:, reference] = 0
    # All of one length, also together with the slow cosines, which are near one: else some keys would be louder.
    embedding[:, half + 1 :: 2] -= embedding[:, half + 1 :: 2].mean(dim=1, keepdim=True)
    embedding *= 0.5**0.5 / embedding.norm(dim=1, keepdim=True)
    identity = torch.eye(width)
    identity[:, reference] = -1
    layers = [layer for _, layer in model.decoder.layers()]
    cross = layers[0].cross
    speeds = 10_000 ** -(torch.arange(0, each, 2) / width)
    focus = (MARGIN * each**0.5 / (1 - speeds.cos()).sum()) ** 0.5
    cross.query.weight.copy_(identity[:each].repeat(heads, 1) * focus)
    cross.key.weight.copy_(cross.query.weight)
    cross.value.weight.copy_(identity)
    cross.output.weight.copy_(torch.eye(width) * LOUD)
    cross.output.weight[:half] = 0
    last = model.decoder["norm"] if "norm" in model.decoder else layers[-1].feedforward_norm
    last.weight *= SHARP


if __name__ == "__main__":
    make(sys.argv[1], *map(Path, sys.argv[2:5]), *sys.argv[5:])
