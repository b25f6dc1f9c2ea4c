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

from regard.data.check.corpus_report import check_corpora
from regard.data.formats.corpus import Corpus, check_direction, corpora
from regard.data.formats.corpus import languages as named_languages
from regard.data.formats.stdin_corpus import keep_stream, reads_standard_input
from regard.data.prepare.text_store import TextStore, build_text_store, hash_inputs
from regard.data.prepare.token_store import build_token_store
from regard.errors import RunError
from regard.interchange.ctranslate2.export import ensure_export
from regard.machine.malloc import retain_freed_memory
from regard.model_folder.folder import Languages
from regard.model_folder.loader import open_folder
from regard.progress import Progress
from regard.settings.parser import user_overrides
from regard.settings.sections import Settings
from regard.storage.atomic_files import make_folder, new_folder
from regard.storage.json_files import read_json, write_json
from regard.storage.manifest import find_damage, sha256, write_folder_manifest
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.vocabulary import choose_vocab_size, train_tokenizer
from regard.training.out_of_memory import explain_out_of_memory
from regard.training.planning import choices
from regard.training.planning import plan as plan_module
from regard.training.planning.plan import Plan, make_plan
from regard.training.planning.request import TrainingRequest
from regard.training.prepared_data import PreparedData
from regard.training.tracking.events import Event, Finished, Note
from regard.training.trainer import train_by_plan


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
    wish = TrainingRequest(size, budget, steps, user_overrides(overrides, settings_file), folder)
    wish.check()
    check_out(out)
    kept = yield from _keep_standard_input(out, paths)
    known = languages or _both(folder.languages if folder else (None, None))
    train_corpora = corpora([Path(path) for path in paths], languages=known, standard_input=kept)
    valid_corpora = corpora([Path(path) for path in valid], languages=known)
    sides: Languages = languages or (folder.languages if folder else named_languages(train_corpora))
    if languages is None:
        check_direction([*train_corpora, *valid_corpora], folder.languages if folder else (None, None))
    request = {
        "training data": (yield from hash_inputs(train_corpora)),
        "validation data": (yield from hash_inputs(valid_corpora)),
        **_weights(train_corpora, valid_corpora),
        "languages": list(sides),
        **wish.request(),
    }
    with _run_lock(out / "run"), retain_freed_memory():
        plan = _checked_plan(out, request)
        if plan is not None and (out / "manifest.json").exists():
            ensure_export(out)
            yield Finished(out)
            return
        if plan is None:
            yield from _check(out / "run", train_corpora, valid_corpora)
        texts = yield from build_text_store(out / "run" / "texts", train_corpora, valid_corpora, seed=wish.train.seed)
        plan, made = yield from _prepare(out / "run", plan, wish, request, sides, texts, began)
        with explain_out_of_memory():
            yield from train_by_plan(out, plan, made, stop)


def check_out(out: Path) -> None:
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
    with _run_lock(out / "run"):
        came = False
        if not ((out / "run" / "plan.json").exists() and kept.exists()):
            yield Progress("reading standard input", 0, 1)
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
    report = yield from check_corpora(train, valid)
    write_json(run / "check.json", asdict(report))
    for found in report.notable():
        yield Note(found.sentence())


def _checked_plan(out: Path, request: dict[str, Any]) -> Plan | None:
    """The plan of the run in this folder, if there is one and it was asked for in the same words."""
    if not (out / "run" / "plan.json").exists():
        if (out / "manifest.json").exists():
            raise RunError(f"{out} holds a finished model; choose another --out, or remove it first")
        return None
    plan = plan_module.load_plan(out / "run" / "plan.json")
    if changed := plan_module.differences(plan.request, request):
        raise RunError(
            f"{out} holds a run that was started differently:\n" + "\n".join(changed) + "\n"
            "give the same command to go on with it, or another --out for a new run"
        )
    choices.pick_device(plan.device, plan.settings.train.precision)
    return plan


@contextmanager
def _run_lock(run: Path) -> Iterator[None]:
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


def _tokenizer(run: Path, texts: TextStore, settings: Settings) -> Generator[Progress, None, SentencePieceTokenizer]:
    """Find the pieces, or read those an earlier start of this run found."""
    folder = run / "tokenizer"
    made_from = {"texts": sha256(texts.folder / "manifest.json"), "settings": asdict(settings.tokenizer)}
    if find_damage(folder) is None and read_json(folder / "made_from.json") == made_from:
        return SentencePieceTokenizer.load(folder / "tokenizer.model")
    pieces = settings.tokenizer.vocab_size or choose_vocab_size(texts.words)
    yield Progress("finding pieces", 0, 1)
    data = train_tokenizer(texts.train.sentences(), kind=settings.tokenizer.kind, vocab_size=pieces)
    with new_folder(folder) as new:
        (new / "tokenizer.model").write_bytes(data)
        write_json(new / "made_from.json", made_from)
        write_folder_manifest(new)
    yield Progress("finding pieces", 1, 1)
    return SentencePieceTokenizer(data)


def _prepare(
    run: Path,
    plan: Plan | None,
    wish: TrainingRequest,
    request: dict[str, Any],
    sides: Languages,
    texts: TextStore,
    began: float,
) -> Generator[Event, None, tuple[Plan, PreparedData]]:
    """Find the pieces, turn the texts into numbers, and fix the plan, or read what an earlier start made."""
    device = choices.pick_device(wish.train.device, wish.train.precision)
    settings, reasons = wish.settings(len(texts.train), device) if plan is None else (plan.settings, [])
    tokenizer = wish.parent.tokenizer if wish.parent else (yield from _tokenizer(run, texts, settings))
    shards = yield from build_token_store(run / "shards", texts, tokenizer, longest=settings.model.max_positions)
    if shards.dropped:
        dropped = ", ".join(f"{reason}: {count:,}" for reason, count in shards.dropped.items())
        yield Note(f"left out {dropped}; {run / 'shards' / 'dropped.tsv'} lists them")
    if plan is None:
        settings = replace(settings, model=replace(settings.model, vocab_size=tokenizer.embedding_rows))
        names = " to ".join(side or "unknown" for side in sides)
        reasons = [f"languages {names} (--languages names them)", *reasons]
        reasons.append(f"{tokenizer.size:,} pieces for {texts.words:,} words of text")
        with explain_out_of_memory():
            plan = yield from make_plan(wish, settings, reasons, request, shards, device, began)
        plan_module.save_plan(run / "plan.json", plan)
    elif plan.versions != plan_module.versions():
        yield Note("the run began with other versions of its libraries: it goes on, but not bit for bit")
    return plan, PreparedData(sides, texts, shards, tokenizer, wish.parent)
