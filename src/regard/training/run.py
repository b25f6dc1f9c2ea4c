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
from regard.data.pairs import corpora
from regard.data.pairs import languages as named_languages
from regard.data.shards import Shards, prepare_ids
from regard.data.texts import Preparing, Texts, fingerprint, prepare_texts
from regard.data.tokenizer import Tokenizer, choose_size, train_tokenizer
from regard.errors import RunError
from regard.files import new_folder, read_json, sha256, write_json
from regard.folder import Languages, ModelFolder, open_folder, save_folder
from regard.model.transformer import Transformer
from regard.settings import FINE_TUNE, Layer, Settings, assemble, size_layer, user_layer
from regard.training import plan as planning
from regard.training.card import Prepared, write_card
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
    languages: tuple[str, str] | None = None,
    overrides: Sequence[str] = (),
    settings_file: Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Train a translator on line-aligned files or TSVs and write it to the folder `out`.

    `budget` is in seconds. `stop` is asked after every step. The same call goes on where it was interrupted.
    """
    began = time.monotonic()
    if steps is not None and budget is not None:
        raise RunError("give --steps or --budget, not both: a budget is turned into steps")
    if parent is not None and size is not None:
        raise RunError("a fine-tune keeps the size of the model it starts from; leave --size out")
    folder = open_folder(Path(parent)) if parent is not None else None
    wish = _Wish(size, budget, steps, user_layer(overrides, settings_file), folder)
    wish.check()
    train_corpora = corpora([Path(path) for path in paths])
    valid_corpora = corpora([Path(path) for path in valid]) if valid else []
    found: Languages = languages or (wish.parent.languages if wish.parent else named_languages(train_corpora))
    request = {
        "training data": fingerprint(train_corpora),
        "validation data": fingerprint(valid_corpora),
        "languages": list(found),
        **wish.request(),
    }
    out = Path(out)
    run = out / "run"
    plan = _checked_plan(run / "plan.json", request, out)
    if plan is not None and (out / "manifest.json").exists():
        yield Finished(out)
        return
    if plan is None and out.exists() and any(path.name != "run" for path in out.iterdir()):
        raise RunError(f"{out} holds other files already; choose another --out, or remove it first")
    with _alone(run):
        texts = yield from prepare_texts(run / "texts", train_corpora, valid_corpora, seed=wish.seed)
        device = planning.pick_device(wish.device)
        settings, reasons = wish.settings(len(texts.train), device) if plan is None else (plan.settings, [])
        tokenizer = wish.parent.tokenizer if wish.parent else (yield from _tokenizer(run, texts, settings))
        shards = yield from prepare_ids(run / "shards", texts, tokenizer, longest=settings.model.longest)
        if shards.dropped:
            dropped = ", ".join(f"{reason}: {count:,}" for reason, count in shards.dropped.items())
            yield Note(f"left out {dropped}; {run / 'shards' / 'dropped.tsv'} lists them")
        if plan is None:
            settings = replace(settings, model=replace(settings.model, vocabulary=tokenizer.rows))
            reasons.append(f"{tokenizer.size:,} pieces for {texts.words:,} words of text")
            plan = yield from _make_plan(wish, settings, reasons, request, shards, device, began)
            planning.save_plan(run / "plan.json", plan)
        elif plan.versions != planning.versions():
            yield Note("the run began with other versions of its libraries: it goes on, but not bit for bit")
        yield from _learn(out, plan, Prepared(found, texts, shards, tokenizer, wish.parent), stop)


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
class _Wish:
    """What the user chose, and what that leaves to us."""

    size: str | None
    budget: float | None
    steps: int | None
    user: Layer
    parent: ModelFolder | None

    def check(self) -> None:
        """Mistakes in settings come before any work."""
        if self.parent is not None and "model" in self.user:
            raise RunError("a fine-tune keeps the model it starts from; leave model.* settings out")
        assemble(size_layer(self.size or "tiny"), self.user)

    def request(self) -> dict[str, Any]:
        """What makes another command another run."""
        return {
            "size": self.size,
            "budget": self.budget,
            "steps": self.steps,
            "from": sha256(self.parent.path / "manifest.json") if self.parent else None,
            "settings": {f"{part}.{name}": value for part in self.user for name, value in self.user[part].items()},
        }

    @property
    def seed(self) -> int:
        return assemble(self.user).train.seed

    @property
    def device(self) -> str:
        return assemble(self.user).train.device

    def settings(self, pairs: int, device: str) -> tuple[Settings, list[str]]:
        if self.parent is not None:
            reason = f"a fine-tune of {self.parent.path.name}, with its size and pieces"
            return replace(assemble(FINE_TUNE, self.user), model=self.parent.settings), [reason]
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
    wish: _Wish,
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
    if wish.steps is not None:
        steps, reason = wish.steps, f"{wish.steps:,} steps, as asked"
    elif wish.budget is not None:
        steps = planning.steps_within(wish.budget - (time.monotonic() - began), seconds_per_step)
        reason = (
            f"{steps:,} steps, what fits in the budget at {tokens_per_step / seconds_per_step:,.0f} pieces a second"
        )
    elif "steps" in wish.user.get("train", {}) or wish.size in ("base", "big"):
        steps, reason = settings.train.steps, f"{settings.train.steps:,} steps, from the settings"
    else:
        steps, reason = planning.choose_steps(len(shards.train.target_ids), tokens_per_step, seconds_per_step)
    return Plan(
        request=request,
        settings=planning.with_steps(settings, steps),
        validate_every=settings.train.validate_every or planning.choose_validations(steps, seconds_per_step),
        seconds_per_step=seconds_per_step,
        threads=torch.get_num_threads(),
        device=device,
        versions=planning.versions(),
        reasons=(*reasons, reason),
    )


def _learn(out: Path, plan: Plan, made: Prepared, stop: Callable[[], bool]) -> Iterator[Event]:
    """Take the plan's steps from where the newest checkpoint is, then choose the weights to keep."""
    settings = plan.settings.train
    torch.set_num_threads(plan.threads)
    torch.manual_seed(derived_seed(settings.seed, "weights"))
    model = Transformer(plan.settings.model, settings.dropout)
    if made.parent is not None:
        model.load_state_dict(made.parent.build().state_dict())
    model.to(plan.device)
    optimizer = make_optimizer(model, settings)
    checkpoints = Checkpoints(out / "run" / "checkpoints")
    progress, problems = checkpoints.resume(model, optimizer)
    for problem in problems:
        yield Note(f"a checkpoint is damaged, so the one before it is used: {problem}")
    yield Planned(plan, progress.step)
    validator = Validator(made.texts, made.shards, made.tokenizer, plan.settings)
    stream = batches(made.shards.train, tokens=settings.micro_tokens, seed=settings.seed, position=progress.position)
    last = progress.step if progress.is_stale(settings.patience) else settings.steps
    steps = learn(
        model, optimizer, stream, settings, width=plan.settings.model.width, first=progress.step + 1, last=last
    )
    with Log(out / "run", resumed_step=progress.step, tensorboard=settings.tensorboard) as log:
        for step in steps:
            log.write(step.step, loss=step.loss, learning_rate=step.learning_rate, seconds=step.seconds)
            yield step
            progress = replace(progress, step=step.step, position=step.position)
            stopping = stop()
            if plan.validates(step.step):
                validation = validator.quick(model, step.step)
                log.write(step.step, validation_loss=validation.loss, bleu=validation.bleu, chrf=validation.chrf)
                progress = progress.validated(validation.loss)
                yield validation
            if stopping or plan.validates(step.step):
                checkpoints.save(model, optimizer, progress)
                checkpoints.prune({*plan.averaged_steps(step.step), progress.best_step})
            if stopping:
                yield Stopped(step.step)
                return
            if progress.is_stale(settings.patience):
                yield Note(f"no better validation loss for {progress.stale} validations: stopping early")
                break
    yield from _finish(out, plan, made, model, checkpoints, progress, validator)


def _finish(
    out: Path,
    plan: Plan,
    made: Prepared,
    model: Transformer,
    checkpoints: Checkpoints,
    progress: Progress,
    validator: Validator,
) -> Iterator[Event]:
    """Choose among the last weights, their average, and the best on the way; write the model folder."""
    candidates = _candidates(plan, checkpoints, progress)
    scored: list[tuple[Validation, str, dict[str, Tensor]]] = []
    for number, (name, weights) in enumerate(candidates.items()):
        yield Preparing("choosing weights", number, len(candidates))
        model.load_state_dict(weights)
        scored.append((validator.full(model, progress.step), name, weights))
    scores, kept, weights = max(scored, key=lambda entry: (entry[0].bleu, -entry[0].loss))
    save_folder(
        out,
        settings=plan.settings.model,
        weights=weights,
        tokenizer=made.tokenizer,
        languages=made.languages,
        card=write_card(plan, made, progress.step, [(name, validation) for validation, name, _ in scored], kept),
    )
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
