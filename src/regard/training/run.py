"""A training run from files to model folder. `train` is a generator: it yields what happens and prints nothing.

Its stages are preparing the data, fixing the plan, learning, and choosing the weights to keep. Each leaves its result
whole on disk, so that the same command goes on wherever it was interrupted.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch import Tensor

from regard.data.batches import batches
from regard.data.pairs import corpora, languages
from regard.data.shards import Shards, prepare_ids
from regard.data.texts import Preparing, Texts, fingerprint, prepare_texts
from regard.data.tokenizer import Tokenizer, choose_size, train_tokenizer
from regard.errors import RunError
from regard.files import new_folder, read_json, sha256, write_json
from regard.folder import Languages, ModelFolder, open_folder, save_folder
from regard.model.transformer import Transformer
from regard.settings import FINE_TUNE, Settings, assemble, size_layer, user_layer
from regard.training import plan as planning
from regard.training.card import write_card
from regard.training.checkpoints import Checkpoints, Progress
from regard.training.log import Log
from regard.training.loop import Step, derived_seed, learn, make_optimizer
from regard.training.plan import Plan
from regard.training.validation import Validation, Validator

TOKENIZER_SENTENCES = 1_000_000  # more text does not make better pieces


@dataclass(frozen=True)
class Note:
    """Something worth saying."""

    text: str


@dataclass(frozen=True)
class Planned:
    """The plan is fixed; learning begins, or goes on, after step `resumed`."""

    plan: Plan
    resumed: int


@dataclass(frozen=True)
class Stopped:
    """Asked to stop, the run saved itself after `step`. The same command goes on."""

    step: int


@dataclass(frozen=True)
class Finished:
    """The model is in `folder`, with these validation scores."""

    folder: Path
    scores: Validation | None = None
    kept: str = ""


Event = Preparing | Note | Planned | Step | Validation | Stopped | Finished


def train(
    paths: Sequence[str | Path],
    *,
    out: str | Path,
    valid: Sequence[str | Path] = (),
    size: str | None = None,
    budget: float | None = None,
    steps: int | None = None,
    parent: str | Path | None = None,
    sides: tuple[str, str] | None = None,
    overrides: Sequence[str] = (),
    settings_file: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Train a translator on line-aligned files or TSVs and write it to the folder `out`.

    `budget` is in seconds. `stop` is asked after every step. The same call goes on where it was interrupted.
    """
    began = time.monotonic()
    out = Path(out)
    if steps is not None and budget is not None:
        raise RunError("give --steps or --budget, not both: a budget is turned into steps")
    if parent is not None and size is not None:
        raise RunError("a fine-tune keeps the size of the model it starts from; leave --size out")
    train_corpora = corpora([Path(path) for path in paths])
    valid_corpora = corpora([Path(path) for path in valid]) if valid else []
    user = user_layer(overrides, settings_file)
    if size is not None:
        size_layer(size)
    assemble(user)  # mistakes in settings come before any work
    start_from = open_folder(Path(parent)) if parent is not None else None
    found: Languages = sides or (start_from.languages if start_from else languages(train_corpora))
    request = {
        "training data": fingerprint(train_corpora),
        "validation data": fingerprint(valid_corpora),
        "languages": list(found),
        "size": size,
        "budget": budget,
        "steps": steps,
        "from": sha256(start_from.path / "manifest.json") if start_from else None,
        "settings": {f"{section}.{name}": value for section, values in user.items() for name, value in values.items()},
    }
    run = out / "run"
    old = _checked_plan(run / "plan.json", request, out)
    if old is not None and (out / "manifest.json").exists():
        yield Finished(out)
        return
    if old is None and out.exists() and any(path.name != "run" for path in out.iterdir()):
        raise RunError(f"{out} exists and was not made by this command; choose another --out, or remove it first")
    with _alone(run):
        seed = assemble(user).train.seed
        texts = yield from prepare_texts(run / "texts", train_corpora, valid_corpora, seed=seed)
        chosen = _Choice(size, budget, steps, user, start_from)
        device = planning.pick_device(assemble(user).train.device)
        settings, reasons = chosen.settings(len(texts.train), device) if old is None else (old.settings, [])
        tokenizer = start_from.tokenizer if start_from else (yield from _tokenizer(run, texts, settings))
        if old is None:
            settings = replace(settings, model=replace(settings.model, vocabulary=tokenizer.rows))
            reasons.append(f"{tokenizer.size:,} pieces for {texts.words:,} words of text")
        shards = yield from prepare_ids(run / "shards", texts, tokenizer, longest=settings.model.longest)
        if shards.dropped:
            dropped = ", ".join(f"{reason}: {count:,}" for reason, count in shards.dropped.items())
            yield Note(f"left out {dropped}; {run / 'shards' / 'dropped.tsv'} lists them")
        if old is None:
            plan = yield from _make_plan(chosen, settings, reasons, request, shards, device, began)
            planning.save_plan(run / "plan.json", plan)
        else:
            plan = old
            if plan.versions != planning.versions():
                yield Note("the run began with other versions of its libraries: it goes on, but not bit for bit")
        yield from _learn(out, plan, found, texts, shards, tokenizer, start_from, stop)


def _checked_plan(path: Path, request: dict[str, Any], out: Path) -> Plan | None:
    """The plan of the run in this folder, if there is one and it was asked for in the same words."""
    if not path.exists():
        return None
    plan = planning.load_plan(path)
    if changed := planning.differences(plan.request, request):
        raise RunError(
            f"{out} holds a run that was started differently:\n" + "\n".join(changed) + "\n"
            "give the same command to go on with it, or another --out for a new run"
        )
    return plan


@contextmanager
def _alone(run: Path) -> Iterator[None]:
    """No two processes work on one run. The system lifts the lock when a process dies."""
    run.mkdir(parents=True, exist_ok=True)
    lock = FileLock(run / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise RunError(f"another process is training in {run.parent}; wait for it, or choose another --out") from None
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True)
class _Choice:
    """What the user chose, and what that leaves to us."""

    size: str | None
    budget: float | None
    steps: int | None
    user: Any
    parent: ModelFolder | None

    def settings(self, pairs: int, device: str) -> tuple[Settings, list[str]]:
        if self.parent is not None:
            settings = assemble(FINE_TUNE, self.user)
            if "model" in self.user:
                raise RunError("a fine-tune keeps the model it starts from; leave model.* settings out")
            reason = f"a fine-tune of {self.parent.path.name}, with its size and pieces"
            return replace(settings, model=self.parent.settings), [reason]
        size, reason = planning.choose_size(pairs, device)
        if self.size is not None:
            size, reason = self.size, f"size {self.size}, as asked"
        return assemble(size_layer(size), self.user), [reason]


def _tokenizer(run: Path, texts: Texts, settings: Settings) -> Generator[Preparing, None, Tokenizer]:
    """Find the pieces, or read those an earlier start of this run found."""
    folder = run / "tokenizer"
    made_from = {"texts": sha256(texts.folder / "manifest.json"), "settings": asdict(settings.tokenizer)}
    if (folder / "made_from.json").exists() and read_json(folder / "made_from.json") == made_from:
        return Tokenizer.load(folder / "tokenizer.model")
    pieces = settings.tokenizer.pieces or choose_size(texts.words)
    yield Preparing("finding pieces", 0, 1)
    sentences = texts.train.sentences(most=TOKENIZER_SENTENCES)
    data = train_tokenizer(sentences, kind=settings.tokenizer.kind, pieces=pieces)
    with new_folder(folder) as new:
        (new / "tokenizer.model").write_bytes(data)
        write_json(new / "made_from.json", made_from)
    yield Preparing("finding pieces", 1, 1)
    return Tokenizer(data)


def _make_plan(
    chosen: _Choice,
    settings: Settings,
    reasons: list[str],
    request: dict[str, Any],
    shards: Shards,
    device: str,
    began: float,
) -> Generator[Event, None, Plan]:
    """Measure the machine and fix the number of steps."""
    yield Preparing("measuring speed", 0, 1)
    model = Transformer(settings.model, settings.train.dropout).to(device)
    stream = batches(shards.train, tokens=settings.train.micro_tokens, seed=settings.train.seed)
    seconds_per_step, tokens_per_step = planning.measure(model, stream, settings.train)
    yield Preparing("measuring speed", 1, 1)
    if chosen.steps is not None:
        steps, reason = chosen.steps, f"{chosen.steps:,} steps, as asked"
    elif chosen.budget is not None:
        steps = planning.steps_within(chosen.budget - (time.monotonic() - began), seconds_per_step)
        reason = f"{steps:,} steps, what fits in the budget at {tokens_per_step / seconds_per_step:,.0f} pieces a second"
    elif "steps" in chosen.user.get("train", {}) or chosen.size in ("base", "big"):
        steps, reason = settings.train.steps, f"{settings.train.steps:,} steps, from the settings"
    else:
        steps, reason = planning.choose_steps(len(shards.train.target_ids), tokens_per_step, seconds_per_step)
    return Plan(
        request=request,
        settings=planning.with_steps(settings, steps),
        validate_every=settings.train.validate_every or max(1, steps // planning.VALIDATIONS),
        seconds_per_step=seconds_per_step,
        threads=torch.get_num_threads(),
        device=device,
        versions=planning.versions(),
        reasons=(*reasons, reason),
    )


def _learn(
    out: Path,
    plan: Plan,
    found: Languages,
    texts: Texts,
    shards: Shards,
    tokenizer: Tokenizer,
    parent: ModelFolder | None,
    stop: Callable[[], bool],
) -> Iterator[Event]:
    """Take the plan's steps from where the newest checkpoint is, then choose the weights to keep."""
    settings = plan.settings.train
    torch.set_num_threads(plan.threads)
    torch.manual_seed(derived_seed(settings.seed, "weights"))
    model = Transformer(plan.settings.model, settings.dropout)
    if parent is not None:
        model.load_state_dict(parent.build().state_dict())
    model.to(plan.device)
    optimizer = make_optimizer(model, settings)
    checkpoints = Checkpoints(out / "run" / "checkpoints")
    progress, problems = checkpoints.resume(model, optimizer)
    for problem in problems:
        yield Note(f"a checkpoint is damaged, so the one before it is used: {problem}")
    yield Planned(plan, progress.step)
    validator = Validator(texts, shards, tokenizer, plan.settings)
    stream = batches(
        shards.train, tokens=settings.micro_tokens, seed=settings.seed, position=progress.position
    )
    with Log(out / "run", resumed_step=progress.step, tensorboard=settings.tensorboard) as log:
        for step in learn(model, optimizer, stream, settings, width=plan.settings.model.width, first=progress.step + 1):
            log.write(step.step, loss=step.loss, learning_rate=step.learning_rate, seconds=step.seconds)
            yield step
            progress = replace(progress, step=step.step, position=step.position)
            if plan.validates(step.step):
                validation = validator.quick(model, step.step)
                log.write(step.step, validation_loss=validation.loss, bleu=validation.bleu, chrf=validation.chrf)
                progress = progress.validated(validation.loss)
                checkpoints.save(model, optimizer, progress)
                checkpoints.prune({*plan.averaged_steps(step.step), progress.best_step})
                yield validation
                if settings.patience and progress.stale >= settings.patience:
                    yield Note(f"no better validation loss for {progress.stale} validations: stopping early")
                    break
            elif stop():
                checkpoints.save(model, optimizer, progress)
            if stop():
                yield Stopped(step.step)
                return
    yield from _finish(out, plan, found, texts, tokenizer, model, checkpoints, progress, validator, parent, shards)


def _finish(
    out: Path,
    plan: Plan,
    found: Languages,
    texts: Texts,
    tokenizer: Tokenizer,
    model: Transformer,
    checkpoints: Checkpoints,
    progress: Progress,
    validator: Validator,
    parent: ModelFolder | None,
    shards: Shards,
) -> Iterator[Event]:
    """Choose among the last weights, their average, and the best on the way; write the model folder."""
    candidates = _candidates(plan, checkpoints, progress)
    scored: list[tuple[Validation, str, dict[str, Tensor]]] = []
    for number, (name, weights) in enumerate(candidates.items()):
        yield Preparing("choosing weights", number, len(candidates))
        model.load_state_dict(weights)
        scored.append((validator.full(model, progress.step), name, weights))
    scores, kept, weights = max(scored, key=lambda entry: (entry[0].bleu, -entry[0].loss))
    card = write_card(
        plan=plan,
        languages=found,
        texts=texts,
        shards=shards,
        steps=progress.step,
        candidates=[(name, validation) for validation, name, _ in scored],
        kept=kept,
        parent=parent,
    )
    save_folder(out, settings=plan.settings.model, weights=weights, tokenizer=tokenizer, languages=found, card=card)
    yield Finished(out, scores, kept)


def _candidates(plan: Plan, checkpoints: Checkpoints, progress: Progress) -> dict[str, dict[str, Tensor]]:
    averaged = plan.averaged_steps(progress.step)
    candidates = {"the last checkpoint": checkpoints.weights(progress.step)}
    if len(averaged) > 1:
        candidates[f"the average of the last {len(averaged)} checkpoints"] = checkpoints.average(averaged)
    if progress.best_step != progress.step:
        name = f"the checkpoint of the best validation loss, step {progress.best_step:,}"
        candidates[name] = checkpoints.weights(progress.best_step)
    return candidates
