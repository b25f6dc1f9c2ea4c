"""Measure how the speed of each kind of model changes with the length of sentences, in training and translation.

All models have the size `tiny`, random parameters and a vocabulary of 8,000 tokens. A batch has 4,096 tokens on each
side, in sentences of one length, so that the work per token changes only by what depends on the length: attention, and
the number of steps that follow each other. Training includes the loss and the update of the parameters, with as many
replicas as `regard train` uses. Translation is greedy, with torch for all models, and with the cache that each model
keeps between steps; the length of the output is fixed. Rounds alternate between the models. The medians are appended to
bench/results/speed_by_length.jsonl, and docs/explanation/speed-by-length.md is written from the latest.

    python bench/speed_by_length.py                  # half an hour
    python bench/speed_by_length.py --lengths 16 64  # some lengths
    python bench/speed_by_length.py --rounds 0       # only writes the page
"""

import argparse
import os
import statistics
import time
from collections import defaultdict
from dataclasses import replace
from itertools import product

import numpy as np
import torch
from common.environments import ROOT
from common.results import append
from pages.speed_by_length import write_page

from regard.data.batching.batches import Batch
from regard.data.prepare.ragged import Padded
from regard.inference.backends.interface import SourceTokens
from regard.inference.backends.torch import decode_batch
from regard.models.build import build_model, count_parameters
from regard.models.interface import SequenceModel, as_autoregressive
from regard.settings.decode import DecodeSettings
from regard.settings.sections import Settings, assemble
from regard.settings.sizes import size_overrides
from regard.tokenizers.special_ids import EOS, FIRST_SUBWORD
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import slice_batches
from regard.training.parallel.replicas import make_replicas, optimizer_shares, replica_count
from regard.training.step import accumulate_gradients, update_parameters

RESULTS = ROOT / "bench" / "results" / "speed_by_length.jsonl"
LENGTHS = (16, 32, 64, 128, 256, 512)
TOKENS = 4_096
VOCAB_SIZE = 8_000

# Each model: its kind, and the settings of its model that differ from the size `tiny`.
MODELS: dict[str, tuple[str, dict[str, object]]] = {
    "transformer": ("transformer", {}),
    "lstm": ("lstm", {}),
    "lstm-unfed": ("lstm", {"input_feeding": False}),
    "lstm-vector": ("lstm", {"attention": "none"}),
    "gru": ("gru", {}),
    "gru-unfed": ("gru", {"input_feeding": False}),
    "rnn-vector": ("rnn", {"attention": "none"}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    seconds: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    load = os.getloadavg()[0]
    for number, length, model in product(range(options.rounds), options.lengths, options.models):
        settings = settings_of(model, length)
        seconds[model, "train", length].append(training_seconds(settings, length))
        seconds[model, "translate", length].append(translation_seconds(settings, length))
        last = [f"{what} {TOKENS / seconds[model, what, length][-1]:,.0f}" for what in ("train", "translate")]
        print(f"round {number + 1}, {length} tokens, {model}: {', '.join(last)} tokens/s", flush=True)
    for (model, what, length), times in seconds.items():
        append(
            RESULTS,
            model=model,
            what=what,
            length=length,
            tokens_per_second=TOKENS / statistics.median(times),
            rates=[TOKENS / time for time in times],
            parameters=count_parameters(settings_of(model, length).model).total,
            load=load,
        )
    write_page(RESULTS, ROOT / "docs" / "explanation" / "speed-by-length.md")


def settings_of(model: str, length: int) -> Settings:
    kind, changes = MODELS[model]
    settings = assemble(size_overrides("tiny", kind), {"model": {**changes, "max_positions": max(1024, length + 1)}})
    return replace(settings, model=settings.model.with_vocab_size(VOCAB_SIZE))


def training_seconds(settings: Settings, length: int) -> float:
    """Return the time of a training step, after a first one as warm-up."""
    model = build_model(settings.model, settings.train.dropout)
    replicas = make_replicas(model, replica_count(settings.model.width, TOKENS, "cpu"))
    shares = optimizer_shares(make_optimizer(model, settings.train), len(replicas))
    for replica in replicas:
        replica.train()
    batches = slice_batches([random_batch(length)], len(replicas))
    for _ in range(2):
        began = time.perf_counter()
        accumulate_gradients(replicas, batches, settings.train, 1)
        update_parameters(shares, settings.train, 0.0, torch.ones(()))
    return time.perf_counter() - began


@torch.inference_mode()
def translation_seconds(settings: Settings, length: int) -> float:
    """Return the time of a translation of all sentences, after a few tokens of each as warm-up."""
    model: SequenceModel = build_model(settings.model).eval()
    generable_V = torch.ones(VOCAB_SIZE, dtype=torch.bool)
    generable_V[:FIRST_SUBWORD] = False
    generable_V[EOS] = True
    sources = random_ids(length)
    for limit in (2, length):
        began = time.perf_counter()
        batch = [SourceTokens(tuple(ids[:-1]), limit) for ids in sources.tolist()]
        decode_batch(as_autoregressive(model), batch, generable_V, DecodeSettings(beam_size=1, min_length=limit))
    return time.perf_counter() - began


def random_batch(length: int) -> Batch:
    sides = [Padded(random_ids(length, seed), np.full(TOKENS // length, length)) for seed in (1, 2)]
    return Batch(*sides)


def random_ids(length: int, seed: int = 1) -> "np.ndarray":
    return np.random.default_rng(seed).integers(FIRST_SUBWORD, VOCAB_SIZE, (TOKENS // length, length))


if __name__ == "__main__":
    main()
