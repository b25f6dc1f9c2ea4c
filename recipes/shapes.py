"""Measure what candidate shapes of the bundled models cost: size, training speed and translation speed.

    OMP_NUM_THREADS=1 python recipes/shapes.py FOLDER [SHAPE...]     # FOLDER as written by domain_corpora.py

The parameters are random, so this says nothing about quality. Speeds are in processor time of one core, so that other
programs disturb them little. Training is in target tokens per second with Muon and BATCH tokens in a step, in float32
and in bfloat16 (autocast); translation is compared with the first shape, with CTranslate2, beam size 4, and outputs as
long as their sources.
"""

import dataclasses
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from regard.data.batching.batches import Batch
from regard.data.prepare.ragged import Padded
from regard.inference.translator_loader import load_translator
from regard.interchange.ctranslate2.export import ensure_export
from regard.model_folder.writer import save_folder
from regard.models.build import build_model
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import SIZES, TransformerSettings
from regard.settings.sections import assemble
from regard.settings.train import TrainSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS
from regard.tokenizers.vocabulary import train_tokenizer
from regard.training.optimizers.adam import make_optimizer
from regard.training.step import accumulate_gradients, update_parameters

BATCH = 8192
LENGTH = 20
MICRO_BATCH = 2000
SENTENCES = 64
REPEATS = 2


def shape(encoder: int, decoder: int, width: int, rows: int, heads: int) -> TransformerSettings:
    settings = dataclasses.replace(
        assemble(SIZES["tiny"]).model,
        encoder_layers=encoder,
        decoder_layers=decoder,
        width=width,
        heads=heads,
        feedforward=4 * width,
    )
    assert isinstance(settings, TransformerSettings)
    return settings.with_vocab_size(rows)


SHAPES = {
    "4+3, 192 (today's)": shape(4, 3, 192, 8_000, 6),
    "6+3, 256": shape(6, 3, 256, 12_000, 8),
    "8+2, 256": shape(8, 2, 256, 12_000, 8),
    "10+2, 256": shape(10, 2, 256, 12_000, 8),
    "6+2, 320": shape(6, 2, 320, 12_000, 8),
}


def main() -> None:
    torch.set_num_threads(1)
    folder, chosen = Path(sys.argv[1]), sys.argv[2:] or list(SHAPES)
    lines = [line.split("\t") for line in (folder / "everyday.tsv").read_text("utf-8").splitlines()[::6]]
    lines += [line.split("\t") for line in (folder / "debates.tsv").read_text("utf-8").splitlines()[::20]]
    texts = [line.split("\t")[0] for line in (folder / "valid.tsv").read_text("utf-8").splitlines()[:SENTENCES]]
    rows = {SHAPES[name].target_vocab_size for name in chosen}
    tokenizers = {
        size: SentencePieceTokenizer(
            train_tokenizer((text for pair in lines for text in pair), kind="unigram", vocab_size=size)
        )
        for size in rows
    }
    print("| shape | parameters | MB in half precision | tokens/s float32 | bfloat16 | translation |")
    print("|---|---|---|---|---|---|")
    reference = None
    for name in chosen:
        parameters = sum(tensor.numel() for tensor in build_model(SHAPES[name]).parameters())
        speeds = [training_speed(SHAPES[name], precision) for precision in ("float32", "bfloat16")]
        seconds = translation_seconds(SHAPES[name], tokenizers[SHAPES[name].target_vocab_size], texts)
        reference = reference or seconds
        print(
            f"| {name} | {parameters / 1e6:.1f}M | {2 * parameters / 1e6:.1f} | {speeds[0]:,.0f} | {speeds[1]:,.0f} "
            f"| {reference / seconds:.2f} |",
            flush=True,
        )


def training_speed(settings: TransformerSettings, precision: str) -> float:
    """Return the target tokens per second of one core."""
    model = build_model(settings, dropout=0.1)
    train = TrainSettings(optimizer="muon", precision=precision, max_grad_norm=1.0)  # type: ignore[arg-type]
    ids = torch.randint(EOS + 1, settings.target_vocab_size, (MICRO_BATCH // LENGTH, LENGTH)).numpy()
    side = Padded(ids, np.full(len(ids), LENGTH))
    batch, optimizer = Batch(side, side), make_optimizer(model, train)
    model.train()
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    gradient = fastest(lambda: accumulate_gradients([model], [batch], train, 0))
    update = fastest(lambda: update_parameters([optimizer], train, 1e-3, torch.tensor(1.0)))
    return BATCH / (gradient * BATCH / ids.size + update)


def translation_seconds(settings: TransformerSettings, tokenizer: SentencePieceTokenizer, texts: list[str]) -> float:
    """Return the processor time of a translation of the texts."""
    model = build_model(settings)
    with torch.no_grad():
        model.embedding.weight[EOS] = 0  # so that outputs do not end early
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_folder(
            folder,
            settings=settings,
            weights=model.state_dict(),
            tokenizer=tokenizer,
            languages=(None, None),
            card="",
        )
        ensure_export(folder)
        translator = load_translator(folder)
        decode = DecodeSettings(max_length_offset=1, protect=False)
        return fastest(lambda: translator.translate(texts, decode))


def fastest(run: Callable[[], object]) -> float:
    """Return the processor time of the fastest of several runs, after a run that warms up."""
    run()
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
