"""A lower bound of the cost of a translation: the operations of all matrix products, and the machine's peak rate.

A system that computes in float32 and translates every sentence cannot be faster than operations divided by peak rate.
The products inside attention, padding, and beams that continue after the best one has ended are not counted; they
would make a system slower still.
"""

from collections.abc import Sequence
from pathlib import Path

from regard.benchmark.training_speed import peak_speed
from regard.model_folder.loader import open_folder


def operations(folder: Path, lines: Sequence[str], output_tokens: int, beams: int) -> int:
    """Return the operations for translating these lines into this number of tokens, EOS not counted."""
    opened = open_folder(folder)
    source_tokens = sum(len(ids) + 1 for ids in opened.tokenizer.encode(list(lines)))
    decoder_steps = len(lines) + beams * output_tokens  # the first step follows BOS, which all beams share
    total = 0
    for name, weight in opened.build().named_parameters():
        if weight.dim() < 2 or name.startswith("positions."):
            continue
        # Keys and values of the source are computed once; the embedding is a product in the output projection.
        once = name.startswith("encoder.") or ".cross.key." in name or ".cross.value." in name
        total += 2 * weight.numel() * (source_tokens if once else decoder_steps)
    return total


def operations_per_second() -> float:
    """Return the rate of a large matrix product with all cores."""
    return max(peak_speed("cpu") for _ in range(3))
