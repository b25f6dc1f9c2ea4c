"""A complete training run: reads files of sentence pairs and writes a model folder.

A run prepares the data, makes the plan, trains, and chooses the parameters to keep. Each stage saves its result before
the next one starts, so the same command resumes an interrupted run. `iter_train` prints nothing: it is a generator that
yields events.

Each start hashes the input files once, to find out whether they are those of the run in the model folder. A resumed run
also hashes what it stored, each file once and before it is used: texts, tokenizer, word counts and token ids, which are
made again if they are damaged, and the newest checkpoint. Older checkpoints are verified at the end, when they are
averaged.
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
from regard.data.formats.corpus import (
    Corpus,
    Paths,
    as_list,
    check_direction,
    corpora,
    detect_languages,
    directions_differ,
)
from regard.data.formats.lines import STANDARD_INPUT_COPY
from regard.data.formats.records import LanguagePair
from regard.data.formats.stdin_corpus import reads_standard_input, save_stream
from regard.data.prepare.language_profiles import build_language_profiles
from regard.data.prepare.text_store import InputHashes, TextStore, build_text_store, hash_inputs
from regard.data.prepare.token_store import build_token_store
from regard.data.prepare.word_counts import build_word_counts
from regard.errors import RunError
from regard.interchange.ctranslate2.export import ensure_export
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
from regard.training.parallel.threads import default_threads, torch_threads
from regard.training.planning import choices
from regard.training.planning import plan as plan_module
from regard.training.planning.plan import Plan, make_plan
from regard.training.planning.request import TrainingRequest
from regard.training.prepared_data import PreparedData
from regard.training.tracking.events import Event, Finished, Note
from regard.training.trainer import train_by_plan


def iter_train(
    paths: Paths,
    *,
    out: str | Path,
    valid: Paths = (),
    kind: str | None = None,
    size: str | None = None,
    budget: float | None = None,
    steps: int | None = None,
    parent: str | Path | None = None,
    languages: tuple[str, str] | None = None,
    overrides: Sequence[str] = (),
    config: str | Path | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Train a model on files of sentence pairs (docs/how-to/data.md), write it to the folder `out`, and yield events.

    `budget` is in seconds. `stop` is called after every step, and the run stops when it returns True. Calling the
    function again with the same arguments resumes an interrupted run.
    """
    began = time.monotonic()
    out, paths = Path(out), as_list(paths)
    folder = open_folder(Path(parent)) if parent is not None else None
    of_kind = [f"model.kind={kind}"] if kind is not None else []
    changes = user_overrides([*of_kind, *overrides], Path(config) if config is not None else None)
    request = TrainingRequest(size, budget, steps, changes, folder)
    request.check()
    parent_languages: LanguagePair = folder.languages if folder else (None, None)
    _check_languages(languages, parent_languages)
    check_out(out)
    standard_input = yield from _keep_standard_input(out, paths)
    known_languages = languages or _if_both_known(parent_languages)
    train_corpora = corpora(paths, languages=known_languages, standard_input=standard_input)
    valid_corpora = corpora(as_list(valid), languages=known_languages)
    sides: LanguagePair = languages or (folder.languages if folder else detect_languages(train_corpora))
    if languages is None:
        check_direction([*train_corpora, *valid_corpora], parent_languages)
    identity: dict[str, Any] = {
        "training data": (yield from hash_inputs(train_corpora)),
        "validation data": (yield from hash_inputs(valid_corpora)),
        **_corpus_weights(train_corpora, valid_corpora),
        "languages": list(sides),
        **request.to_dict(),
    }
    run = out / "run"
    with _run_lock(run):
        plan = _existing_plan(out, identity)
        if plan is not None and (out / "manifest.json").exists():
            ensure_export(out)
            yield Finished(out)
            return
        if plan is None:
            yield from _check(run, train_corpora, valid_corpora)
        hashes: InputHashes = {"train": identity["training data"], "valid": identity["validation data"]}
        texts = yield from build_text_store(
            run / "texts", train_corpora, valid_corpora, seed=request.train.seed, inputs=hashes
        )
        plan, data = yield from _prepare(run, plan, request, identity, sides, texts, began)
        with explain_out_of_memory():
            yield from train_by_plan(out, plan, data, stop)


def check_out(out: Path) -> None:
    """Raise a `RunError` if `out` is a file, or a folder with files that do not belong to a training run."""
    if out.exists() and not out.is_dir():
        raise RunError(f"--out {out} is a file; choose another name for the model folder")
    if out.exists() and not (out / "run").exists() and any(out.iterdir()):
        raise RunError(f"{out} already holds other files; choose another --out, or an empty folder")


def _keep_standard_input(out: Path, paths: Sequence[Path]) -> Generator[Event, None, Path | None]:
    """Copy sentence pairs from standard input to a file, so that the run can be resumed without standard input.

    Return the file, or None if the run does not use standard input.
    """
    if not reads_standard_input(paths):
        return None
    kept = out / "run" / STANDARD_INPUT_COPY
    with _run_lock(out / "run"):
        is_new = False
        if not ((out / "run" / "plan.json").exists() and kept.exists()):
            yield Progress("reading standard input", 0, 1)
            is_new = save_stream(sys.stdin.buffer, kept)
        if not is_new:
            yield Note(f"standard input is not read again: the run continues with the pairs kept in {kept}")
    return kept


def _check_languages(languages: tuple[str, str] | None, parent: LanguagePair) -> None:
    """Raise a `RunError` if the languages that the user gave are not those of the model to fine-tune."""
    if languages is not None and directions_differ(languages, parent):
        raise RunError(
            f"fine-tuning keeps the languages of the parent model, {parent[0]} to {parent[1]}; leave out --languages, "
            "or train a new model without --from"
        )


def _if_both_known(languages: LanguagePair) -> tuple[str, str] | None:
    source, target = languages
    return (source, target) if source is not None and target is not None else None


def _corpus_weights(train: Sequence[Corpus], valid: Sequence[Corpus]) -> dict[str, list[float]]:
    """Return {"weights": weights of the training corpora}, or an empty dictionary if all weights are 1."""
    for corpus in valid:
        if corpus.weight != 1:
            raise RunError(f"{corpus.name}={corpus.weight:g}: validation data cannot be weighted; leave the weight out")
    weights = [corpus.weight for corpus in train]
    return {"weights": weights} if any(weight != 1 for weight in weights) else {}


def _check(run: Path, train: Sequence[Corpus], valid: Sequence[Corpus]) -> Generator[Event, None, None]:
    """Check the data, and yield a note for each important finding; raise an error if the data cannot be used."""
    report = yield from check_corpora(train, valid)
    write_json(run / "check.json", asdict(report))
    for finding in report.warnings():
        yield Note(finding.sentence())


def _existing_plan(out: Path, identity: dict[str, Any]) -> Plan | None:
    """Return the plan of the run in the folder `out`, or None if there is no run yet.

    Raise a `RunError` if the run was started with other data or options than those in `identity`.
    """
    is_finished = (out / "manifest.json").exists()
    if not (out / "run" / "plan.json").exists():
        if is_finished:
            raise RunError(f"{out} holds a finished model; choose another --out, or remove it first")
        return None
    try:
        plan = plan_module.load_plan(out / "run" / "plan.json")
    except plan_module.OtherVersionError:
        if not is_finished:
            raise
        raise RunError(
            f"{out} holds a finished model that another version of Regard trained; you can use it as it is, or choose "
            "another --out for a new run"
        ) from None
    if changed := plan_module.differences(plan.request, identity):
        raise RunError(
            f"{out} holds a run that was started differently:\n" + "\n".join(changed) + "\n"
            "use the same command to continue it, or another --out for a new run"
        )
    choices.pick_device(plan.device, plan.settings.train.precision)
    return plan


@contextmanager
def _run_lock(run: Path) -> Iterator[None]:
    """Lock the folder of a run, so that no other process can train in it at the same time.

    The operating system releases the lock if the process dies.
    """
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
    """Train the tokenizer, or load it if the run was interrupted after training it."""
    folder = run / "tokenizer"
    made_from = {"texts": sha256(texts.folder / "manifest.json"), "settings": asdict(settings.tokenizer)}
    if find_damage(folder) is None and read_json(folder / "made_from.json") == made_from:
        return SentencePieceTokenizer.load(folder / "tokenizer.model")
    vocab_size = settings.tokenizer.vocab_size or choose_vocab_size(texts.words)
    yield Progress("training the tokenizer", 0, 1)
    data = train_tokenizer(
        texts.train.sample_texts(),
        kind=settings.tokenizer.kind,
        vocab_size=vocab_size,
        placeholders=settings.tokenizer.placeholders,
    )
    with new_folder(folder) as new:
        (new / "tokenizer.model").write_bytes(data)
        write_json(new / "made_from.json", made_from)
        write_folder_manifest(new)
    yield Progress("training the tokenizer", 1, 1)
    return SentencePieceTokenizer(data)


def _prepare(
    run: Path,
    plan: Plan | None,
    request: TrainingRequest,
    identity: dict[str, Any],
    sides: LanguagePair,
    texts: TextStore,
    began: float,
) -> Generator[Event, None, tuple[Plan, PreparedData]]:
    """Train the tokenizer, count words, encode the texts and make the plan, or load what the run has already saved."""
    device = choices.pick_device(request.train.device, request.train.precision)
    settings, reasons = request.settings(len(texts.train), device) if plan is None else (plan.settings, [])
    tokenizer = request.parent.tokenizer if request.parent else (yield from _tokenizer(run, texts, settings))
    yield from build_word_counts(run / "word_counts", texts)
    # A model to fine-tune was trained on more varied texts than the new ones, so its profiles are kept.
    profiles = request.parent.language_profiles if request.parent else {}
    profiles = profiles or (yield from build_language_profiles(texts.train, sides))
    corpus = yield from build_token_store(
        run / "tokens",
        texts,
        tokenizer,
        max_positions=settings.model.max_positions,
        # The two members of a minimal pair must not get different placeholders.
        mask_seed=None if settings.train.minimal_pair_weight else settings.train.seed,
    )
    if corpus.dropped:
        dropped = ", ".join(f"{reason}: {count:,}" for reason, count in corpus.dropped.items())
        yield Note(f"left out {dropped}; {run / 'tokens' / 'dropped.tsv'} lists them")
    if plan is None:
        settings = replace(settings, model=settings.model.with_vocab_size(tokenizer.embedding_rows))
        names = " to ".join(side or "unknown" for side in sides)
        origin = "as in the model to fine-tune" if request.parent else "set with --languages"
        reasons = [f"languages {names} ({origin})", *reasons]
        reasons.append(f"a vocabulary of {tokenizer.size:,} tokens for {texts.words:,} words of text")
        with explain_out_of_memory(), torch_threads(default_threads()):
            plan = yield from make_plan(request, settings, reasons, identity, corpus, device, began)
        plan_module.save_plan(run / "plan.json", plan)
    elif plan.versions != plan_module.versions():
        yield Note(
            "the run was started with other library versions: it continues, but may differ from an uninterrupted run"
        )
    return plan, PreparedData(sides, texts, corpus, tokenizer, request.parent, profiles)
