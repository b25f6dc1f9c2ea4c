"""Which words belong together: links between two texts, in Pharaoh's form (`0-0 1-2`), and how wrong they are.

The alignment error rate (Och and Ney, 2003) counts links that must be found (sure) and those that may (possible).
"""

from collections.abc import Iterable, Sequence

from regard.inference.alignment import Link


def pharaoh(links: Iterable[Link]) -> str:
    """`0-0 1-2 2-1`, in the order of the source."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def alignment_error(
    found: Sequence[Iterable[Link]], sure: Sequence[Iterable[Link]], possible: Sequence[Iterable[Link]] | None = None
) -> float:
    """The error over all sentences, from 0 to 1. Sure links are possible too; without `possible`, no others are."""
    right = total = 0
    for its, must, may in zip(found, sure, possible or sure, strict=True):
        links, needed = set(its), set(must)
        right += len(links & needed) + len(links & (needed | set(may)))
        total += len(links) + len(needed)
    return 1 - right / total if total else 0.0
