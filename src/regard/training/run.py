"""A training run from files to model folder. `train` is a generator: it yields what happens and prints nothing.

Its stages are preparing the data, fixing the plan, learning, and choosing the weights to keep. Each leaves its result
whole on disk, so that the same command goes on wherever it was interrupted.
"""

import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from torch import Tensor

from regard.data.batches import batches, epoch_tokens
from regard.data.check import check
from regard.data.pairs import Corpus, check_direction, corpora
from regard.data.pairs import languages as named_languages
from regard.data.shards import Shards, prepare_ids
from regard.data.standard_input import keep_stream, reads_standard_input
from regard.data.texts import Preparing, Texts, describe, prepare_texts, seal
from regard.data.tokenizer import Tokenizer, choose_size, train_tokenizer
from regard.decoding.convert import make_fast
from regard.errors import RunError
from regard.files import damage, make_folder, new_folder, read_json, sha256, write_json
from regard.folder import Languages, ModelFolder, open_folder, save_folder
from regard.model.transformer import Transformer
from regard.settings import FINE_TUNE, Layer, Settings, TrainSettings, assemble, size_layer, user_layer
from regard.training import memory
from regard.training import plan as planning
from regard.training.card import Prepared, write_card
from regard.training.checkpoints import Checkpoints, Progress
from regard.training.health import advice
from regard.training.log import Log, check_tensorboard
from regard.training.loop import Step, derived_seed, learn, make_optimizer
from regard.training.plan import Plan
from regard.training.splits import Splits, explained
from regard.training.validation import Validation, Validator

TOKENIZER_SENTENCES = 1_000_000  # more text does not make better pieces
SAVE_SECONDS = 600  # the most a crash can cost
FEW_SENTENCES = 200


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
    """Train a translator on pairs of texts (docs/data.md says what is read) and write it to the folder `out`.

    `budget` is in seconds. `stop` is asked after every step. The same call goes on where it was interrupted.
    """
    began = time.monotonic()
    out = Path(out)
    folder = open_folder(Path(parent)) if parent is not None else None
    wish = _Wish(size, budget, steps, user_layer(overrides, settings_file), folder)
    wish.check()
    _check_place(out)
    kept = yield from _keep_standard_input(out, paths)
    known = languages or _both(folder.languages if folder else (None, None))
    train_corpora = corpora([Path(path) for path in paths], languages=known, standard_input=kept)
    valid_corpora = corpora([Path(path) for path in valid], languages=known)
    sides: Languages = languages or (folder.languages if folder else named_languages(train_corpora))
    if languages is None:
        check_direction([*train_corpora, *valid_corpora])
    request = {
        "training data": (yield from describe(train_corpora)),
        "validation data": (yield from describe(valid_corpora)),
        **_weights(train_corpora, valid_corpora),
        "languages": list(sides),
        **wish.request(),
    }
    with _alone(out / "run"):
        plan = _checked_plan(out, request)
        if plan is not None and (out / "manifest.json").exists():
            make_fast(out)
            yield Finished(out)
            return
        if plan is None:
            yield from _check(out / "run", train_corpora, valid_corpora)
        texts = yield from prepare_texts(out / "run" / "texts", train_corpora, valid_corpora, seed=wish.train.seed)
        plan, made = yield from _prepare(out / "run", plan, wish, request, sides, texts, began)
        with explained():
            yield from _learn(out, plan, made, stop)


def _check_place(out: Path) -> None:
    """Whether `out` is free, or holds a run."""
    if out.exists() and not out.is_dir():
        raise RunError(f"--out {out} is a file; choose another name for the model folder")
    if out.exists() and not (out / "run").exists() and any(out.iterdir()):
        raise RunError(f"{out} holds other files already; choose another --out, or remove it first")


def _keep_standard_input(out: Path, paths: Sequence[str | Path]) -> Generator[Event, None, Path | None]:
    """Where the pairs that came by standard input are kept, so that a run can go on without them; None if none came."""
    if not reads_standard_input([Path(path) for path in paths]):
        return None
    kept = out / "run" / "standard-input.tsv"
    with _alone(out / "run"):
        if (out / "run" / "plan.json").exists() and kept.exists():
            yield Note(f"standard input is not read again: the run goes on with what it gave, {kept}")
        else:
            yield Preparing("reading standard input", 0, 1)
            keep_stream(sys.stdin.buffer, kept)
    return kept


def _both(languages: Languages) -> tuple[str, str] | None:
    """Source and target, if both are known."""
    source, target = languages
    return (source, target) if source is not None and target is not None else None


def _weights(train: Sequence[Corpus], valid: Sequence[Corpus]) -> dict[str, list[float]]:
    """The weights of the training corpora, where there are any."""
    for corpus in valid:
        if corpus.weight != 1:
            raise RunError(
                f"{corpus.name}={corpus.weight:g}: all validation pairs count the same; leave the weight out"
            )
    weights = [corpus.weight for corpus in train]
    return {"weights": weights} if any(weight != 1 for weight in weights) else {}


def _check(run: Path, train: Sequence[Corpus], valid: Sequence[Corpus]) -> Generator[Event, None, None]:
    """Stop on what cannot be trained on, and say what deserves a word."""
    report = yield from check(train, valid)
    write_json(run / "check.json", asdict(report))
    for found in report.notable():
        yield Note(found.sentence())


def _checked_plan(out: Path, request: dict[str, Any]) -> Plan | None:
    """The plan of the run in this folder, if there is one and it was asked for in the same words."""
    if not (out / "run" / "plan.json").exists():
        if (out / "manifest.json").exists():
            raise RunError(f"{out} holds a finished model; choose another --out, or remove it first")
        return None
    plan = planning.load_plan(out / "run" / "plan.json")
    if changed := planning.differences(plan.request, request):
        raise RunError(
            f"{out} holds a run that was started differently:\n" + "\n".join(changed) + "\n"
            "give the same command to go on with it, or another --out for a new run"
        )
    planning.pick_device(plan.device)
    return plan


@contextmanager
def _alone(run: Path) -> Iterator[None]:
    """No two processes work on one run. The system lifts the lock when a process dies."""
    make_folder(run)
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
        """Mistakes come before any work; what would have no effect is refused."""
        if self.steps is not None and self.budget is not None:
            raise RunError("give --steps or --budget, not both: a budget is turned into steps")
        if (self.steps is not None or self.budget is not None) and "steps" in self.user.get("train", {}):
            raise RunError("give train.steps, or --steps, or --budget: one of them says how long to train")
        if "vocabulary" in self.user.get("model", {}):
            raise RunError("model.vocabulary follows from the tokenizer; set tokenizer.pieces instead")
        if self.parent is not None:
            if self.size is not None:
                raise RunError("a fine-tune keeps the size of the model it starts from; leave --size out")
            for part in ("model", "tokenizer"):
                if part in self.user:
                    raise RunError(f"a fine-tune keeps the {part} it starts from; leave {part}.* settings out")
        if self.train.tensorboard:
            check_tensorboard()

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
    def train(self) -> TrainSettings:
        """What does not depend on the size: seed, device."""
        return assemble(size_layer(self.size or "tiny"), self.user).train

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
    if damage(folder) is None and read_json(folder / "made_from.json") == made_from:
        return Tokenizer.load(folder / "tokenizer.model")
    pieces = settings.tokenizer.pieces or choose_size(texts.words)
    yield Preparing("finding pieces", 0, 1)
    sentences = texts.train.sentences(most=TOKENIZER_SENTENCES)
    data = train_tokenizer(sentences, kind=settings.tokenizer.kind, pieces=pieces)
    with new_folder(folder) as new:
        (new / "tokenizer.model").write_bytes(data)
        write_json(new / "made_from.json", made_from)
        seal(new)
    yield Preparing("finding pieces", 1, 1)
    return Tokenizer(data)


def _prepare(
    run: Path, plan: Plan | None, wish: _Wish, request: dict[str, Any], sides: Languages, texts: Texts, began: float
) -> Generator[Event, None, tuple[Plan, Prepared]]:
    """Find the pieces, turn the texts into numbers, and fix the plan, or read what an earlier start made."""
    device = planning.pick_device(wish.train.device)
    settings, reasons = wish.settings(len(texts.train), device) if plan is None else (plan.settings, [])
    tokenizer = wish.parent.tokenizer if wish.parent else (yield from _tokenizer(run, texts, settings))
    shards = yield from prepare_ids(run / "shards", texts, tokenizer, longest=settings.model.longest)
    if shards.dropped:
        dropped = ", ".join(f"{reason}: {count:,}" for reason, count in shards.dropped.items())
        yield Note(f"left out {dropped}; {run / 'shards' / 'dropped.tsv'} lists them")
    if plan is None:
        settings = replace(settings, model=replace(settings.model, vocabulary=tokenizer.rows))
        names = " to ".join(side or "unknown" for side in sides)
        reasons = [f"languages {names} (--languages names them)", *reasons]
        reasons.append(f"{tokenizer.size:,} pieces for {texts.words:,} words of text")
        with explained():
            plan = yield from _make_plan(wish, settings, reasons, request, shards, device, began)
        planning.save_plan(run / "plan.json", plan)
    elif plan.versions != planning.versions():
        yield Note("the run began with other versions of its libraries: it goes on, but not bit for bit")
    return plan, Prepared(sides, texts, shards, tokenizer, wish.parent)


def _make_plan(
    wish: _Wish,
    settings: Settings,
    reasons: list[str],
    request: dict[str, Any],
    shards: Shards,
    device: str,
    began: float,
) -> Generator[Event, None, Plan]:
    """Measure the machine and fix the micro-batch and the number of steps."""
    yield Preparing("measuring speed", 0, 1)
    free = memory.free_memory(device)
    weights = memory.weights_bytes(settings.model, device)
    memory.check(weights, free)
    model = Transformer(settings.model, settings.train.dropout).to(device)
    mixed = request.get("weights", ())
    few, _ = next(batches(shards.train, tokens=memory.LEAST_TOKENS, seed=settings.train.seed, weights=mixed))
    per_piece = memory.bytes_per_piece(model, few, settings.train)
    tokens, reason = memory.fit(weights, per_piece, settings.train.micro_tokens, free)
    settings = replace(settings, train=replace(settings.train, micro_tokens=tokens))
    reasons.append(reason)
    stream = batches(shards.train, tokens=settings.train.micro_tokens, seed=settings.train.seed, weights=mixed)
    # Steps that are given need only a rough estimate of their time.
    speed = planning.measure(model, stream, settings.train, 2.0 if wish.steps is not None else 6.0)
    yield Preparing("measuring speed", 1, 1)
    if wish.steps is not None:
        steps, reason = wish.steps, f"{wish.steps:,} steps, as asked"
    elif wish.budget is not None:
        steps = planning.steps_within(wish.budget, time.monotonic() - began, speed.seconds)
        reason = f"{steps:,} steps, what fits in the budget at {speed.tokens / speed.seconds:,.0f} pieces a second"
    elif "steps" in wish.user.get("train", {}) or wish.size in ("base", "big"):
        steps, reason = settings.train.steps, f"{settings.train.steps:,} steps, from the settings"
    else:
        steps, reason = planning.choose_steps(epoch_tokens(shards.train, mixed), speed)
    reasons.append(reason)
    if settings.train.schedule == "paper" and steps <= settings.train.warmup:
        reasons.append(f"note: the learning rate rises for {settings.train.warmup:,} steps (train.warmup), to the end")
    # A size's own interval is meant for its own number of steps.
    every = settings.train.validate_every
    if not every or (steps != settings.train.steps and "validate_every" not in wish.user.get("train", {})):
        every = planning.choose_validations(steps, speed.seconds)
    return Plan(
        request=request,
        settings=planning.with_steps(settings, steps),
        validate_every=every,
        seconds_per_step=speed.seconds,
        threads=torch.get_num_threads(),
        device=device,
        versions=planning.versions(),
        reasons=tuple(reasons),
    )


def _learn(out: Path, plan: Plan, made: Prepared, stop: Callable[[], bool]) -> Iterator[Event]:
    """Take the plan's steps from where the newest checkpoint is, then choose the weights to keep."""
    settings = plan.settings.train
    model = _begin(plan, made.parent)
    optimizer = make_optimizer(model, settings)
    checkpoints = Checkpoints(out / "run" / "checkpoints")
    progress, problems = checkpoints.resume(model, optimizer)
    for problem in problems:
        yield Note(f"a checkpoint is damaged, so the run goes on from the one before it, if any: {problem}")
    yield Planned(plan, progress.step)
    validator = Validator(made.texts, made.shards, made.tokenizer, plan.settings)
    splits = Splits(out / "run" / "splits.json")
    stream = batches(
        made.shards.train,
        tokens=settings.micro_tokens,
        seed=settings.seed,
        position=progress.position,
        weights=plan.request.get("weights", ()),
    )
    width, first = plan.settings.model.width, progress.step + 1
    steps = learn(model, optimizer, stream, settings, width=width, first=first, parts=splits.parts)
    with _threads(plan.threads), Log(out / "run", progress.step, tensorboard=settings.tensorboard) as log:
        saved_step, saved_time = progress.step, time.monotonic()
        while True:
            stopping = stop()
            overdue = time.monotonic() - saved_time > SAVE_SECONDS
            if (stopping or overdue) and saved_step < progress.step:
                checkpoints.save(model, optimizer, progress)
                saved_step, saved_time = progress.step, time.monotonic()
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
                checkpoints.save(model, optimizer, progress)
                checkpoints.prune({*plan.averaged_steps(progress.step), progress.best_step})
                saved_step, saved_time = progress.step, time.monotonic()
                yield validation
                continue  # whoever wants to stop has waited for the validation
            if progress.is_stale(settings.patience):
                yield Note(f"no better validation loss for {progress.stale} validations: stopping early")
                break
            if progress.step == settings.steps:
                break
            step = next(steps)
            progress = yield from _record(step, progress, splits, log)
            if seen := progress.health.trouble():
                raise _diverged(seen, progress, checkpoints, settings)
    yield from _finish(out, plan, made, model, checkpoints, progress, splits, validator)


def _diverged(seen: str, progress: Progress, checkpoints: Checkpoints, settings: TrainSettings) -> RunError:
    best = checkpoints.path(progress.best_step) if progress.best_step else None
    return RunError(advice(seen, progress.step, settings, best))


def _record(step: Step, progress: Progress, splits: Splits, log: Log) -> Generator[Event, None, Progress]:
    """Write down what a step did, and say what was unusual."""
    unusual = {**({"skipped": True} if step.skipped else {}), **({"parts": step.parts} if step.parts > 1 else {})}
    log.write(step.step, loss=step.loss, learning_rate=step.learning_rate, seconds=step.seconds, **unusual)
    if step.parts > splits.parts(step.step):
        splits.record(step.step, step.parts)
        yield Note(
            f"step {step.step:,} did not fit in memory: from it on, each micro-batch is cut into {step.parts} parts"
        )
    health = progress.health.after_skipped() if step.skipped else progress.health.after(step.loss)
    if step.skipped:
        yield Note(f"step {step.step:,} is skipped, because its gradient is not finite ({health.skipped:,} so far)")
    yield step
    return replace(progress, step=step.step, position=step.position, health=health)


def _begin(plan: Plan, parent: ModelFolder | None) -> Transformer:
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
    made: Prepared,
    model: Transformer,
    checkpoints: Checkpoints,
    progress: Progress,
    splits: Splits,
    validator: Validator,
) -> Iterator[Event]:
    """Choose among the last weights, their average, and the best on the way; write the model folder."""
    candidates = _candidates(plan, checkpoints, progress)
    scored: list[tuple[Validation, str, dict[str, Tensor]]] = []
    for number, (name, weights) in enumerate(candidates.items()):
        yield Preparing("choosing weights", number, len(candidates))
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
    yield Preparing("making the engine's files", 0, 1)
    make_fast(out)
    yield Finished(out, scores, kept)


def _candidates(plan: Plan, checkpoints: Checkpoints, progress: Progress) -> dict[str, dict[str, Tensor]]:
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
