"""Memory is kept: from the second step or translation on, hardly a page has to be fetched again, and nothing moves."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest
from tests.training.test_out_of_memory import make_batch, make_model

from regard.data.batching.batches import StreamPosition
from regard.machine import malloc
from regard.settings.train import TrainSettings
from regard.training.optimizers.adam import make_optimizer
from regard.training.step import training_steps

TRAINING = """
import contextlib, resource, statistics, sys
import regard
from regard.training import run
from regard.training.step import Step
how, folder = sys.argv[1:]
if how == "leave":
    run.retain_freed_memory = contextlib.nullcontext
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

TRANSLATING = """
import resource, sys
from regard.inference.backends import ctranslate2 as engine
from regard.inference.translator_loader import load_translator
from regard.settings.decode import DecodeSettings
if sys.argv[1] == "leave":
    engine.limit_trimming = lambda: None
translator, seen = load_translator(), []
for _ in range(3):
    translator.translate("They look at it.", DecodeSettings(min_length=500, max_length=500))
    seen.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(seen[2] - seen[1])
"""


def faults(program: str, how: str, folder: Path) -> int:
    command = [sys.executable, "-c", program, how, str(folder)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_a_run_fetches_few_pages_again(tmp_path: Path) -> None:
    assert 5 * faults(TRAINING, "keep", tmp_path) < faults(TRAINING, "leave", tmp_path)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_a_long_translation_fetches_few_pages_again(tmp_path: Path) -> None:
    assert 5 * faults(TRANSLATING, "keep", tmp_path) < faults(TRANSLATING, "leave", tmp_path)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_what_a_run_keeps_is_not_undone_by_who_translates_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(malloc, "_set_options", lambda *options: told.append(options))
    with malloc.retain_freed_memory():
        malloc.limit_trimming()
        assert len(told) == 1
    malloc.limit_trimming()
    assert len(told) == 2


def test_what_outlives_a_step_was_there_before_the_first() -> None:
    settings = TrainSettings(steps=3, warmup_steps=1, batch_tokens=4096)
    model = make_model()
    optimizer = make_optimizer(model, settings)
    stream = [(make_batch(6, seed=step), StreamPosition(batch=step)) for step in range(3)]
    memories = [memory.data_ptr() for state in optimizer.state.values() for memory in state.values()]
    gradients = []
    for _ in training_steps(model, optimizer, iter(stream), settings, width=16):
        assert [memory.data_ptr() for state in optimizer.state.values() for memory in state.values()] == memories
        gradients.append([parameter.grad.data_ptr() for parameter in model.parameters() if parameter.grad is not None])
    assert len(memories) == 3 * len(gradients[0]) == 3 * len(list(model.parameters()))
    assert gradients[0] == gradients[1] == gradients[2]
