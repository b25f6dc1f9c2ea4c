"""Section 5.2: hardware and schedule."""

import pytest
from tests.paper.paper_sizes import BASE, BIG


@pytest.mark.parametrize(("size", "steps"), [(BASE, 100_000), (BIG, 300_000)], ids=["base", "big"])
def test_the_sizes_train_for_the_papers_number_of_steps(size, steps):
    """Section 5.2: 100,000 steps for the base model, 300,000 for the big one."""
    assert size.train.steps == steps
