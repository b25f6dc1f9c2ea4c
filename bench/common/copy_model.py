"""A model of any size that copies its source, with parameters set by hand, for measuring speed without training.

The time of a matrix product does not depend on the values, but the length of the output does: a model with random
parameters, or one trained for minutes only, repeats itself up to the length limit. This model writes the source and
stops where the source ends, so that outputs can be checked and have realistic lengths.

Token embeddings and positions use separate dimensions. In the first decoder layer, every query of the cross-attention
is its position, and every key is the position of its source token. Target token t therefore attends to source token t,
and its embedding outweighs the rest of the residual stream. All other sublayers keep random parameters, scaled down.

    python -m common.copy_model OUT                                  # `tiny`, on text of the synthetic language
    python -m common.copy_model OUT SIZE SOURCE TARGET [pre|post]    # on two text files
"""

import sys
import tempfile
from itertools import chain
from pathlib import Path

import torch
from common.corpora import synthetic_sentences

from regard.data.formats.lines import Lines
from regard.interchange.ctranslate2.export import ensure_export
from regard.model_folder.writer import save_folder
from regard.models.build import build_model
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import SIZES
from regard.settings.sections import assemble
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import train_tokenizer

MARGIN = 6.0  # of the attention score of the right source token over its neighbours
COPY_SCALE, NORM_SCALE, OTHER_SCALE = 4.0, 3.0, 0.01


def main(out: str, *arguments: str) -> None:
    if arguments:
        size, source, target, *norm = arguments
        write_copy_model(Path(out), size, Path(source), Path(target), *norm)
    else:
        write_synthetic_copy_model(Path(out))


def write_synthetic_copy_model(out: Path) -> None:
    """Write a model folder of size `tiny` for texts of the synthetic language, with its CTranslate2 export."""
    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / side for side in ("text.en", "text.fr")]
        for path, texts in zip(paths, zip(*synthetic_sentences(), strict=True), strict=True):
            path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
        write_copy_model(out, "tiny", *paths)
    ensure_export(out)


def write_copy_model(out: Path, size: str, source: Path, target: Path, norm: str = "", vocab_size: int = 8_000) -> None:
    """Write a model folder with a tokenizer trained on the two texts. `norm` overrides the setting of the size."""
    settings = assemble(SIZES[size], {"model": {"norm": norm}} if norm else {})
    data = train_tokenizer(chain(Lines(source), Lines(target)), kind=settings.tokenizer.kind, vocab_size=vocab_size)
    tokenizer = SentencePieceTokenizer(data)
    model = build_model(settings.model.with_vocab_size(tokenizer.embedding_rows), seed=1)
    with torch.no_grad():
        _set_parameters(model)
    card = f"A model of size {size} that copies its source. Its parameters were set by hand to measure speed.\n"
    save_folder(
        out,
        settings=model.settings,
        weights=model.state_dict(),
        tokenizer=tokenizer,
        languages=(None, None),
        card=card,
    )


def _set_parameters(model: Transformer) -> None:
    width, heads = model.settings.width, model.settings.heads
    half, reference, head_width = width // 2, width - 2, width // heads
    for name, parameter in model.named_parameters():
        if name.endswith(("output.weight", "outer.weight")):
            parameter *= OTHER_SCALE
    # The first half of the dimensions holds the fast sinusoids. The last sine is so slow that it stays near zero: after
    # a layer norm it shows the mean that was subtracted from all dimensions, which can then be added again.
    embedding = model.embedding.weight
    embedding[:, :half] = 0
    embedding[:, reference] = 0
    # All embeddings get the same norm, also together with the slow cosines, which are near one, so that keys are equal.
    embedding[:, half + 1 :: 2] -= embedding[:, half + 1 :: 2].mean(dim=1, keepdim=True)
    embedding *= 0.5**0.5 / embedding.norm(dim=1, keepdim=True)
    identity = torch.eye(width)
    identity[:, reference] = -1
    layers = [layer for _, layer in model.decoder.layers()]
    cross = layers[0].cross
    frequencies = 10_000 ** -(torch.arange(0, head_width, 2) / width)
    scale = (MARGIN * head_width**0.5 / (1 - frequencies.cos()).sum()) ** 0.5
    cross.query.weight.copy_(identity[:head_width].repeat(heads, 1) * scale)
    cross.key.weight.copy_(cross.query.weight)
    cross.value.weight.copy_(identity)
    cross.output.weight.copy_(torch.eye(width) * COPY_SCALE)
    cross.output.weight[:half] = 0
    last_norm = model.decoder["norm"] if "norm" in model.decoder else layers[-1].feedforward_norm
    last_norm.weight *= NORM_SCALE


if __name__ == "__main__":
    main(*sys.argv[1:])
