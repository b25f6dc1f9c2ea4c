"""Carries out the plan of a run: trains, saves checkpoints, validates, and writes the model folder."""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from regard.data.batching.batches import batches
from regard.errors import RunError
from regard.interchange.ctranslate2.export import ensure_export
from regard.interchange.ctranslate2.support import supports_model
from regard.model_folder.folder import ModelFolder
from regard.model_folder.writer import save_folder
from regard.models.build import build_model
from regard.models.interface import SequenceModel
from regard.progress import Progress
from regard.training.checkpoints import Checkpoints, DamagedCheckpointsError, RunState
from regard.training.divergence import divergence_message
from regard.training.optimizers.adam import make_optimizer
from regard.training.out_of_memory import MicroBatchSlices
from regard.training.parallel.threads import torch_threads
from regard.training.planning.plan import Plan
from regard.training.prepared_data import PreparedData
from regard.training.step import Step, derived_seed, training_steps
from regard.training.tracking.events import Event, Finished, Note, Planned, Stopped
from regard.training.tracking.log import Log
from regard.training.tracking.model_card import write_card
from regard.training.validation import Validation, Validator

SAVE_SECONDS = 600  # maximum time between checkpoints; a crash loses at most about this much training time

# If there are at least this many validation sentences, BLEU decides which parameters are kept. With fewer sentences,
# BLEU is mostly noise, so the loss decides.
MIN_BLEU_SENTENCES = 200


def train_by_plan(out: Path, plan: Plan, data: PreparedData, stop: Callable[[], bool]) -> Iterator[Event]:
    """Train from the newest checkpoint, if any, to the end of the plan, and write the model folder."""
    model = _build_model(plan, data.parent)
    optimizer = make_optimizer(model, plan.settings.train)
    checkpoints = Checkpoints(out / "run" / "checkpoints")
    try:
        state, problems = checkpoints.resume(model, optimizer)
    except DamagedCheckpointsError as error:
        raise _explain_damage(error, out / "run", plan, data, checkpoints) from None
    for problem in problems:
        yield Note(f"a checkpoint is damaged, so the run continues from the previous one: {problem}")
    yield Planned(plan, state.step)
    trainer = _Trainer(out, plan, data, model, optimizer, checkpoints, state)
    tensorboard = plan.settings.train.tensorboard
    with torch_threads(plan.threads):
        with Log(out / "run", state.step, tensorboard=tensorboard) as log:
            is_complete = yield from trainer.run(log, stop)
        if is_complete:
            yield from trainer.finish()


class _Trainer:
    """A training run in progress: the model, the optimizer and the run state."""

    def __init__(
        self,
        out: Path,
        plan: Plan,
        data: PreparedData,
        model: SequenceModel,
        optimizer: torch.optim.Optimizer,
        checkpoints: Checkpoints,
        state: RunState,
    ) -> None:
        self._out = out
        self._plan = plan
        self._settings = plan.settings.train
        self._data = data
        self._model = model
        self._optimizer = optimizer
        self._checkpoints = checkpoints
        self._state = state
        self._saved_step, self._saved_time = state.step, time.monotonic()
        self._validator = Validator(data.texts, data.corpus, data.tokenizer, plan.settings)
        self._slices = MicroBatchSlices(out / "run" / "slices.json")

    def run(self, log: Log, stop: Callable[[], bool]) -> Generator[Event, None, bool]:
        """Train, save checkpoints and validate, to the last step of the plan or until early stopping.

        Return whether the run is complete; it is not if `stop` interrupted it.
        """
        steps = self._steps()
        while True:
            is_stopping = stop()
            is_overdue = time.monotonic() - self._saved_time > SAVE_SECONDS
            if (is_stopping or is_overdue) and self._saved_step < self._state.step:
                self._save()
            if is_stopping:
                yield Stopped(self._state.step)
                return False
            if self._plan.validates(self._state.step) and self._state.validated_step < self._state.step:
                yield self._validate(log)
                continue  # call `stop` again, because the user may have stopped the run during the validation
            if self._state.is_stale(self._settings.patience):
                yield Note(f"the validation loss has not improved for {self._state.stale} validations: stopping early")
                return True
            if self._state.step == self._settings.steps:
                return True
            yield from self._record(next(steps), log)

    def finish(self) -> Iterator[Event]:
        """Choose the parameters with the best validation scores, and write the model folder.

        The choice is between the last checkpoint, the average of the last checkpoints, and the checkpoint with the best
        validation loss.
        """
        candidates = self._candidates()
        scored: list[tuple[Validation, str, dict[str, Tensor]]] = []
        for number, (name, parameters) in enumerate(candidates.items()):
            yield Progress("choosing the parameters to keep", number, len(candidates))
            self._model.load_state_dict(parameters)
            scored.append((self._validator.full(self._model, self._state.step), name, parameters))
        if not scored:
            raise RunError(
                f"the parameters to keep cannot be read: {self._checkpoints.parameter_damage(self._state.step)}; check "
                "the disk, and run the same command again, which continues from the newest undamaged checkpoint"
            )
        by_loss = scored[0][0].sentences < MIN_BLEU_SENTENCES
        scores, kept, parameters = max(scored, key=lambda entry: _merit(entry[0], by_loss=by_loss))
        scores_by_name = [(name, validation) for validation, name, _ in scored]
        save_folder(
            self._out,
            settings=self._plan.settings.model,
            weights=parameters,
            tokenizer=self._data.tokenizer,
            languages=self._data.languages,
            decode=self._plan.settings.decode,
            language_profiles=self._data.language_profiles,
            card=write_card(self._plan, self._data, self._state, self._slices, scores_by_name, kept),
        )
        if supports_model(self._plan.settings.model):
            yield Progress("exporting to CTranslate2", 0, 1)
            ensure_export(self._out)
        yield Finished(self._out, scores, kept)

    def _steps(self) -> Iterator[Step]:
        stream = batches(
            self._data.corpus.train,
            tokens=self._settings.micro_batch_tokens,
            seed=self._settings.seed,
            position=self._state.position,
            weights=self._plan.request.get("weights", ()),
            minimal_pair_weight=self._settings.minimal_pair_weight,
        )
        return training_steps(
            self._model,
            self._optimizer,
            stream,
            self._settings,
            first=self._state.step + 1,
            min_slices=self._slices.at,
        )

    def _save(self) -> None:
        self._checkpoints.save(self._model, self._optimizer, self._state)
        self._checkpoints.prune({*self._plan.averaged_steps(self._state.step), self._state.best_step})
        self._saved_step, self._saved_time = self._state.step, time.monotonic()

    def _validate(self, log: Log) -> Validation:
        """Validate the model, log the scores and save a checkpoint."""
        try:
            validation = self._validator.quick(self._model, self._state.step)
        except FloatingPointError as error:
            raise self._diverged(str(error)) from None
        scores = {} if validation.bleu is None else {"bleu": validation.bleu, "chrf": validation.chrf}
        log.write(self._state.step, validation_loss=validation.loss, **scores)
        self._state = self._state.validated(validation.loss)
        self._save()
        return validation

    def _record(self, step: Step, log: Log) -> Iterator[Event]:
        """Log a step, yield notes if memory ran out or the step was skipped, and check whether the run diverges."""
        unusual = {
            **({"skipped": True} if step.skipped else {}),
            **({"slices": step.slices} if step.slices > 1 else {}),
        }
        log.write(step.step, loss=step.loss, learning_rate=step.learning_rate, seconds=step.seconds, **unusual)
        if step.slices > self._slices.at(step.step):
            self._slices.record(step.step, step.slices)
            yield Note(
                f"step {step.step:,} did not fit in memory: from this step on, micro-batches are {step.slices} times "
                "smaller"
            )
        divergence = self._state.divergence
        divergence = divergence.after_skipped() if step.skipped else divergence.after(step.loss)
        if step.skipped:
            yield Note(
                f"step {step.step:,} was skipped because its gradient is not finite ({divergence.skipped:,} so far)"
            )
        yield step
        self._state = replace(self._state, step=step.step, position=step.position, divergence=divergence)
        if problem := divergence.problem():
            raise self._diverged(problem)

    def _diverged(self, problem: str) -> RunError:
        best_step = self._state.best_step
        best = self._checkpoints.path(best_step) if best_step else None
        return RunError(divergence_message(problem, self._state.step, self._settings, best))

    def _candidates(self) -> dict[str, dict[str, Tensor]]:
        """Return the parameters to choose from, by name; damaged checkpoints are left out."""
        step, best_step = self._state.step, self._state.best_step
        average = self._checkpoints.average(self._plan.averaged_steps(step))
        last, best = self._checkpoints.weights(step), self._checkpoints.weights(best_step)
        candidates = {
            "the last checkpoint": last,
            f"the average of the last {average.count} checkpoints": average.weights if average.count > 1 else None,
            f"the checkpoint with the best validation loss, step {best_step:,}": best if best_step != step else None,
        }
        return {name: parameters for name, parameters in candidates.items() if parameters is not None}


def _explain_damage(
    error: DamagedCheckpointsError, run: Path, plan: Plan, data: PreparedData, checkpoints: Checkpoints
) -> RunError:
    """Return the error that stops a run without an undamaged checkpoint; it says what is left and how to continue.

    The newest undamaged parameters are written as a model folder, because a checkpoint alone cannot be fine-tuned.
    """
    message = "\n".join(
        [
            "the run cannot continue, because all checkpoints with an optimizer state are damaged:",
            *(f"  {problem}" for problem in error.problems),
            "restore one of them from a copy and run the same command again, or start a new run in another --out",
        ]
    )
    for step in reversed(error.with_parameters):
        if (parameters := checkpoints.weights(step)) is not None:
            recovered = run / f"recovered-{checkpoints.path(step).name}"
            save_folder(
                recovered,
                settings=plan.settings.model,
                weights=parameters,
                tokenizer=data.tokenizer,
                languages=data.languages,
                decode=plan.settings.decode,
                language_profiles=data.language_profiles,
                card=f"# Parameters after step {step:,} of an unfinished run\n",
            )
            steps = ", ".join(f"{each:,}" for each in error.with_parameters)
            return RunError(
                f"{message}; the parameters of {'step' if len(error.with_parameters) == 1 else 'steps'} {steps} are "
                f"undamaged, and those of step {step:,} were written as a model folder, from which the new run can "
                f"start: --from {recovered}"
            )
    return RunError(message)


def _merit(validation: Validation, *, by_loss: bool) -> tuple[float, float]:
    return -validation.loss if by_loss or validation.bleu is None else validation.bleu, -validation.loss


def _build_model(plan: Plan, parent: ModelFolder | None) -> SequenceModel:
    """Build the model before training: with random parameters, or with those of the model to fine-tune."""
    seed = derived_seed(plan.settings.train.seed, "weights")
    model = build_model(plan.settings.model, plan.settings.train.dropout, seed=seed)
    if parent is not None:
        model.load_state_dict(parent.build().state_dict())
    return model.to(plan.device)
