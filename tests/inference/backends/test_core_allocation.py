"""The rule that divides the cores among batches, for narrow and wide models and for small and large machines."""

import pytest

from regard.inference.backends.core_allocation import CoreAllocation, allocate_cores, is_small

TINY, SMALL, BASE, BIG = 128, 256, 512, 1024


@pytest.mark.parametrize(
    ("width", "cores", "workers", "threads"),
    [
        (TINY, 1, 1, 1),
        (TINY, 2, 2, 1),
        (TINY, 8, 8, 1),
        (TINY, 32, 32, 1),
        (TINY, 64, 64, 1),
        (192, 64, 64, 1),
        (SMALL, 1, 1, 1),
        (SMALL, 2, 1, 2),
        (SMALL, 64, 32, 2),
        (BASE, 1, 1, 1),
        (BASE, 2, 1, 2),
        (BASE, 8, 2, 4),
        (BASE, 32, 8, 4),
        (BASE, 64, 16, 4),
        (BIG, 2, 1, 2),
        (BIG, 64, 8, 8),
        (16, 8, 8, 1),
    ],
)
def test_threads_share_a_small_batch_if_the_model_is_wide(width: int, cores: int, workers: int, threads: int) -> None:
    assert allocate_cores(width, cores).small == CoreAllocation(workers, threads)


@pytest.mark.parametrize("width", [16, TINY, SMALL, BASE, BIG, 8192])
@pytest.mark.parametrize("cores", [1, 2, 3, 8, 32, 64])
def test_no_allocation_has_more_threads_than_cores(width: int, cores: int) -> None:
    allocations = allocate_cores(width, cores)
    assert allocations.large == CoreAllocation(cores, 1)
    assert cores // 2 < allocations.small.workers * allocations.small.threads <= cores


@pytest.mark.parametrize(
    ("sentences", "beam_size", "small"),
    [(1, 1, True), (8, 1, True), (9, 1, False), (1, 4, True), (2, 4, True), (3, 4, False)],
)
def test_a_few_hypotheses_are_a_small_batch(sentences: int, beam_size: int, small: bool) -> None:
    assert is_small(sentences, beam_size) == small
