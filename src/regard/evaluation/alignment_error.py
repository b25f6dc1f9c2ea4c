"""Word alignments in the Pharaoh format (`0-0 1-2`), and the alignment error rate.

The alignment error rate (Och and Ney, 2003) compares alignment links with two kinds of reference links: sure links,
which must be found, and possible links, which may be found.
"""

from collections.abc import Iterable, Sequence

from regard.inference.alignment import Link


def format_pharaoh(links: Iterable[Link]) -> str:
    """Return alignment links as `0-0 1-2 2-1` (source-target), sorted by source word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def alignment_error(
    found: Sequence[Iterable[Link]], sure: Sequence[Iterable[Link]], possible: Sequence[Iterable[Link]] | None = None
) -> float:
    """Return the alignment error rate of all sentences, from 0 to 1. Sure links also count as possible links."""
    correct = total = 0
    for sentence_links, sure_links, possible_links in zip(found, sure, possible or sure, strict=True):
        links, required = set(sentence_links), set(sure_links)
        correct += len(links & required) + len(links & (required | set(possible_links)))
        total += len(links) + len(required)
    return 1 - correct / total if total else 0.0
