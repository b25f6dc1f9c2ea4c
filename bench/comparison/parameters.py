"""Checks that both checkouts train exactly the same parameters, bit by bit, in a few steps of a model of size `tiny`.

Four variants cover layer norm before and after a sublayer, both optimizers, gradient accumulation (with one thread)
and data-parallel replicas (with two threads). The number of threads is fixed, and no setting depends on time.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from comparison.checkout import Checkout, Pair
from comparison.corpus import Corpus
from comparison.items import Item, compared
from safetensors.numpy import load_file

STEPS = 60
# Norm, optimizer, number of threads, and tokens of a micro-batch. With one thread, a step has two micro-batches of 512
# tokens; with two threads, it has one of 1,024 tokens, half of it for each replica.
VARIANTS = (("post", "adam", 1, 512), ("post", "muon", 2, 1024), ("pre", "adam", 2, 1024), ("pre", "muon", 1, 512))


def compare_parameters(pair: Pair, corpus: Corpus) -> Iterator[Item]:
    """Train every variant with both checkouts, and compare the parameters."""
    for norm, optimizer, threads, micro_batch in VARIANTS:
        settings = {
            "model.norm": norm,
            "tokenizer.vocab_size": 1000,
            "train.optimizer": optimizer,
            "train.dropout": 0.1,
            "train.batch_tokens": 2 * micro_batch if threads == 1 else micro_batch,
            "train.micro_batch_tokens": micro_batch,
            "train.label_smoothing": 0.05,
            "train.max_grad_norm": 0.5,
            "train.warmup_steps": 20,
            "train.validate_every": 20,
            "train.average": 2,
        }
        name = f"{norm}-{optimizer}"
        words = [word for setting, value in settings.items() for word in ("--set", f"{setting}={value}")]
        label = f"parameters after {STEPS} steps, {norm}-norm, {optimizer}, {threads} thread{'s'[: threads - 1]}"
        yield compared(label, partial(_trained_difference, pair, corpus, name, words, threads))


def _trained_difference(pair: Pair, corpus: Corpus, name: str, words: list[str], threads: int) -> str | None:
    def train(checkout: Checkout) -> Path:
        files = [corpus.path(f"train.{side}") for side in ("en", "fr")]
        valid = [word for side in ("en", "fr") for word in ("--valid", corpus.path(f"valid.{side}"))]
        plan = ["--out", name, "--size", "tiny", "--steps", str(STEPS)]
        checkout.run("train", *files, *valid, *plan, *words, threads=threads)
        return checkout.folder / name

    old, new = pair.both(train)
    if (old / "tokenizer.model").read_bytes() != (new / "tokenizer.model").read_bytes():
        return "the tokenizers differ already"
    return _tensor_difference(*(_tensors(folder / "weights.safetensors") for folder in (old, new)))


def _tensors(path: Path) -> dict[str, tuple[object, ...]]:
    """Return the type, the shape and the bytes of every tensor in a file."""
    return {name: (one.dtype, one.shape, one.tobytes()) for name, one in load_file(path).items()}


def _tensor_difference(old: dict[str, tuple[object, ...]], new: dict[str, tuple[object, ...]]) -> str | None:
    if names := sorted(old.keys() ^ new.keys()):
        return f"{len(names)} names are in one checkout only, the first is {names[0]}"
    differing = [name for name in old if old[name] != new[name]]
    return f"{len(differing)} of {len(old)} tensors differ, the first is {differing[0]}" if differing else None
