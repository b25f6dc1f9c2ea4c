"""Make the start of the next bundled model from a bundled one: the same translations, with more parameters.

    python recipes/grow.py MODEL OUT --encoder-layers 8 --placeholders 8

After every layer of the encoder comes a new one, whose two sublayers add zero at first, because their output matrices
are zero. The vocabulary gets tokens for placeholders (docs/data.md), with small random embeddings. `regard train --from
OUT` trains all of it.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from regard.model_folder.bundled import resolve
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.models.build import build_model
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer, placeholder_entries

ADDED_TO_RESIDUAL = ("self.output", "feedforward.outer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoder-layers", type=int, required=True)
    parser.add_argument("--placeholders", type=int, required=True)
    arguments = parser.parse_args()
    grow(arguments.model, arguments.out, arguments.encoder_layers, arguments.placeholders)


def grow(model: str, out: Path, encoder_layers: int, placeholders: int) -> None:
    folder = open_folder(resolve(Path(model)))
    settings, old = folder.settings, folder.build().state_dict()
    assert isinstance(settings, TransformerSettings) and settings.norm == "pre", "the new layers must add to a residual"
    assert encoder_layers % settings.encoder_layers == 0, "each layer must be followed by the same number of new ones"
    tokenizer = SentencePieceTokenizer(folder.tokenizer.data + placeholder_entries(placeholders))
    grown = replace(settings.with_vocab_size(tokenizer.embedding_rows), encoder_layers=encoder_layers)
    new = build_model(grown).state_dict()
    with torch.no_grad():
        start_from(old, new, encoder_layers // settings.encoder_layers)
    profiles = folder.language_profiles
    card = f"# `{model}` with {encoder_layers} encoder layers and {placeholders} placeholders\n"
    save_folder(
        out,
        settings=grown,
        weights=new,
        tokenizer=tokenizer,
        languages=folder.languages,
        card=card,
        decode=folder.decode,
        language_profiles=profiles,
    )


def start_from(old: dict[str, Tensor], new: dict[str, Tensor], spread: int) -> None:
    """Copy the old parameters; an old encoder layer n becomes layer (n - 1) * spread + 1, and the others add zero."""
    for name, tensor in new.items():
        if name.startswith("encoder.") and any(f".{output}." in name for output in ADDED_TO_RESIDUAL):
            tensor.zero_()
    for name, tensor in old.items():
        stack, layer, rest = [*name.split(".", 2), ""][:3]
        if stack == "encoder" and layer.isdecimal():
            name = f"encoder.{(int(layer) - 1) * spread + 1}.{rest}"
        new[name][: len(tensor)].copy_(tensor)


if __name__ == "__main__":
    main()
