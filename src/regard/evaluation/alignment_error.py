"""Word alignments in the Pharaoh format (`0-0 1-2`), and the alignment error rate.

The alignment error rate (Och and Ney, 2003) compares with links that must be found (sure) and links that may be found
(possible).
"""

from collections.abc import Iterable, Sequence

from regard.inference.alignment import Link


def format_pharaoh(links: Iterable[Link]) -> str:
    """Return alignment links as `0-0 1-2 2-1`, in the order of the source."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def alignment_error(
    found: Sequence[Iterable[Link]], sure: Sequence[Iterable[Link]], possible: Sequence[Iterable[Link]] | None = None
) -> float:
    """Return the error rate over all sentences, from 0 to 1. All sure links are also possible links."""
    correct = total = 0
    for sentence_links, sure_links, possible_links in zip(found, sure, possible or sure, strict=True):
        links, required = set(sentence_links), set(sure_links)
        correct += len(links & required) + len(links & (required | set(possible_links)))
        total += len(links) + len(required)
    return 1 - correct / total if total else 0.0
