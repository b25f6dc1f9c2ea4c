"""What training on some data would come to: its pieces, what would be left out, and how long each size takes here.

A sample of the pairs is enough to tell. `forecast` is a generator that reports how far it is and returns the answer.
"""

import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from regard.data.batches import batches
from regard.data.check import LEFT_OUT, Report
from regard.data.pairs import Corpus, Pairs
from regard.data.records import Fault, Pair
from regard.data.shards import Shards, prepare_ids
from regard.data.texts import SIDES, Preparing, Texts, Work, prepare_texts, read_all
from regard.data.tokenizer import END, FIRST_PIECE, Tokenizer, choose_size, train_tokenizer
from regard.errors import SettingsError
from regard.heap import kept_memory
from regard.model.transformer import Transformer
from regard.settings import SIZES, Layer, Settings, assemble, size_layer
from regard.training import plan as planning
from regard.training.plan import Speed

SAMPLE = 20_000  # pairs: pieces found in them are close to those found in all
_SECONDS = 2.0  # of measuring
_MEASURED = ("tiny", "small")  # the others would take minutes; they are estimated from these


@dataclass(frozen=True)
class Pieces:
    """How the sample splits. `by_bytes` is the share of pieces that spell a rare character; `example` is one text."""

    vocabulary: int
    pairs: int
    per_word: dict[str, float]
    by_bytes: float
    longest: dict[str, int]
    example: tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """How long a size takes on this machine, by its own number of steps."""

    size: str
    parameters: int
    steps: int
    seconds: float
    measured: bool


@dataclass(frozen=True)
class Forecast:
    """What `train` would do. `left_out` counts training pairs by reason; `chosen` is the size it would choose."""

    kept: int
    left_out: dict[str, int]
    pieces: Pieces
    chosen: str
    reason: str
    expected: tuple[Expected, ...]


@dataclass(frozen=True)
class Sample:
    """Some of the training data, prepared; `long` are all pairs that may be too long, `tokens` a whole epoch's."""

    texts: Texts
    tokenizer: Tokenizer
    shards: Shards
    long: Corpus
    tokens: int


def take_sample(folder: Path, train: Sequence[Corpus], report: Report, settings: Settings) -> Work[Sample]:
    """Prepare a sample of the training data in a folder, as `train` would prepare all of it."""
    pairs = training_pairs(report)
    some, long = yield from _sample(folder, train, pairs, settings.model.longest)
    texts = yield from prepare_texts(folder / "texts", [some], [some], seed=1)
    yield Preparing("finding pieces", 0, 1)
    data = train_tokenizer(
        texts.train.sentences(),
        kind=settings.tokenizer.kind,
        pieces=settings.tokenizer.pieces or choose_size(texts.words * pairs // len(texts.train)),
    )
    tokenizer = Tokenizer(data)
    shards = yield from prepare_ids(folder / "ids", texts, tokenizer, longest=settings.model.longest)
    drawn = sum(corpus.weight * corpus.pairs for corpus in report.corpora if corpus.part == "training")
    tokens = math.ceil(len(shards.train.target_ids) * drawn / len(shards.train))
    return Sample(texts, tokenizer, shards, long, tokens)


def training_pairs(report: Report) -> int:
    return next(part.pairs for part in report.parts if part.name == "training")


def forecast(train: Sequence[Corpus], report: Report, user: Layer) -> Work[Forecast]:
    """Try a sample of the training data with the settings a user chose."""
    pairs = training_pairs(report)
    wanted = assemble(size_layer("tiny"), user).train  # device and precision hang on no size
    device = planning.pick_device(wanted.device, wanted.precision)
    chosen, reason = planning.choose_size(pairs, device)
    settings = assemble(size_layer(chosen), user)
    with tempfile.TemporaryDirectory() as folder, kept_memory():
        sample = yield from take_sample(Path(folder), train, report, settings)
        left_out = _left_out(report, sample.tokenizer, sample.long, settings.model.longest)
        yield Preparing("measuring speed", 0, 1)
        return Forecast(
            kept=pairs + left_out.get("unreadable", 0) - sum(left_out.values()),
            left_out=left_out,
            pieces=_pieces(sample.texts, sample.shards, sample.tokenizer),
            chosen=chosen,
            reason=reason,
            expected=tuple(_expect(user, sample, device)),
        )


def _sample(folder: Path, train: Sequence[Corpus], pairs: int, longest: int) -> Work[tuple[Corpus, Corpus]]:
    """Evenly spread pairs with text on both sides, and beside them all that may be too long, as two corpora on disk."""
    every = max(1, pairs // SAMPLE)
    names = [tuple(folder / f"{name}.{side}" for side in SIDES) for name in ("sample", "long")]
    with ExitStack() as stack:
        sample, long = (
            [stack.enter_context(path.open("w", encoding="utf-8", newline="\n")) for path in paths] for paths in names
        )
        count = 0
        for _, record, progress in read_all("taking a sample", train):
            if progress is not None:
                yield progress
            if isinstance(record, Fault) or not record.source.strip() or not record.target.strip():
                continue
            for chosen, files in ((count % every == 0, sample), (_may_exceed(record, longest), long)):
                if chosen:
                    files[0].write(record.source + "\n")
                    files[1].write(record.target + "\n")
            count += 1
    return Corpus(names[0]), Corpus(names[1])


def _may_exceed(pair: Pair, longest: int) -> bool:
    """Whether a side could have more pieces than allowed: one for each byte at worst, and a few for its escapes."""
    return any(
        4 * len(text.encode()) // 3 + 3 > longest for text in (pair.source, pair.target) if 8 * len(text) > longest
    )


def _left_out(report: Report, tokenizer: Tokenizer, long: Corpus, longest: int) -> dict[str, int]:
    """Training pairs that would be left out, by reason."""
    counts = Counter({f.kind: f.count for f in report.findings if f.part == "training" and f.kind in LEFT_OUT})
    if long.paths[0].stat().st_size:
        for pair in Pairs(long).strictly():
            for side, text in zip(SIDES, (pair.source, pair.target), strict=True):
                if len(tokenizer.encode([text])[0]) + 1 > longest:
                    counts[f"{side} too long"] += 1
                    break
    return dict(sorted(counts.items()))


def _pieces(texts: Texts, shards: Shards, tokenizer: Tokenizer) -> Pieces:
    shard = shards.train
    count = len(shard)
    ids = dict(zip(SIDES, (shard.source_ids, shard.target_ids), strict=True))
    starts = dict(zip(SIDES, (shard.source_starts, shard.target_starts), strict=True))
    spelled = sum(int(((side > END) & (side < FIRST_PIECE)).sum()) for side in ids.values())
    return Pieces(
        vocabulary=tokenizer.size,
        pairs=count,
        per_word={side: (len(ids[side]) - count) / max(1, texts.info["train"][f"{side}_words"]) for side in SIDES},
        by_bytes=spelled / sum(len(side) for side in ids.values()),
        longest={side: int(np.diff(starts[side]).max()) for side in SIDES},
        example=tuple(tokenizer.pieces(shard.source(0)[:-1].tolist())[:40]),
    )


def _expect(user: Layer, sample: Sample, device: str) -> Iterator[Expected]:
    """Measure the smaller sizes; a larger one takes longer by as much as it has more weights, about."""
    per_token = 0.0
    for size in SIZES:
        try:
            settings = assemble(size_layer(size), user)
        except SettingsError:
            continue  # what suits one size need not suit another
        settings = replace(settings, model=replace(settings.model, vocabulary=sample.tokenizer.rows))
        with torch.device("meta"):
            parameters = sum(weight.numel() for weight in Transformer(settings.model).parameters())
        measured = size in _MEASURED or device != "cpu"
        if measured:
            speed = _measure(settings, sample.shards, device)
            per_token = speed.seconds / speed.tokens / parameters
        else:
            speed = Speed(per_token * parameters * settings.train.batch_tokens, settings.train.batch_tokens)
        steps = settings.train.steps
        if size in ("tiny", "small") and "steps" not in user.get("train", {}):
            steps, _ = planning.choose_steps(sample.tokens, speed)
        yield Expected(size, parameters, steps, steps * speed.seconds / planning.SHARE_FOR_STEPS, measured)


def _measure(settings: Settings, shards: Shards, device: str) -> Speed:
    model = Transformer(settings.model, settings.train.dropout).to(device)
    stream = batches(shards.train, tokens=settings.train.micro_tokens, seed=settings.train.seed)
    return planning.measure(model, stream, settings.train, _SECONDS)
