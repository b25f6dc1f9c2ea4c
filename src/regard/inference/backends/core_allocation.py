"""How the cores of a machine are divided among the batches of CTranslate2.

Large batches get one thread each, so every core computes a batch of its own. This is the fastest for models of every
width, and it needs no OpenMP threads. A small batch, such as a single sentence, usually comes alone, so several cores
share it if the model is wide enough that each of them has enough work.
"""

from dataclasses import dataclass

# A model of width 128 translates a sentence no faster with two threads than with one, a model of width 256 is a third
# faster, and a model of width 512 two thirds (measured on two cores).
_WIDTH_PER_THREAD = 128


@dataclass(frozen=True)
class CoreAllocation:
    """How many batches are computed at the same time, and how many threads compute each of them."""

    workers: int
    threads: int


@dataclass(frozen=True)
class CoreAllocations:
    """The allocation for large batches, and the allocation for small batches."""

    large: CoreAllocation
    small: CoreAllocation


def allocate_cores(width: int, cores: int) -> CoreAllocations:
    """Return the allocations for a model of this width on a machine with this many cores."""
    threads = max(1, min(cores, width // _WIDTH_PER_THREAD))
    return CoreAllocations(large=CoreAllocation(cores, 1), small=CoreAllocation(cores // threads, threads))


def is_small(sentences: int, beam_size: int) -> bool:
    """Return whether a batch is so small that several cores should share it."""
    return sentences * beam_size <= 8
