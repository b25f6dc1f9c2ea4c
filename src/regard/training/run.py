"""A training run from files to model folder. `train` is a generator: it yields what happens and prints nothing.

Its stages are preparing the data, fixing the plan, learning, and choosing the weights to keep. Each leaves its result
whole on disk, so that the same command goes on wherever it was interrupted.
"""

import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from regard.data.check import check
from regard.data.pairs import Corpus, check_direction, corpora
from regard.data.pairs import languages as named_languages
from regard.data.shards import prepare_ids
from regard.data.standard_input import keep_stream, reads_standard_input
from regard.data.texts import Preparing, Texts, describe, prepare_texts, seal
from regard.data.tokenizer import Tokenizer, choose_size, train_tokenizer
from regard.decoding.convert import make_fast
from regard.errors import RunError
from regard.files import damage, make_folder, new_folder, read_json, sha256, write_json
from regard.folder import Languages, open_folder
from regard.heap import kept_memory
from regard.settings import Settings, user_layer
from regard.training import plan as planning
from regard.training.card import Prepared
from regard.training.events import Event, Finished, Note
from regard.training.learning import learn_by
from regard.training.plan import Plan
from regard.training.splits import explained
from regard.training.wish import Wish, make_plan


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
    wish = Wish(size, budget, steps, user_layer(overrides, settings_file), folder)
    wish.check()
    check_place(out)
    kept = yield from _keep_standard_input(out, paths)
    known = languages or _both(folder.languages if folder else (None, None))
    train_corpora = corpora([Path(path) for path in paths], languages=known, standard_input=kept)
    valid_corpora = corpora([Path(path) for path in valid], languages=known)
    sides: Languages = languages or (folder.languages if folder else named_languages(train_corpora))
    if languages is None:
        check_direction([*train_corpora, *valid_corpora], folder.languages if folder else (None, None))
    request = {
        "training data": (yield from describe(train_corpora)),
        "validation data": (yield from describe(valid_corpora)),
        **_weights(train_corpora, valid_corpora),
        "languages": list(sides),
        **wish.request(),
    }
    with _alone(out / "run"), kept_memory():
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
            yield from learn_by(out, plan, made, stop)


def check_place(out: Path) -> None:
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
        came = False
        if not ((out / "run" / "plan.json").exists() and kept.exists()):
            yield Preparing("reading standard input", 0, 1)
            came = keep_stream(sys.stdin.buffer, kept)
        if not came:
            yield Note(f"standard input is not read again: the run goes on with what it gave, {kept}")
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
    planning.pick_device(plan.device, plan.settings.train.precision)
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


def _tokenizer(run: Path, texts: Texts, settings: Settings) -> Generator[Preparing, None, Tokenizer]:
    """Find the pieces, or read those an earlier start of this run found."""
    folder = run / "tokenizer"
    made_from = {"texts": sha256(texts.folder / "manifest.json"), "settings": asdict(settings.tokenizer)}
    if damage(folder) is None and read_json(folder / "made_from.json") == made_from:
        return Tokenizer.load(folder / "tokenizer.model")
    pieces = settings.tokenizer.pieces or choose_size(texts.words)
    yield Preparing("finding pieces", 0, 1)
    data = train_tokenizer(texts.train.sentences(), kind=settings.tokenizer.kind, pieces=pieces)
    with new_folder(folder) as new:
        (new / "tokenizer.model").write_bytes(data)
        write_json(new / "made_from.json", made_from)
        seal(new)
    yield Preparing("finding pieces", 1, 1)
    return Tokenizer(data)


def _prepare(
    run: Path, plan: Plan | None, wish: Wish, request: dict[str, Any], sides: Languages, texts: Texts, began: float
) -> Generator[Event, None, tuple[Plan, Prepared]]:
    """Find the pieces, turn the texts into numbers, and fix the plan, or read what an earlier start made."""
    device = planning.pick_device(wish.train.device, wish.train.precision)
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
            plan = yield from make_plan(wish, settings, reasons, request, shards, device, began)
        planning.save_plan(run / "plan.json", plan)
    elif plan.versions != planning.versions():
        yield Note("the run began with other versions of its libraries: it goes on, but not bit for bit")
    return plan, Prepared(sides, texts, shards, tokenizer, wish.parent)
