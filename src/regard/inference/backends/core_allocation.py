"""How the cores of a machine are divided among the batches of CTranslate2.

Large batches get one thread each, so every core computes a batch of its own. This is the fastest for models of every
width, and it needs no OpenMP threads. If only one or two sentences are translated, most cores would be idle, so several
cores share a batch if the model is wide enough that each of them has enough work.
"""

from dataclasses import dataclass

# A model of width 128 translates a sentence no faster with two threads than with one, a model of width 256 is a third
# faster, and a model of width 512 two thirds (measured on two cores).
_WIDTH_PER_THREAD = 128

# Two sentences with the default beam size: what a user waits for who types a line or calls a server. With more, there
# are enough hypotheses to divide them among the cores.
_MAX_SHARED_HYPOTHESES = 8


@dataclass(frozen=True)
class CoreAllocation:
    """How many batches are computed at the same time, and how many threads compute each of them."""

    workers: int
    threads: int


@dataclass(frozen=True)
class CoreAllocations:
    """The allocation for many sentences, and the allocation for one or two sentences."""

    large: CoreAllocation
    small: CoreAllocation


def allocate_cores(width: int, cores: int) -> CoreAllocations:
    """Return the allocations for a model of this width on a machine with this many cores."""
    threads = max(1, min(cores, width // _WIDTH_PER_THREAD))
    return CoreAllocations(large=CoreAllocation(cores, 1), small=CoreAllocation(cores // threads, threads))


def is_small(sentences: int, beam_size: int) -> bool:
    """Return whether so few sentences are translated that several cores should share each batch."""
    return sentences * beam_size <= _MAX_SHARED_HYPOTHESES
