"""The memory of a run is estimated before it starts, and the micro-batch is fitted to the free memory."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.padded import padded

from regard.data.batching.batches import Batch
from regard.errors import RunError
from regard.machine.memory import container_free_memory, free_memory
from regard.models.kinds.transformer import Transformer
from regard.render.units import format_bytes
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.training.loss import CHUNK_LOGITS
from regard.training.planning import memory_estimate
from regard.training.planning.memory_estimate import (
    activation_bytes_per_token,
    check_fits,
    fit_micro_batch,
    fixed_bytes,
)

torch.set_num_threads(1)

SHAPE = TransformerSettings(
    source_vocab_size=400, target_vocab_size=400, width=32, heads=2, feedforward=64, encoder_layers=2, decoder_layers=2
)


def make_batch(rows: int, length: int) -> Batch:
    ids = np.random.default_rng(1).integers(4, 400, (rows, length))
    return Batch(padded(ids), padded(ids))


def test_parameters_gradients_and_adam_moments_are_counted() -> None:
    parameters = sum(parameter.numel() for parameter in Transformer(SHAPE).parameters())
    per_replica = parameters + 400 * 32 + 3 * CHUNK_LOGITS
    assert fixed_bytes(SHAPE, "cpu") == 120_000_000 + 4 * (3 * parameters + per_replica)
    assert fixed_bytes(SHAPE, "cpu", 3) == 120_000_000 + 4 * (3 * parameters + 3 * per_replica)


def test_a_huge_model_is_estimated_without_being_allocated() -> None:
    shape = TransformerSettings(
        source_vocab_size=1 << 20, target_vocab_size=1 << 20, width=1 << 14, feedforward=1 << 17
    )
    assert fixed_bytes(shape, "cpu") > 10**12


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_memory_per_token_does_not_depend_on_the_batch_size(dropout: float, precision: str) -> None:
    model = Transformer(SHAPE, dropout)
    settings = TrainSettings(dropout=dropout, precision=precision)  # type: ignore[arg-type]
    few, many = (activation_bytes_per_token(model, make_batch(rows, 20), settings) for rows in (4, 64))
    assert few == pytest.approx(many, rel=0.25)
    assert few > 4 * 32 * 20  # at least a few floats per layer and unit of width


def test_estimating_changes_neither_gradients_nor_the_random_state() -> None:
    model = Transformer(SHAPE, 0.1)
    state = torch.get_rng_state()
    activation_bytes_per_token(model, make_batch(2, 5), TrainSettings())
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("free", "tokens"), [(10**12, 4_096), (125 * 10**6, 2_048), (75 * 10**6, 1_024), (30 * 10**6, 256)]
)
def test_the_micro_batch_is_halved_until_it_fits(free: int, tokens: int) -> None:
    fitted, reason = fit_micro_batch(lambda _: 10**7, 40_000.0, 4_096, free)
    assert fitted == tokens
    assert reason.startswith(
        f"about {format_bytes(10**7 + 40_000 * tokens)} of memory for micro-batches of {tokens:,} tokens"
    )
    assert ("train.micro_batch_tokens was 4,096" in reason) == (tokens < 4_096)
    assert 10**7 + 40_000 * tokens <= memory_estimate.USABLE_SHARE * free


def test_a_model_that_does_not_fit_is_refused() -> None:
    with pytest.raises(RunError) as caught:
        fit_micro_batch(lambda _: 4 * 10**9, 40_000.0, 4_096, 10**9)
    assert str(caught.value) == (
        "training would need about 4.0 GB of memory, but only 1.0 GB are free, and a run uses at most 80% of that; "
        "close other programs, or choose a smaller --size"
    )
    check_fits(800, 1_000)
    with pytest.raises(RunError):
        check_fits(801, 1_000)


def test_the_free_memory_of_this_machine_is_plausible() -> None:
    assert 10**6 < free_memory("cpu") < 1 << 62


TRAINING_SCRIPT = """
import re
from pathlib import Path
import numpy as np, torch
from regard.data.batching.batches import Batch
from regard.data.prepare.ragged import Padded
from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.training.step import accumulate_gradients
from regard.training.optimizers.adam import make_optimizer
from regard.training.planning.memory_estimate import activation_bytes_per_token, fixed_bytes

torch.set_num_threads(1)

def batch(rows, length):
    ids = np.random.default_rng(1).integers(4, 8000, (rows, length))
    side = Padded(ids, np.full(rows, length))
    return Batch(side, side)

def peak():  # not ru_maxrss, which includes the memory of the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

sizes = {"width": 256, "heads": 4, "feedforward": 1024, "encoder_layers": 6, "decoder_layers": 3}
shape = TransformerSettings(**sizes).with_vocab_size(8000)
settings = TrainSettings(dropout=0.2)
before = peak()
model = Transformer(shape, settings.dropout)
optimizer = make_optimizer(model, settings)
estimate = fixed_bytes(shape, "cpu") + 2048 * activation_bytes_per_token(model, batch(8, 30), settings)
for step in range(2):
    accumulate_gradients([model], [batch(64, 32), batch(64, 32)], settings, step)
    optimizer.step()
print(estimate / (peak() - before))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems report the peak memory in other units")
def test_the_estimate_agrees_with_the_memory_of_a_process() -> None:
    """An estimate that is slightly too high is preferred to one that is too low."""
    done = subprocess.run([sys.executable, "-c", TRAINING_SCRIPT], capture_output=True, text=True, check=True)
    assert 0.95 <= float(done.stdout) <= 1.4


# Containers


def write_cgroup(folder: Path, names: tuple[str, str], limit: str, used: int, inactive: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(limit + "\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{inactive}\n")


VERSION_2, VERSION_1 = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")


@pytest.mark.parametrize(
    ("lines", "free"),
    [
        ("0::/a/b\n", 250),  # the limit of the group itself
        ("0::/a\n", 1_900),  # the limit of its parent group
        ("0::/\n", 1 << 62),  # no limit
        ("0::/only/the/host/sees/it\n", 1 << 62),
        ("3:cpu,cpuacct:/a\n4:memory:/c\n", 70),
        ("", 1 << 62),
    ],
)
def test_the_memory_limit_of_a_container_is_respected(tmp_path: Path, lines: str, free: int) -> None:
    write_cgroup(tmp_path / "a", VERSION_2, "2000", 100, "inactive_file 0")
    write_cgroup(tmp_path / "a" / "b", VERSION_2, "300", 100, "inactive_file 50")
    write_cgroup(tmp_path / "memory" / "c", VERSION_1, "100", 40, "total_inactive_file 10")
    write_cgroup(tmp_path, VERSION_2, "max", 100, "inactive_file 0")
    (tmp_path / "process").write_text(lines)
    assert container_free_memory(tmp_path / "process", tmp_path) == free


def test_without_containers_there_is_no_limit(tmp_path: Path) -> None:
    assert container_free_memory(tmp_path / "none", tmp_path) == 1 << 62
