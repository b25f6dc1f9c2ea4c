"""The number of attempts of each campaign: a small sample in `make test`, all of them in `make test-all`."""

import pytest

COUNTS = {  # sample, full campaign
    "kills": (5, 200),
    "resumed steps": (3, 60),
    "terminations": (2, 50),
    "full disks": (2, 20),
    "byte changes": (40, 1_000),
    "truncations": (10, 200),
    "traced saves": (2, 20),
    "mutants": (150, 10_000),
    "archives": (35, 35),
    "payloads": (8, 40),
    "bad gradients": (5, 50),
    "clean steps": (150, 10_000),
    "shortages": (3, 20),
    "adversarial documents": (40, 500),
    "generated requests": (15, 400),  # for each route of the schema, as many valid as invalid ones
}


def campaign(name: str) -> pytest.MarkDecorator:
    """Parametrize a test with its `count`."""
    sample, full = COUNTS[name]
    slow = pytest.param(full, id="full", marks=pytest.mark.slow)
    return pytest.mark.parametrize("count", [pytest.param(sample, id="sample"), slow][: 1 if sample == full else 2])
