"""A kind that does not translate trains with its own objective, resumes, and says what it cannot do."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.cli.runner import call
from tests.masked_kind import MaskedModel, MaskedSettings, masked, masked_kind
from tests.padded import batch
from torch import Tensor

import regard
from regard.data.batching.batches import Batch
from regard.model_folder.loader import open_folder
from regard.models.build import build_model
from regard.models.inputs import Inputs
from regard.settings.train import TrainSettings
from regard.storage.manifest import sha256
from regard.training import objectives
from regard.training.run import iter_train
from regard.training.step import Step, accumulate_gradients, derived_seed, validation_loss
from regard.training.tracking.events import Finished
from regard.training.validation import Validation

PAIRS = [(f"{a} {b} {c}", f"{c} {a}") for a in "abcde" for b in "vwxyz" for c in "mn"]
SETTINGS = ["train.batch_tokens=64", "train.micro_batch_tokens=32", "tokenizer.vocab_size=300"]


@pytest.fixture(autouse=True)
def kind() -> Iterator[None]:
    with masked_kind():
        yield


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "pairs.en-fr.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), "utf-8")
    overrides = [*SETTINGS, "train.validate_every=5", "train.average=2"]
    arguments = {"kind": "masked", "steps": 15, "overrides": overrides, "languages": ("en", "fr")}
    return {"paths": [path], "valid": [path], **arguments}


def test_it_trains_with_the_loss_as_its_only_score(options: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "model"
    events = list(iter_train(**options, out=out))
    validations = [event for event in events if isinstance(event, Validation)]
    assert [event.step for event in validations] == [5, 10, 15]
    assert all(
        (event.bleu, event.chrf, event.example, event.sentences) == (None, None, None, 0) for event in validations
    )
    assert validations[-1].loss < validations[0].loss
    assert isinstance(events[-1], Finished) and events[-1].scores is not None
    # The loss decides which parameters are kept.
    card = (out / "card.md").read_text("utf-8")
    losses = {row: float(row.split("|")[2]) for row in card.splitlines() if row.startswith("| the ")}
    assert [loss for row, loss in losses.items() if "(kept)" in row] == [min(losses.values())]
    assert card.startswith("# A masked model from en to fr\n")
    assert "| parameters | loss |\n|---|---|\n" in card and "BLEU" not in card and "Beam size" not in card
    assert isinstance(open_folder(out).build(), MaskedModel)
    log = (out / "run" / "log.jsonl").read_text("utf-8")
    assert "validation_loss" in log and "bleu" not in log


def test_an_interrupted_run_resumes_to_the_same_parameters(options: dict[str, Any], tmp_path: Path) -> None:
    hashes = []
    for name, last in (("whole", None), ("resumed", 7)):
        arguments = {**options, "out": tmp_path / name}
        taken: list[Step] = []
        stop = lambda last=last, taken=taken: len(taken) == last  # noqa: E731
        taken += (event for event in iter_train(**arguments, stop=stop) if isinstance(event, Step))
        if last is not None:
            assert len(taken) == last and not (tmp_path / name / "manifest.json").exists()
            taken += (event for event in iter_train(**arguments) if isinstance(event, Step))
        hashes.append((sha256(tmp_path / name / "weights.safetensors"), [step.loss for step in taken]))
    assert hashes[0] == hashes[1]


def test_the_command_shows_the_loss(options: dict[str, Any], tmp_path: Path) -> None:
    words = [word for override in options["overrides"] for word in ("--set", override)]
    out = tmp_path / "model"
    done = call("train", *options["paths"], "--out", out, "--set", "model.kind=masked", "--steps", "5", *words)
    assert done.code == 0, done.said
    (validated,) = (line for line in done.said.splitlines() if line.startswith("step 5: "))
    assert validated.startswith("step 5: validation loss ") and "," not in validated
    assert "BLEU" not in done.said


def test_it_does_not_translate(options: dict[str, Any], tmp_path: Path) -> None:
    list(iter_train(**{**options, "steps": 1}, out=tmp_path / "model"))
    with pytest.raises(regard.UserError, match="a model of the kind masked does not generate text; use a model with a"):
        regard.load(tmp_path / "model").translate("a v m")
    done = call("translate", "--model", tmp_path / "model", "a v m")
    assert (done.code, "does not generate text" in done.said) == (2, True), done.said


# The gradient and the loss are means over the predictions of the objective, not over the target tokens.


def make_model() -> MaskedModel:
    model = build_model(MaskedSettings(width=8, max_positions=16).with_vocab_size(24), seed=3)
    assert isinstance(model, MaskedModel)
    return model


def make_batches() -> list[Batch]:
    generator = np.random.default_rng(1)
    made = []
    for rows, longest in ((6, 9), (3, 5)):
        lengths = generator.integers(2, longest, rows)
        ids = generator.integers(4, 24, (rows, lengths.max()))
        source = np.where(np.arange(lengths.max()) < lengths[:, None], ids, 0)
        made.append(batch(source, source[:, :2]))
    return made


def mean_loss(model: MaskedModel, batches: list[Batch], seeds: list[int]) -> tuple[Tensor, int]:
    """Return the cross entropy of all masked tokens and their number."""
    losses = []
    for one, seed in zip(batches, seeds, strict=True):
        is_masked = torch.from_numpy(masked(one, seed))
        values = torch.from_numpy(one.source.values)
        inputs = Inputs.from_lengths(values.masked_fill(is_masked, 1), one.source.lengths)
        logits = model.project(model.encode(inputs))[is_masked]
        losses.append(F.cross_entropy(logits, values[is_masked], reduction="none"))
    joined = torch.cat(losses)
    return joined.mean(), len(joined)


def test_the_gradient_is_that_of_the_mean_loss_per_prediction() -> None:
    model, batches = make_model(), make_batches()
    settings = TrainSettings(dropout=0.0, label_smoothing=0.0, seed=5)
    loss, count = accumulate_gradients([model], batches, settings, 7)
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    other = make_model()
    seeds = [derived_seed(5, "objective", 7, number) for number in range(2)]
    expected, expected_count = mean_loss(other, batches, seeds)
    expected.backward()
    assert count == expected_count != sum(one.target_tokens for one in batches)
    assert loss / count == pytest.approx(expected.item(), rel=1e-5)
    for name, parameter in other.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, atol=1e-6, rtol=1e-5)


def test_the_choices_depend_on_the_seed_the_step_and_the_micro_batch() -> None:
    model, (first, _) = make_model(), make_batches()
    settings = TrainSettings(dropout=0.0, label_smoothing=0.0)

    def loss(batches: list[Batch], step: int = 1, seed: int = 1) -> float:
        return accumulate_gradients([model], batches, replace(settings, seed=seed), step)[0]

    once = loss([first])
    assert loss([first]) == once
    assert len({once, loss([first], step=2), loss([first], seed=2), loss([first, first]) - once}) == 4


def test_the_validation_loss_is_a_mean_over_predictions_and_always_the_same() -> None:
    model, batches = make_model(), make_batches()
    seeds = [derived_seed(4, "validation", number) for number in range(2)]
    expected, _ = mean_loss(model, batches, seeds)
    assert validation_loss(model, iter(batches), seed=4) == pytest.approx(expected.item(), rel=1e-5)
    assert validation_loss(model, iter(batches), seed=4) == validation_loss(model, iter(batches), seed=4)
    assert validation_loss(model, iter(batches), seed=5) != validation_loss(model, iter(batches), seed=4)


def test_the_objective_of_translation_counts_the_tokens_that_it_predicts() -> None:
    one = make_batches()[0]
    assert objectives.translation.count(one, 1) == one.target_tokens
