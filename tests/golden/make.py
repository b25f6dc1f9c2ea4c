"""Make the golden folder of the current format: a model of a few kilobytes that has memorised eight sentences.

    python tests/golden/make.py tests/golden/format-2

The folder of a released format is never made again: it proves that later versions still read that format.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import regard

PAIRS = [
    ("the cat sleeps", "le chat dort"),
    ("the dog sleeps", "le chien dort"),
    ("the cat eats", "le chat mange"),
    ("the dog eats", "le chien mange"),
    ("a cat sleeps", "un chat dort"),
    ("a dog sleeps", "un chien dort"),
    ("a cat eats", "un chat mange"),
    ("a dog eats", "un chien mange"),
]
SETTINGS = (
    "model.width=8",
    "model.heads=2",
    "model.feedforward=16",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.max_positions=32",
    "tokenizer.vocab_size=300",
    "train.batch_tokens=128",
    "train.learning_rate=0.02",
    "train.dropout=0",
    "train.label_smoothing=0",
    "train.validate_every=700",
)


def main(out: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "pairs.tsv"
        corpus.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), "utf-8")
        run = regard.iter_train(
            [corpus], valid=[corpus], out=out, size="tiny", steps=700, languages=("en", "fr"), overrides=SETTINGS
        )
        for _ in run:
            pass
    # The training run is not needed, and the CTranslate2 files are for one version of CTranslate2.
    for name in ("run", "ctranslate2"):
        shutil.rmtree(out / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
