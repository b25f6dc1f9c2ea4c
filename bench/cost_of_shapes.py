"""Measure the cost of model shapes on this machine: parameters, training speed, and translation speed with CTranslate2.

The parameters are random, so this says nothing about quality. The shape of `small` was chosen with these measurements.

    python bench/cost_of_shapes.py
"""

import dataclasses
import datetime
import os
import platform
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np
import torch

import regard
from regard.data.batching.batches import Batch
from regard.data.prepare.ragged import Padded
from regard.data.synthetic.generator import pairs
from regard.interchange.ctranslate2.export import ensure_export
from regard.model_folder.writer import save_folder
from regard.models.build import build_model
from regard.models.interface import SequenceModel
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import SIZES, TransformerSettings
from regard.settings.sections import assemble
from regard.settings.train import TrainSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.vocabulary import train_tokenizer
from regard.training.step import accumulate_gradients

SMALL = assemble(SIZES["small"]).model
SHAPES: dict[str, TransformerSettings] = {
    "tiny": assemble(SIZES["tiny"]).model,
    "small (6+3, 256, 1024)": SMALL,
    "4+4, 256, 1024": dataclasses.replace(SMALL, encoder_layers=4, decoder_layers=4),
    "6+6, 256, 1024": dataclasses.replace(SMALL, encoder_layers=6, decoder_layers=6),
    "6+3, 384, 1536": dataclasses.replace(SMALL, width=384, feedforward=1536, heads=6),
    "base": TransformerSettings(),
}
LENGTH = 16
ROWS = 8_000
SECONDS = 6.0


def main() -> None:
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}")
    print("| shape | parameters | target tokens per second, training | sentences per second, beam 4 |")
    print("|---|---|---|---|")
    for name, shape in SHAPES.items():
        model = build_model(shape.with_vocab_size(ROWS), dropout=0.1)
        count = sum(parameter.numel() for parameter in model.parameters())
        print(
            f"| {name} | {count / 1e6:.1f}M | {training_speed(model):,.0f} | {translation_speed(shape):,.0f} |",
            flush=True,
        )


def training_speed(model: SequenceModel) -> float:
    """Return the target tokens per second of training, without the optimizer."""
    ids = torch.randint(EOS + 1, ROWS, (2048 // LENGTH, LENGTH)).numpy()
    side = Padded(ids, np.full(len(ids), LENGTH))
    batch, settings = Batch(side, side), TrainSettings()
    model.train()
    accumulate_gradients([model], [batch], settings, 0)
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        accumulate_gradients([model], [batch], settings, 0)
        done += ids.size
    return done / (time.perf_counter() - began)


def translation_speed(shape: TransformerSettings) -> float:
    """Return the sentences per second of CTranslate2. All outputs have the maximum length, to compare shapes."""
    texts = [pair.source for pair in islice(pairs(seed=1), 100)]
    tokenizer = SentencePieceTokenizer(train_tokenizer(iter(texts), kind="unigram", vocab_size=400))
    model = build_model(shape.with_vocab_size(tokenizer.embedding_rows))
    with torch.no_grad():
        model.embedding.weight[EOS] = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        weights = model.state_dict()
        save_folder(
            folder, settings=model.settings, weights=weights, tokenizer=tokenizer, languages=(None, None), card=""
        )
        ensure_export(folder)
        translator = regard.load(folder)
        decode = DecodeSettings(max_length_offset=5)
        translator.translate(texts[:8], decode)
        began = time.perf_counter()
        translator.translate(texts, decode)
        return len(texts) / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
