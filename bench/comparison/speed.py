"""Measures how fast the new checkout trains and translates relative to the old one, as a ratio with its range.

Translation is measured with the bundled model, and with models of three sizes that copy their source
(`common/copy_model.py`), which the old checkout writes.

Whatever the ratio is, it does not count as a difference. The checkouts are measured in turn, and the order changes from
round to round, so that a change in the speed of the machine affects both. The commands choose their number of threads.
A high load average shows that other programs used the machine, so that the ratio is not reliable.
"""

import math
import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial

from comparison.checkout import Checkout, CommandError, Pair
from comparison.corpus import Corpus
from comparison.items import Item, say
from comparison.json_difference import json_values, renamed

Measure = Callable[[Checkout], float]

SIZES = ("tiny", "small", "base")

# A program that runs `common.copy_model` of a checkout.
_COPY_MODEL = """
import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
runpy.run_module("common.copy_model", run_name="__main__", alter_sys=True)
"""


def compare_speed(pair: Pair, corpus: Corpus, rounds: int) -> Iterator[Item]:
    """Measure the speed of `bench train` and `bench translate` with both checkouts."""
    files = [corpus.path(f"train.{side}") for side in ("en", "fr")]

    def train(checkout: Checkout) -> float:
        return _rate(checkout, checkout.run("bench train", *files, "--size", "tiny", "--json", threads=None))

    def translate(checkout: Checkout) -> float:
        lines = corpus.folder / "train.en"
        return _rate(checkout, checkout.run("bench translate", "--json", threads=None, stdin=lines))

    measures: dict[str, Measure] = {"bench train, size tiny": train, "bench translate, en-fr": translate}
    measures |= {
        f"bench translate, copy model of size {size}, beam size {beams}": partial(_copy, size, beams, pair.old, corpus)
        for size in SIZES
        for beams in (1, 4)
    }
    for name, measure in measures.items():
        try:
            yield Item(name, measured=_compared(pair, name, measure, rounds))
        except CommandError as error:
            yield Item(name, str(error))


def _copy(size: str, beams: int, writer: Checkout, corpus: Corpus, checkout: Checkout) -> float:
    """Return the speed of a model that copies its source. The first call for each size writes the model."""
    model = corpus.folder / f"copy-{size}"
    if not model.exists():
        files = [str(corpus.folder / f"train.{side}") for side in ("en", "fr")]
        writer.python(_COPY_MODEL, str(writer.root / "bench"), str(model), size, *files)
    options = ["-m", corpus.path(model.name), "--json", "--beam-size", str(beams)]
    return _rate(checkout, checkout.run("bench translate", *options, threads=None, stdin=corpus.folder / "train.en"))


def _rate(checkout: Checkout, output: str) -> float:
    return float(renamed(json_values(output)[0], checkout.dialect)["tokens_per_second"])


def _compared(pair: Pair, name: str, measure: Measure, rounds: int) -> str:
    rates: dict[str, list[float]] = {"old": [], "new": []}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    for number in range(rounds):
        for checkout in (pair.old, pair.new)[:: 1 if number % 2 == 0 else -1]:
            say(f"{name}, round {number + 1} of {rounds}, {checkout.name}")
            rates[checkout.name].append(measure(checkout))
    ratios = [new / old for old, new in zip(rates["old"], rates["new"], strict=True)]
    old, new = (statistics.median(rates[which]) for which in ("old", "new"))
    return (
        f"new / old {statistics.median(ratios):.3f} (from {min(ratios):.3f} to {max(ratios):.3f} in {rounds} rounds); "
        f"median tokens per second {old:,.0f} old, {new:,.0f} new; "
        f"load average {load:.1f} before"
    )
