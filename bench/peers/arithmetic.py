"""What a text costs at the least: the operations of a model's matrix products, and how many this machine does a second.

Whoever computes in float32 and translates every sentence cannot be faster than the one over the other. Left out is what
would make it slower still: attention's own products, padding, beams that go on after the best of them has ended.
"""

from collections.abc import Sequence
from pathlib import Path

from regard.benchmark.training_speed import peak
from regard.model_folder.loader import open_folder


def operations(folder: Path, lines: Sequence[str], written: int, beams: int) -> int:
    """For these lines, if so many pieces were written for them, end marks not counted."""
    opened = open_folder(folder)
    read = sum(len(ids) + 1 for ids in opened.tokenizer.encode(list(lines)))
    computed = len(lines) + beams * written  # the first piece follows the start mark, which is the same in all beams
    found = 0
    for name, weight in opened.build().named_parameters():
        if weight.dim() < 2 or name.startswith("positions."):
            continue
        # Keys and values of the source are computed once; the embedding is a product where a piece is chosen.
        of_source = name.startswith("encoder.") or ".cross.key." in name or ".cross.value." in name
        found += 2 * weight.numel() * (read if of_source else computed)
    return found


def operations_a_second() -> float:
    """In a large product, with all cores."""
    return max(peak("cpu") for _ in range(3))
