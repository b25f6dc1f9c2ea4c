"""The corpora of the measurements: paths of downloaded ones, and generated pairs that never repeat."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from regard.data.synthetic import generator

DATA = Path(os.environ.get("REGARD_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data")).resolve()
MULTI30K = DATA / "multi30k"
TATOEBA = DATA / "tatoeba" / "en-de"

SENTENCES = 4_000  # their square is the maximum number of distinct pairs


def synthetic_sentences() -> list[tuple[str, str]]:
    """Return pairs of the synthetic language with distinct sources."""
    translations: dict[str, str] = {}
    for pair in generator.pairs(seed=1):
        translations.setdefault(pair.source, pair.target)
        if len(translations) == SENTENCES:
            break
    return list(translations.items())


def distinct_pairs(count: int) -> Iterator[tuple[str, str]]:
    """Yield `count` distinct pairs, each made of two sentences of the synthetic language."""
    sentences = synthetic_sentences()
    if count > len(sentences) ** 2:
        raise ValueError(f"there are {len(sentences) ** 2:,} distinct pairs, fewer than the requested {count:,}")
    for number in range(count):
        # The distance between the two sentences grows by one in every round, so no combination occurs twice.
        distance, first = divmod(number, len(sentences))
        source, target = sentences[first]
        second_source, second_target = sentences[(first + distance) % len(sentences)]
        yield f"{source} {second_source}", f"{target} {second_target}"


def write_distinct_pairs(path: Path, count: int) -> None:
    """Write `count` distinct pairs as a TSV file."""
    lines = (f"{source}\t{target}\n" for source, target in distinct_pairs(count))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while block := list(islice(lines, 10_000)):
            file.writelines(block)
