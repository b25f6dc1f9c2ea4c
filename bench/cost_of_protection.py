"""What the search for spans and the warnings cost where there is nothing to protect: the CPU time of translating.

    python bench/cost_of_protection.py [MODEL] [--rounds 5]      # needs ../shared/data/multi30k

The captions of Multi30k have no spans. They are translated with and without everything that keeps spans, structure and
numbers and finds warnings, in turn in one process; without it, functions that do nothing take its place. CPU time
counts all threads and depends less than elapsed time on other work. The order changes in each round, and the ratio is
that of the medians.
"""

import argparse
import datetime
import gzip
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from common.corpora import MULTI30K
from common.results import machine

import regard

NOTHING = {
    "regard.inference.reader.divide_line": lambda line, protect=True: iter([(line, "")]),
    "regard.inference.masking.masker.find_spans": lambda text: [],
    "regard.inference.checks.Checks.warnings": lambda *_: (),
    "regard.inference.language_check.LanguageCheck.warnings": lambda *_: (),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="en-fr")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    model = regard.load(options.model)
    with gzip.open(MULTI30K / f"test_2016_flickr.{model.languages[0] or 'en'}.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    print(f"{datetime.date.today()}, {machine()}")
    for beam_size in (1, 4):
        decode = regard.DecodeSettings(beam_size=beam_size)
        model.translate(lines[:100], decode)
        seconds: dict[bool, list[float]] = {True: [], False: []}
        for number in range(2 * options.rounds):
            for protected in (number % 2 == 0, number % 2 == 1):
                seconds[protected].append(cpu_seconds(model, lines, decode, protected=protected))
        medians = {protected: statistics.median(values) for protected, values in seconds.items()}
        print(
            f"beam size {beam_size}: {medians[True]:.2f} s with protection, {medians[False]:.2f} s without, "
            f"ratio {medians[True] / medians[False]:.3f}"
        )


def cpu_seconds(model: regard.Model, lines: list[str], decode: regard.DecodeSettings, *, protected: bool) -> float:
    with patches(not protected):
        began = time.process_time()
        model.translate(lines, decode)
        return time.process_time() - began


@contextmanager
def patches(wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    active = [patch(name, function) for name, function in NOTHING.items()]
    for one in active:
        one.start()
    try:
        yield
    finally:
        for one in active:
            one.stop()


if __name__ == "__main__":
    main()
