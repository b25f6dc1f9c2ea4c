"""Memory is kept between steps: from the second on, hardly a page has to be fetched again."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import contextlib, resource, statistics, sys
import regard
from regard.training import run
from regard.training.loop import Step
how, folder = sys.argv[1:]
if how == "leave":
    run.kept_memory = contextlib.nullcontext
pairs = f"{folder}/pairs.tsv"
with open(pairs, "w") as file:
    for one in range(3000):
        file.write(f"{one} and {one + 1} is {2 * one + 1}\\t{one} et {one + 1} font {2 * one + 1}\\n")
seen = []
for event in regard.train([pairs], out=f"{folder}/{how}", size="tiny", steps=12, languages=("en", "fr")):
    if isinstance(event, Step):
        seen.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(int(statistics.median(after - before for before, after in zip(seen[3:], seen[4:]))))
"""


def faults(how: str, folder: Path) -> int:
    command = [sys.executable, "-c", PROGRAM, how, str(folder)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_a_run_fetches_few_pages_again(tmp_path: Path) -> None:
    assert 5 * faults("keep", tmp_path) < faults("leave", tmp_path)
