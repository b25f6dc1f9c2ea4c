"""Predicts what training on some data would do: its tokens, what would be left out, and the time of each model size.

A sample of the pairs is enough for this. `forecast` is a generator that yields its progress and returns the result.
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
from regard.training.planning.corpus_sample import CorpusSample, take_sample, training_pairs
from regard.training.planning.step_time import StepTime

_MEASURED_SECONDS = 2.0

_MEASURED_SIZES = ("tiny", "small")  # measuring the larger sizes would take minutes, so they are extrapolated


@dataclass(frozen=True)
class TokenStatistics:
    """How the sample is tokenized.

    `by_bytes` is the proportion of tokens that encode a single byte of a rare character; `example` is one text.
    """

    vocab_size: int
    pairs: int
    per_word: dict[str, float]
    by_bytes: float
    maximum: dict[str, int]
    example: tuple[str, ...]


@dataclass(frozen=True)
class SizeForecast:
    """The duration of a run of one model size on this machine, for the number of steps that the size would get."""

    size: str
    parameters: int
    steps: int
    seconds: float
    measured: bool


@dataclass(frozen=True)
class Forecast:
    """What `regard train` would do.

    `left_out` counts training pairs by the reason for leaving them out; `chosen` is the size that would be chosen.
    """

    kept: int
    left_out: dict[str, int]
    tokens: TokenStatistics
    chosen: str
    reason: str
    expected: tuple[SizeForecast, ...]


def forecast(train: Sequence[Corpus], report: CorpusReport, overrides: Overrides) -> Work[Forecast]:
    """Predict a run on the training data of a report with the settings that the user chose."""
    pairs = training_pairs(report)
    any_size = assemble(size_overrides("tiny"), overrides).train  # device and precision do not depend on the size
    device = choices.pick_device(any_size.device, any_size.precision)
    size, reason = choices.choose_model_size(pairs, device)
    settings = assemble(size_overrides(size), overrides)
    with tempfile.TemporaryDirectory() as folder, retain_freed_memory():
        sample = yield from take_sample(Path(folder), train, report, settings)
        left_out = _left_out(report, sample.tokenizer, sample.long_pairs, settings.model.max_positions)
        yield Progress("measuring speed", 0, 1)
        return Forecast(
            kept=pairs + left_out.get("unreadable", 0) - sum(left_out.values()),
            left_out=left_out,
            tokens=_token_statistics(sample.texts, sample.corpus, sample.tokenizer),
            chosen=size,
            reason=reason,
            expected=tuple(_forecast_sizes(overrides, sample, device)),
        )


def _left_out(
    report: CorpusReport, tokenizer: SentencePieceTokenizer, long_pairs: Corpus, max_positions: int
) -> dict[str, int]:
    """Count the training pairs that would be left out, by reason."""
    counts = Counter({f.kind: f.count for f in report.findings if f.split == "training" and f.kind in LEFT_OUT})
    if long_pairs.paths[0].stat().st_size:
        for pair in Pairs(long_pairs).or_raise():
            for side, text in zip(SIDES, (pair.source, pair.target), strict=True):
                if len(tokenizer.encode([text])[0]) + 1 > max_positions:
                    counts[f"{side} too long"] += 1
                    break
    return dict(sorted(counts.items()))


def _token_statistics(texts: TextStore, corpus: EncodedCorpus, tokenizer: SentencePieceTokenizer) -> TokenStatistics:
    pairs = corpus.train
    count = len(pairs)
    ids = dict(zip(SIDES, (pairs.source_ids, pairs.target_ids), strict=True))
    starts = dict(zip(SIDES, (pairs.source_starts, pairs.target_starts), strict=True))
    byte_tokens = sum(int(((side > EOS) & (side < FIRST_SUBWORD)).sum()) for side in ids.values())
    return TokenStatistics(
        vocab_size=tokenizer.size,
        pairs=count,
        per_word={side: (len(ids[side]) - count) / max(1, texts.info["train"][f"{side}_words"]) for side in SIDES},
        by_bytes=byte_tokens / sum(len(side) for side in ids.values()),
        maximum={side: int(np.diff(starts[side]).max()) for side in SIDES},
        example=tuple(tokenizer.tokens(pairs.source(0)[:-1].tolist())[:40]),
    )


def _forecast_sizes(overrides: Overrides, sample: CorpusSample, device: str) -> Iterator[SizeForecast]:
    """Measure the smaller sizes, and assume that the time of a larger one grows with its number of parameters."""
    seconds_per_token_parameter = 0.0
    for size in SIZES:
        try:
            settings = assemble(size_overrides(size), overrides)
        except SettingsError:
            continue  # the user's settings may suit one size and not another
        settings = replace(settings, model=replace(settings.model, vocab_size=sample.tokenizer.embedding_rows))
        with torch.device("meta"):
            parameters = sum(parameter.numel() for parameter in Transformer(settings.model).parameters())
        is_measured = size in _MEASURED_SIZES or device != "cpu"
        if is_measured:
            speed = _measure(settings, sample.corpus, device)
            seconds_per_token_parameter = speed.seconds / speed.tokens / parameters
        else:
            tokens = settings.train.batch_tokens
            speed = StepTime(seconds_per_token_parameter * parameters * tokens, tokens)
        steps = settings.train.steps
        if size in ("tiny", "small") and "steps" not in overrides.get("train", {}):
            steps, _ = choices.choose_steps(sample.epoch_tokens, speed)
        yield SizeForecast(size, parameters, steps, steps * speed.seconds / choices.SHARE_FOR_STEPS, is_measured)


def _measure(settings: Settings, corpus: EncodedCorpus, device: str) -> StepTime:
    model = Transformer(settings.model, settings.train.dropout).to(device)
    stream = batches(corpus.train, tokens=settings.train.micro_batch_tokens, seed=settings.train.seed)
    return step_time.measure_step_time(model, stream, settings.train, _MEASURED_SECONDS)
