"""Any number of pairs, all different, quickly: every sentence of the built-in language beside every other."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from regard.data.synthetic import generator

SENTENCES = 4_000  # their square is the most pairs there are


def sentences() -> list[tuple[str, str]]:
    """Pairs of the built-in language, no source twice."""
    found: dict[str, str] = {}
    for pair in generator.pairs(seed=1):
        found.setdefault(pair.source, pair.target)
        if len(found) == SENTENCES:
            break
    return list(found.items())


def pairs(count: int) -> Iterator[tuple[str, str]]:
    """So many pairs of two sentences each."""
    one = sentences()
    if count > len(one) ** 2:
        raise ValueError(f"there are {len(one) ** 2:,} pairs, and {count:,} were asked for")
    for number in range(count):
        # The second runs ahead by one more in every round, so that the two never meet again.
        round_, place = divmod(number, len(one))
        (source, target), (next_source, next_target) = one[place], one[(place + round_) % len(one)]
        yield f"{source} {next_source}", f"{target} {next_target}"


def write(path: Path, count: int) -> None:
    """A TSV of so many pairs."""
    lines = (f"{source}\t{target}\n" for source, target in pairs(count))
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while block := list(islice(lines, 10_000)):
            file.writelines(block)
