"""Whether two checkouts of Regard behave alike: the older and the newer one run on this machine, and every item that is
compared is printed as equal or DIFFERENT, with the first difference.

The comparison has four parts: `parameters` (four short training runs), `translations` (with both bundled models),
`reports` (the JSON of `look`, `check`, `evaluate`, `score` and `measure`) and `speed` (`bench train` and `bench
translate`; the ratio is printed, but never counts as a difference). A checkout may have the old names of commands and
settings or the new ones; `comparison/dialects.py` converts between them. The exit status is 1 if anything differs. The
corpora must be in ../shared/data (or $REGARD_SHARED_DATA).

    python bench/compare_checkouts.py ../regard-before .
    python bench/compare_checkouts.py ../regard-before . --parts translations --sentences 100
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from comparison.checkout import Checkout, CommandError, Pair
from comparison.corpus import SHARED_DATA, Corpus, write_corpus
from comparison.dialects import NEW, OLD, table_lines
from comparison.items import Item
from comparison.parameters import compare_parameters
from comparison.reports import compare_reports
from comparison.speed import compare_speed
from comparison.translations import compare_translations

Part = Callable[[Pair, Corpus, argparse.Namespace], Iterator[Item]]
PARTS: dict[str, Part] = {
    "parameters": lambda pair, corpus, _: compare_parameters(pair, corpus),
    "translations": lambda pair, corpus, options: compare_translations(pair, corpus, options.sentences),
    "reports": lambda pair, corpus, _: compare_reports(pair, corpus),
    "speed": lambda pair, corpus, options: compare_speed(pair, corpus, options.rounds),
}


def main() -> None:
    options = _options()
    if not SHARED_DATA.is_dir():
        print(f"there are no corpora in {SHARED_DATA}; nothing was compared")
        sys.exit(2)
    with tempfile.TemporaryDirectory() as folder:
        corpus = write_corpus(Path(folder) / "data")
        try:
            pair = _open(options, Path(folder))
        except CommandError as error:
            print(f"{error}; nothing was compared")
            sys.exit(2)
        differing = sum([_compare(part, pair, corpus, options) for part in options.parts])
    print(f"{differing} items are DIFFERENT" if differing else "nothing differs")
    sys.exit(1 if differing else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("old", type=Path, help="the checkout before the change")
    parser.add_argument("new", type=Path, help="the checkout after the change")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--sentences", type=int, default=1000, help="how many to translate each way")
    parser.add_argument("--rounds", type=int, default=3, help="how often to measure the speed of each checkout")
    return parser.parse_args()


def _open(options: argparse.Namespace, scratch: Path) -> Pair:
    """Open both checkouts, and print which names of their interfaces are treated as equal."""
    pair = Pair(Checkout.open("old", options.old, scratch), Checkout.open("new", options.new, scratch))
    dialects = (pair.old.dialect, pair.new.dialect)
    if dialects == (NEW, OLD):
        raise CommandError("the first checkout has the new interface and the second the old one; exchange them")
    for line in table_lines():
        print(line)
    if dialects == (OLD, NEW):
        print("The first checkout has the old interface, the second the new one.", flush=True)
    else:
        print(f"Both checkouts have the {pair.old.dialect.name} interface, so both are renamed alike.", flush=True)
    return pair


def _compare(name: str, pair: Pair, corpus: Corpus, options: argparse.Namespace) -> int:
    """Run one part of the comparison, print each item when it is done, and return the number of items that differ."""
    began, differing = time.perf_counter(), 0
    print(f"\n{name}", flush=True)
    for item in PARTS[name](pair, corpus, options):
        print(item.line(), flush=True)
        differing += item.difference is not None
    print(f"{name} took {time.perf_counter() - began:.0f} s", flush=True)
    return differing


if __name__ == "__main__":
    main()
