"""Failures during training: gradients that are not finite, divergence, and memory that runs out."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.robustness.conftest import Report
from tests.robustness.counts import campaign
from tests.training.conftest import TinyRuns

from regard.data.batching.batches import Batch, batches
from regard.data.prepare.token_store import EncodedCorpus
from regard.errors import RunError
from regard.models.build import build_model
from regard.models.interface import SequenceModel
from regard.settings.train import TrainSettings
from regard.training import step as step_module
from regard.training.loss import backward_in_chunks
from regard.training.planning.plan import load_plan
from regard.training.step import Step, accumulate_gradients, gradient_with_retry
from regard.training.tracking.events import Note

torch.set_num_threads(1)


@campaign("bad gradients")
def test_steps_with_gradients_that_are_not_finite_are_skipped(
    tiny: TinyRuns, tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    generator, original = random.Random(1), step_module.accumulate_gradients
    steps = 3 * count
    bad = set(generator.sample(range(1, steps + 1), count))

    def corrupted(
        replicas: Sequence[SequenceModel], batches: list[Batch], settings: TrainSettings, step: int
    ) -> tuple[float, int]:
        result = original(replicas, batches, settings, step)
        if step in bad:
            gradients = [parameter.grad for parameter in replicas[0].parameters() if parameter.grad is not None]
            gradient = generator.choice(gradients).view(-1)
            gradient[generator.randrange(len(gradient))] = generator.choice([float("nan"), float("inf"), float("-inf")])
        return result

    monkeypatch.setattr(step_module, "accumulate_gradients", corrupted)
    out = tmp_path / "model"
    events = tiny(out, steps=steps)
    skipped = [event for event in events if isinstance(event, Note)]
    parameters = load_file(out / "weights.safetensors")
    assert all(tensor.isfinite().all() for tensor in parameters.values())
    assert len(skipped) == count
    assert {event.step for event in events if isinstance(event, Step) and event.skipped} == bad
    report(
        f"NaN or infinity in the gradients of {count} of {steps} steps: exactly these {len(skipped)} steps were "
        "skipped, and all parameters are finite at the end"
    )


@campaign("clean steps")
def test_divergence_is_detected_without_false_alarms(
    tiny: TinyRuns, tmp_path: Path, report: Report, count: int
) -> None:
    interval = f"train.validate_every={max(1, count // 2)}"
    tiny(tmp_path / "normal", steps=count, overrides=(*tiny.overrides, interval))
    # A hundred times the normal learning rate is not enough: the run recovers when the rate falls.
    extreme = ("train.validate_every=2000", "train.learning_rate=2.5", "train.max_grad_norm=0")
    with pytest.raises(RunError, match="the run diverged") as caught:
        tiny(tmp_path / "extreme", steps=2_000, overrides=(*tiny.overrides, *extreme))
    message = str(caught.value).split(";")[0]
    report(f"0 false alarms in {count:,} normal steps; with 1,000 times the normal learning rate: {message}")


@campaign("shortages")
def test_steps_that_run_out_of_memory_are_sliced(
    tiny: TinyRuns, report: Report, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Memory runs out in every micro-batch with more than a random number of pairs."""
    corpus, plan = EncodedCorpus(tiny.prepared / "run" / "tokens"), load_plan(tiny.prepared / "run" / "plan.json")
    settings = TrainSettings(dropout=0.0)
    model = build_model(plan.settings.model)
    generator, original, max_error = random.Random(3), backward_in_chunks, 0.0
    stream = batches(corpus.train, tokens=120, seed=1)
    for step in range(count):
        micro_batches = [next(stream)[0] for _ in range(3)]
        expected_loss, tokens = accumulate_gradients([model], micro_batches, settings, step)
        expected = {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}
        max_rows = generator.randrange(1, max(map(len, micro_batches)))

        def backward(model: SequenceModel, batch: Batch, limit: int = max_rows, **options: Any) -> float:
            loss_sum = original(model, batch, **options)
            if len(batch) > limit:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
            return loss_sum

        monkeypatch.setattr(step_module, "backward_in_chunks", backward)
        loss_sum, counted, slices = gradient_with_retry([model], micro_batches, settings, step, 1)
        monkeypatch.setattr(step_module, "backward_in_chunks", original)
        assert slices > 1
        assert counted == tokens
        assert loss_sum == pytest.approx(expected_loss, rel=1e-6)
        for name, each in model.named_parameters():
            assert each.grad is not None
            max_error = max(max_error, float((each.grad - expected[name]).abs().max()))
    assert max_error <= 1e-6
    report(
        f"memory ran out in {count} steps: {count} of {count} succeeded with smaller micro-batches, without losing a "
        f"pair, and with gradients within {max_error:.0e} of the original ones"
    )
