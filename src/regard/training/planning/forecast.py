"""What training on some data would come to: its pieces, what would be left out, and how long each size takes here.

A sample of the pairs is enough to tell. `forecast` is a generator that reports how far it is and returns the answer.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from regard.data.batching.batches import batches
from regard.data.check.corpus_report import LEFT_OUT, CorpusReport
from regard.data.formats.corpus import Corpus
from regard.data.formats.pairs import Pairs
from regard.data.formats.records import SIDES
from regard.data.prepare.text_store import TextStore
from regard.data.prepare.token_store import EncodedCorpus
from regard.errors import SettingsError
from regard.machine.malloc import retain_freed_memory
from regard.models.kinds.transformer import Transformer
from regard.progress import Progress, Work
from regard.settings.sections import Overrides, Settings, assemble
from regard.settings.sizes import SIZES, size_overrides
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS, FIRST_SUBWORD
from regard.training.planning import choices, step_time
from regard.training.planning.corpus_sample import Sample, take_sample, training_pairs
from regard.training.planning.step_time import StepTime

_SECONDS = 2.0  # of measuring

_MEASURED = ("tiny", "small")  # the others would take minutes; they are estimated from these


@dataclass(frozen=True)
class TokenStatistics:
    """How the sample splits. `by_bytes` is the share of pieces that spell a rare character; `example` is one text."""

    vocab_size: int
    pairs: int
    per_word: dict[str, float]
    by_bytes: float
    maximum: dict[str, int]
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
    tokens: TokenStatistics
    chosen: str
    reason: str
    expected: tuple[Expected, ...]


def forecast(train: Sequence[Corpus], report: CorpusReport, user: Overrides) -> Work[Forecast]:
    """Try a sample of the training data with the settings a user chose."""
    pairs = training_pairs(report)
    wanted = assemble(size_overrides("tiny"), user).train  # device and precision hang on no size
    device = choices.pick_device(wanted.device, wanted.precision)
    chosen, reason = choices.choose_model_size(pairs, device)
    settings = assemble(size_overrides(chosen), user)
    with tempfile.TemporaryDirectory() as folder, retain_freed_memory():
        sample = yield from take_sample(Path(folder), train, report, settings)
        left_out = _left_out(report, sample.tokenizer, sample.long, settings.model.max_positions)
        yield Progress("measuring speed", 0, 1)
        return Forecast(
            kept=pairs + left_out.get("unreadable", 0) - sum(left_out.values()),
            left_out=left_out,
            tokens=_pieces(sample.texts, sample.shards, sample.tokenizer),
            chosen=chosen,
            reason=reason,
            expected=tuple(_expect(user, sample, device)),
        )


def _left_out(report: CorpusReport, tokenizer: SentencePieceTokenizer, long: Corpus, longest: int) -> dict[str, int]:
    """Training pairs that would be left out, by reason."""
    counts = Counter({f.kind: f.count for f in report.findings if f.split == "training" and f.kind in LEFT_OUT})
    if long.paths[0].stat().st_size:
        for pair in Pairs(long).or_raise():
            for side, text in zip(SIDES, (pair.source, pair.target), strict=True):
                if len(tokenizer.encode([text])[0]) + 1 > longest:
                    counts[f"{side} too long"] += 1
                    break
    return dict(sorted(counts.items()))


def _pieces(texts: TextStore, shards: EncodedCorpus, tokenizer: SentencePieceTokenizer) -> TokenStatistics:
    shard = shards.train
    count = len(shard)
    ids = dict(zip(SIDES, (shard.source_ids, shard.target_ids), strict=True))
    starts = dict(zip(SIDES, (shard.source_starts, shard.target_starts), strict=True))
    spelled = sum(int(((side > EOS) & (side < FIRST_SUBWORD)).sum()) for side in ids.values())
    return TokenStatistics(
        vocab_size=tokenizer.size,
        pairs=count,
        per_word={side: (len(ids[side]) - count) / max(1, texts.info["train"][f"{side}_words"]) for side in SIDES},
        by_bytes=spelled / sum(len(side) for side in ids.values()),
        maximum={side: int(np.diff(starts[side]).max()) for side in SIDES},
        example=tuple(tokenizer.tokens(shard.source(0)[:-1].tolist())[:40]),
    )


def _expect(user: Overrides, sample: Sample, device: str) -> Iterator[Expected]:
    """Measure the smaller sizes; a larger one takes longer by as much as it has more weights, about."""
    per_token = 0.0
    for size in SIZES:
        try:
            settings = assemble(size_overrides(size), user)
        except SettingsError:
            continue  # what suits one size need not suit another
        settings = replace(settings, model=replace(settings.model, vocab_size=sample.tokenizer.embedding_rows))
        with torch.device("meta"):
            parameters = sum(weight.numel() for weight in Transformer(settings.model).parameters())
        measured = size in _MEASURED or device != "cpu"
        if measured:
            speed = _measure(settings, sample.shards, device)
            per_token = speed.seconds / speed.tokens / parameters
        else:
            speed = StepTime(per_token * parameters * settings.train.batch_tokens, settings.train.batch_tokens)
        steps = settings.train.steps
        if size in ("tiny", "small") and "steps" not in user.get("train", {}):
            steps, _ = choices.choose_steps(sample.tokens, speed)
        yield Expected(size, parameters, steps, steps * speed.seconds / choices.SHARE_FOR_STEPS, measured)


def _measure(settings: Settings, shards: EncodedCorpus, device: str) -> StepTime:
    model = Transformer(settings.model, settings.train.dropout).to(device)
    stream = batches(shards.train, tokens=settings.train.micro_batch_tokens, seed=settings.train.seed)
    return step_time.measure_step_time(model, stream, settings.train, _SECONDS)
