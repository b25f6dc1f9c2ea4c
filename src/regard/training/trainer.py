"""From the first step of a plan to the model folder: stepping, saving, validating, and choosing the weights to keep."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from regard.data.batching.batches import batches
from regard.errors import RunError
from regard.interchange.ctranslate2.export import ensure_export
from regard.model_folder.folder import ModelFolder
from regard.model_folder.writer import save_folder
from regard.models.kinds.transformer import Transformer
from regard.progress import Progress
from regard.settings.train import TrainSettings
from regard.training.checkpoints import Checkpoints, RunState
from regard.training.divergence import advice
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import MicroBatchSplits
from regard.training.planning.plan import Plan
from regard.training.prepared_data import PreparedData
from regard.training.step import Step, derived_seed, training_steps
from regard.training.tracking.events import Event, Finished, Note, Planned, Stopped
from regard.training.tracking.log import Log
from regard.training.tracking.model_card import write_card
from regard.training.validation import Validation, Validator

SAVE_SECONDS = 600  # the most a crash can cost

FEW_SENTENCES = 200


def train_by_plan(out: Path, plan: Plan, made: PreparedData, stop: Callable[[], bool]) -> Iterator[Event]:
    """Take the plan's steps from where the newest checkpoint is, then choose the weights to keep."""
    settings = plan.settings.train
    model = _build_model(plan, made.parent)
    optimizer = make_optimizer(model, settings)
    checkpoints = Checkpoints(out / "run" / "checkpoints")
    progress, problems = checkpoints.resume(model, optimizer)
    for problem in problems:
        yield Note(f"a checkpoint is damaged, so the run goes on from the one before it, if any: {problem}")
    yield Planned(plan, progress.step)
    validator = Validator(made.texts, made.shards, made.tokenizer, plan.settings)
    splits = MicroBatchSplits(out / "run" / "splits.json")
    stream = batches(
        made.shards.train,
        tokens=settings.micro_batch_tokens,
        seed=settings.seed,
        position=progress.position,
        weights=plan.request.get("weights", ()),
        minimal_pair_weight=settings.minimal_pair_weight,
    )
    saved_step, saved_time = progress.step, time.monotonic()

    def save() -> None:
        nonlocal saved_step, saved_time
        checkpoints.save(model, optimizer, progress)
        checkpoints.prune({*plan.averaged_steps(progress.step), progress.best_step})
        saved_step, saved_time = progress.step, time.monotonic()

    width, first = plan.settings.model.width, progress.step + 1
    steps = training_steps(model, optimizer, stream, settings, width=width, first=first, parts=splits.parts)
    with _threads(plan.threads), Log(out / "run", progress.step, tensorboard=settings.tensorboard) as log:
        while True:
            stopping = stop()
            overdue = time.monotonic() - saved_time > SAVE_SECONDS
            if (stopping or overdue) and saved_step < progress.step:
                save()
            if stopping:
                yield Stopped(progress.step)
                return
            if plan.validates(progress.step) and progress.validated_step < progress.step:
                try:
                    validation = validator.quick(model, progress.step)
                except FloatingPointError as error:
                    raise _diverged(str(error), progress, checkpoints, settings) from None
                log.write(progress.step, validation_loss=validation.loss, bleu=validation.bleu, chrf=validation.chrf)
                progress = progress.validated(validation.loss)
                save()
                yield validation
                continue  # whoever wants to stop has waited for the validation
            if progress.is_stale(settings.patience):
                yield Note(f"no better validation loss for {progress.stale} validations: stopping early")
                break
            if progress.step == settings.steps:
                break
            step = next(steps)
            progress = yield from _record(step, progress, splits, log)
            if seen := progress.divergence.trouble():
                raise _diverged(seen, progress, checkpoints, settings)
    yield from _finish(out, plan, made, model, checkpoints, progress, splits, validator)


def _diverged(seen: str, progress: RunState, checkpoints: Checkpoints, settings: TrainSettings) -> RunError:
    best = checkpoints.path(progress.best_step) if progress.best_step else None
    return RunError(advice(seen, progress.step, settings, best))


def _record(step: Step, progress: RunState, splits: MicroBatchSplits, log: Log) -> Generator[Event, None, RunState]:
    """Write down what a step did, and say what was unusual."""
    unusual = {**({"skipped": True} if step.skipped else {}), **({"parts": step.splits} if step.splits > 1 else {})}
    log.write(step.step, loss=step.loss, learning_rate=step.learning_rate, seconds=step.seconds, **unusual)
    if step.splits > splits.parts(step.step):
        splits.record(step.step, step.splits)
        yield Note(
            f"step {step.step:,} did not fit in memory: from it on, each micro-batch is cut {step.splits} times as fine"
        )
    health = progress.divergence.after_skipped() if step.skipped else progress.divergence.after(step.loss)
    if step.skipped:
        yield Note(f"step {step.step:,} is skipped, because its gradient is not finite ({health.skipped:,} so far)")
    yield step
    return replace(progress, step=step.step, position=step.position, divergence=health)


def _build_model(plan: Plan, parent: ModelFolder | None) -> Transformer:
    """The model before its first step."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derived_seed(plan.settings.train.seed, "weights"))
        model = Transformer(plan.settings.model, plan.settings.train.dropout)
    if parent is not None:
        model.load_state_dict(parent.build().state_dict())
    return model.to(plan.device)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Compute with so many threads: sums of floats depend on how they are split."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _finish(
    out: Path,
    plan: Plan,
    made: PreparedData,
    model: Transformer,
    checkpoints: Checkpoints,
    progress: RunState,
    splits: MicroBatchSplits,
    validator: Validator,
) -> Iterator[Event]:
    """Choose among the last weights, their average, and the best on the way; write the model folder."""
    candidates = _candidates(plan, checkpoints, progress)
    scored: list[tuple[Validation, str, dict[str, Tensor]]] = []
    for number, (name, weights) in enumerate(candidates.items()):
        yield Progress("choosing weights", number, len(candidates))
        model.load_state_dict(weights)
        scored.append((validator.full(model, progress.step), name, weights))
    # On few sentences BLEU is mostly chance.
    few = scored[0][0].sentences < FEW_SENTENCES
    scores, kept, weights = max(scored, key=lambda one: (-one[0].loss if few else one[0].bleu, -one[0].loss))
    save_folder(
        out,
        settings=plan.settings.model,
        weights=weights,
        tokenizer=made.tokenizer,
        languages=made.languages,
        card=write_card(plan, made, progress, splits, [(name, validation) for validation, name, _ in scored], kept),
    )
    yield Progress("making the engine's files", 0, 1)
    ensure_export(out)
    yield Finished(out, scores, kept)


def _candidates(plan: Plan, checkpoints: Checkpoints, progress: RunState) -> dict[str, dict[str, Tensor]]:
    """The weights there are to choose from. A checkpoint that was damaged since is left out."""
    averaged = checkpoints.average(plan.averaged_steps(progress.step))
    last, best = checkpoints.weights(progress.step), checkpoints.weights(progress.best_step)
    candidates = {
        "the last checkpoint": last,
        f"the average of the last {averaged.count} checkpoints": averaged.weights if averaged.count > 1 else None,
        f"the checkpoint of the best validation loss, step {progress.best_step:,}": best
        if progress.best_step != progress.step
        else None,
    }
    return {name: weights for name, weights in candidates.items() if weights is not None}
