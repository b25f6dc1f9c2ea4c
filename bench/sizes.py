"""What shapes cost on this machine: parameters, training speed, and translating speed on the engine's road.

The weights are random, so this says nothing about quality; it is how the shape of `small` was narrowed down.

    python bench/sizes.py
"""

import dataclasses
import datetime
import os
import platform
import tempfile
import time
from itertools import islice
from pathlib import Path

import torch

import regard
from regard.data.batches import Batch
from regard.data.language import pairs
from regard.data.tokenizer import END, Tokenizer, train_tokenizer
from regard.decoding.convert import make_fast
from regard.folder import save_folder
from regard.model.transformer import Transformer
from regard.settings import SIZES, DecodeSettings, ModelSettings, TrainSettings, assemble
from regard.training.loop import gradient

SMALL = assemble(SIZES["small"]).model
SHAPES: dict[str, ModelSettings] = {
    "tiny": assemble(SIZES["tiny"]).model,
    "small (6+3, 256, 1024)": SMALL,
    "4+4, 256, 1024": dataclasses.replace(SMALL, encoder_layers=4, decoder_layers=4),
    "6+6, 256, 1024": dataclasses.replace(SMALL, encoder_layers=6, decoder_layers=6),
    "6+3, 384, 1536": dataclasses.replace(SMALL, width=384, feedforward=1536, heads=6),
    "base": ModelSettings(),
}
LENGTH = 16
ROWS = 8_000
SECONDS = 6.0


def main() -> None:
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}")
    print("| shape | parameters | target pieces a second, training | sentences a second, beam 4 |")
    print("|---|---|---|---|")
    for name, shape in SHAPES.items():
        model = Transformer(dataclasses.replace(shape, vocabulary=ROWS), dropout=0.1)
        count = sum(parameter.numel() for parameter in model.parameters())
        print(f"| {name} | {count / 1e6:.1f}M | {training(model):,.0f} | {translating(shape):,.0f} |", flush=True)


def training(model: Transformer) -> float:
    """Target pieces learnt from in a second, without the optimizer."""
    ids = torch.randint(END + 1, ROWS, (2048 // LENGTH, LENGTH)).numpy()
    batch, settings = Batch(ids, ids, ids.size), TrainSettings()
    model.train()
    gradient([model], [batch], settings, 0)
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        gradient([model], [batch], settings, 0)
        done += ids.size
    return done / (time.perf_counter() - began)


def translating(shape: ModelSettings) -> float:
    """Sentences written in a second by the engine. All write as much as they may, so that shapes compare."""
    texts = [pair.source for pair in islice(pairs(seed=1), 100)]
    tokenizer = Tokenizer(train_tokenizer(iter(texts), kind="unigram", pieces=400))
    model = Transformer(dataclasses.replace(shape, vocabulary=tokenizer.rows))
    with torch.no_grad():
        model.embedding.weight[END] = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        weights = model.state_dict()
        save_folder(
            folder, settings=model.settings, weights=weights, tokenizer=tokenizer, languages=(None, None), card=""
        )
        make_fast(folder)
        translator = regard.load(folder)
        decode = DecodeSettings(extra=5)
        translator.translate_all(texts[:8], decode)
        began = time.perf_counter()
        translator.translate_all(texts, decode)
        return len(texts) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
