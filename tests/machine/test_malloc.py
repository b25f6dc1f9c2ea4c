"""Freed memory is retained: later steps and translations cause few page faults, and optimizer state does not move."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest
from tests.training.test_out_of_memory import make_batch, make_model

from regard.data.batching.batches import StreamPosition
from regard.settings.train import TrainSettings
from regard.training.optimizers.adam import make_optimizer
from regard.training.step import training_steps

TRAINING = """
import resource, sys
from regard.machine.process import tune_for_training
mode, folder = sys.argv[1:]
if mode == "retain":
    tune_for_training()
import regard
from regard.training.step import Step
pairs = f"{folder}/pairs.tsv"
with open(pairs, "w") as file:
    for n in range(3000):
        file.write(f"{n} and {n + 1} is {2 * n + 1}\\t{n} et {n + 1} font {2 * n + 1}\\n")
faults = []
for event in regard.iter_train([pairs], out=f"{folder}/{mode}", size="tiny", steps=12, languages=("en", "fr")):
    if isinstance(event, Step):
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(faults[-1] - faults[5])
"""

TRANSLATING = """
import resource, sys
from regard.machine.process import tune
if sys.argv[1] == "retain":
    tune()
from regard.inference.translator_loader import load_translator
from regard.settings.decode import DecodeSettings
translator, faults = load_translator(), []
for _ in range(3):
    translator.translate("They look at it.", DecodeSettings(min_length=500, max_length=500))
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(faults[2] - faults[1])
"""


def count_page_faults(program: str, mode: str, folder: Path) -> int:
    command = [sys.executable, "-c", program, mode, str(folder)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the options are those of glibc")
def test_training_steps_cause_few_page_faults(tmp_path: Path) -> None:
    assert 5 * count_page_faults(TRAINING, "retain", tmp_path) < count_page_faults(TRAINING, "default", tmp_path)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the options are those of glibc")
def test_a_long_translation_causes_few_page_faults(tmp_path: Path) -> None:
    assert 5 * count_page_faults(TRANSLATING, "retain", tmp_path) < count_page_faults(TRANSLATING, "default", tmp_path)


LIBRARY = """
import sys
import regard
from regard.machine import malloc
from regard.doctor.training_trial import SETTINGS
malloc._set_options = lambda *options: sys.exit(f"the library sets malloc options: {options}")
pairs = f"{sys.argv[2]}/pairs.tsv"
with open(pairs, "w") as file:
    for n in range(60):
        file.write(f"{n} and {n + 1}\\t{n} et {n + 1}\\n")
model = regard.train([pairs], out=f"{sys.argv[2]}/model", steps=2, overrides=SETTINGS, languages=("en", "fr"))
model.translate("1 and 2")
print(0)
"""


def test_the_library_sets_no_malloc_options(tmp_path: Path) -> None:
    """A notebook that trains and translates keeps the malloc options it had."""
    assert count_page_faults(LIBRARY, "library", tmp_path) == 0


def test_optimizer_state_and_gradients_are_allocated_once() -> None:
    settings = TrainSettings(steps=3, warmup_steps=1, batch_tokens=4096)
    model = make_model()
    optimizer = make_optimizer(model, settings)
    stream = [(make_batch(6, seed=step), StreamPosition(batch=step)) for step in range(3)]
    state_pointers = [tensor.data_ptr() for state in optimizer.state.values() for tensor in state.values()]
    gradients = []
    for _ in training_steps(model, optimizer, iter(stream), settings):
        assert [tensor.data_ptr() for state in optimizer.state.values() for tensor in state.values()] == state_pointers
        gradients.append([parameter.grad.data_ptr() for parameter in model.parameters() if parameter.grad is not None])
    assert len(state_pointers) == 3 * len(gradients[0]) == 3 * len(list(model.parameters()))
    assert gradients[0] == gradients[1] == gradients[2]
