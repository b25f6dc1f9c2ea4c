"""Memory is kept between steps: from the second on, no page has to be fetched again."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource, statistics, sys
from concurrent.futures import ThreadPoolExecutor
import torch
from regard.training.heap import keep_memory
if sys.argv[1] == "keep":
    keep_memory()

def faults(_):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    [torch.ones(1 << 22) for _ in range(8)]  # 16 MB each
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

rounds = []
for _ in range(8):
    with ThreadPoolExecutor(1) as pool:
        rounds += pool.map(faults, [None])
print(int(statistics.median(rounds)))  # now and then a small block stands in the way of a large one
"""


def faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_what_was_given_back_is_not_fetched_again() -> None:
    assert faults("keep") < 1_000 < faults("leave")
