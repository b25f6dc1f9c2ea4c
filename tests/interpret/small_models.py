"""Small model folders with random parameters."""

import random
from pathlib import Path
from typing import Any

import torch

from regard.model_folder.writer import save_folder
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.vocabulary import train_tokenizer

WORDS = "the a red old cat dog house tree sees paints finds and under with two three it was tired".split()  # noqa: SIM905
SHAPES: dict[str, dict[str, Any]] = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre"},
    "learned": {"norm": "pre", "positions": "learned"},
    "deep encoder": {"norm": "post", "encoder_layers": 3, "decoder_layers": 1},
    "deep decoder": {"norm": "pre", "encoder_layers": 1, "decoder_layers": 3, "heads": 4},
}


def sentences(count: int) -> list[str]:
    generator = random.Random(1)
    return [" ".join(generator.choices(WORDS, k=generator.randint(2, 12))) + "." for _ in range(count)]


def write_model(folder: Path, shape: dict[str, Any]) -> Path:
    """Write a model whose attention is not uniform and whose translations are neither empty nor endless."""
    tokenizer = SentencePieceTokenizer(train_tokenizer(iter(sentences(200)), kind="unigram", vocab_size=330))
    defaults = {
        "width": 16,
        "heads": 2,
        "feedforward": 24,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "max_positions": 128,
    }
    settings = TransformerSettings(**{**defaults, **shape}).with_vocab_size(tokenizer.embedding_rows)
    torch.manual_seed(3)
    model = Transformer(settings)
    with torch.no_grad():
        model.embedding.weight.mul_(1.5)
        for name, parameter in model.named_parameters():
            if ".query.weight" in name or ".key.weight" in name:
                parameter.mul_(2)  # no head should attend uniformly
        last_norm: Any = (
            model.decoder["norm"] if "norm" in model.decoder else model.decoder.layers()[-1][1].feedforward_norm
        )
        last_norm.bias.add_(1.2 * model.embedding.weight[EOS])
    weights = model.state_dict()
    save_folder(folder, settings=settings, weights=weights, tokenizer=tokenizer, languages=("en", "xx"), card="")
    return folder
