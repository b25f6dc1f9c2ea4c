"""What a run meets on the way: gradients that are no numbers, learning rates beyond reason, memory that runs out."""

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
from torch import Tensor

from regard.data.batching.batches import Batch, batches
from regard.data.prepare.token_store import EncodedCorpus
from regard.errors import RunError
from regard.models.kinds.transformer import Transformer
from regard.settings.train import TrainSettings
from regard.training import step as step_module
from regard.training.loss import backward_in_chunks
from regard.training.planning.plan import load_plan
from regard.training.step import accumulate_gradients, gradient_with_retry
from regard.training.tracking.events import Note

torch.set_num_threads(1)


@campaign("bad gradients")
def test_gradients_that_are_no_numbers(
    tiny: TinyRuns, tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    numbers, original = random.Random(1), step_module.accumulate_gradients
    steps = 3 * count
    bad = set(numbers.sample(range(1, steps + 1), count))

    def spoiled(
        models: Sequence[Transformer], batches: list[Batch], settings: TrainSettings, step: int
    ) -> tuple[float, int]:
        found = original(models, batches, settings, step)
        if step in bad:
            grad = numbers.choice([each.grad for each in models[0].parameters() if each.grad is not None]).view(-1)
            grad[numbers.randrange(len(grad))] = numbers.choice([float("nan"), float("inf"), float("-inf")])
        return found

    monkeypatch.setattr(step_module, "accumulate_gradients", spoiled)
    out = tmp_path / "model"
    events = tiny(out, steps=steps)
    skipped = [event for event in events if isinstance(event, Note)]
    weights = load_file(out / "weights.safetensors")
    assert all(tensor.isfinite().all() for tensor in weights.values())
    assert len(skipped) == count
    report(
        f"NaN or infinity put into the gradients of {count} of {steps} steps: {len(skipped)} steps skipped, each of "
        "them one that was spoiled; 0 weights that are not finite"
    )


@campaign("clean steps")
def test_divergence_is_noticed_and_learning_is_not_taken_for_it(
    tiny: TinyRuns, tmp_path: Path, report: Report, count: int
) -> None:
    every = f"train.validate_every={max(1, count // 2)}"
    tiny(tmp_path / "clean", steps=count, overrides=(*tiny.overrides, every))
    # A hundred times the learning rate is not enough: the run recovers as the rate falls.
    wild = ("train.validate_every=2000", "train.learning_rate=2.5", "train.max_grad_norm=0")
    with pytest.raises(RunError, match="the run diverges") as caught:
        tiny(tmp_path / "wild", steps=2_000, overrides=(*tiny.overrides, *wild))
    seen = str(caught.value).split(";")[0]
    report(f"0 false alarms in {count:,} steps of learning; with 1,000 times the learning rate: {seen}")


@campaign("shortages")
def test_memory_that_runs_out(tiny: TinyRuns, report: Report, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """In the middle of a random micro-batch of a step, for every part of more than a random number of pairs."""
    shards, plan = EncodedCorpus(tiny.prepared / "run" / "shards"), load_plan(tiny.prepared / "run" / "plan.json")
    settings = TrainSettings(dropout=0.0)
    model = Transformer(plan.settings.model)
    numbers, original, worst = random.Random(3), backward_in_chunks, 0.0
    stream = batches(shards.train, tokens=120, seed=1)
    for step in range(count):
        micro = [next(stream)[0] for _ in range(3)]
        loss, tokens = accumulate_gradients([model], micro, settings, step)
        wanted = {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}
        most = numbers.randrange(1, max(len(batch.source_BS) for batch in micro))

        def short(model: Transformer, source_BS: Tensor, *rest: Any, most: int = most, **options: Any) -> float:
            found = original(model, source_BS, *rest, **options)
            if len(source_BS) > most:
                raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
            return found

        monkeypatch.setattr(step_module, "backward_in_chunks", short)
        found, counted, parts = gradient_with_retry([model], micro, settings, step, 1)
        monkeypatch.setattr(step_module, "backward_in_chunks", original)
        assert parts > 1
        assert counted == tokens
        assert found == pytest.approx(loss, rel=1e-6)
        for name, each in model.named_parameters():
            assert each.grad is not None
            worst = max(worst, float((each.grad - wanted[name]).abs().max()))
    assert worst <= 1e-6
    report(
        f"memory ran out in {count} steps: {count} of {count} went on in parts, 0 pairs lost, gradients within "
        f"{worst:.0e} of the whole's"
    )
