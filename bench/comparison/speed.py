"""Measures how fast the new checkout trains and translates relative to the old one, as a ratio with its range.

Whatever the ratio is, it does not count as a difference. The checkouts are measured in turn, and the order changes from
round to round, so that a change in the speed of the machine affects both. The commands choose their number of threads.
A high load average shows that other programs used the machine, so that the ratio is not reliable.
"""

import math
import os
import statistics
from collections.abc import Callable, Iterator

from comparison.checkout import Checkout, CommandError, Pair
from comparison.corpus import Corpus
from comparison.items import Item, say
from comparison.json_difference import json_values, renamed

Measure = Callable[[Checkout], float]


def compare_speed(pair: Pair, corpus: Corpus, rounds: int) -> Iterator[Item]:
    """Measure the speed of `bench train` and `bench translate` with both checkouts."""
    files = [corpus.path(f"train.{side}") for side in ("en", "fr")]

    def train(checkout: Checkout) -> float:
        return _rate(checkout, checkout.run("bench train", *files, "--size", "tiny", "--json", threads=None))

    def translate(checkout: Checkout) -> float:
        lines = corpus.folder / "train.en"
        return _rate(checkout, checkout.run("bench translate", "--json", threads=None, stdin=lines))

    for name, measure in (("bench train, size tiny", train), ("bench translate, en-fr", translate)):
        try:
            yield Item(name, measured=_compared(pair, name, measure, rounds))
        except CommandError as error:
            yield Item(name, str(error))


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
