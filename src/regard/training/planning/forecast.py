"""Predicts what `regard train` would do with some data, from a sample of the pairs.

The forecast tells how the texts would be tokenized, which pairs would be left out, and how long training would take for
each model size.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from regard.data.batching.batches import batches
from regard.data.check.corpus_report import LEFT_OUT, CorpusReport
from regard.data.formats.corpus import Corpus
from regard.data.formats.pairs import Pairs
from regard.data.formats.records import SIDES
from regard.data.prepare.text_store import TextStore
from regard.data.prepare.token_store import EncodedCorpus
from regard.errors import SettingsError
from regard.models.build import build_model, count_parameters
from regard.progress import Progress, Work
from regard.settings.fields import Overrides
from regard.settings.kinds import get_kind
from regard.settings.sections import Settings, assemble, kind_of
from regard.settings.sizes import size_overrides
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS, FIRST_SUBWORD
from regard.training.parallel.threads import default_threads, torch_threads
from regard.training.planning import choices, step_time
from regard.training.planning.corpus_sample import CorpusSample, take_sample, training_pairs
from regard.training.planning.step_time import StepTime

_MEASURED_SECONDS = 2.0  # duration of the speed measurement for one model size

# Maximum number of parameters of a model whose speed is measured on a CPU. Larger models would take minutes, so their
# speed is extrapolated from a smaller size of the same kind.
_MEASURED_PARAMETERS = 30_000_000


@dataclass(frozen=True)
class TokenStatistics:
    """How the tokenizer divides the texts of a sample into tokens."""

    vocab_size: int
    pairs: int  # number of pairs in the sample
    per_word: dict[str, float]  # average number of tokens per word, for "source" and "target"
    by_bytes: float  # proportion of tokens that stand for a single byte of a rare character
    maximum: dict[str, int]  # number of tokens of the longest text, with EOS, for "source" and "target"
    example: tuple[str, ...]  # up to 40 tokens of one source text


@dataclass(frozen=True)
class SizeForecast:
    """The expected duration of a run with one model size on this machine."""

    size: str
    parameters: int  # number of parameters of the model
    parameters_without_embeddings: int  # number of parameters that are not token embeddings
    steps: int  # number of steps that a run of this size would take
    wanted_steps: int  # number of steps that it would take without the default limit on its duration
    seconds: float  # expected duration of the run
    measured: bool  # whether the speed was measured for this size, or extrapolated from a smaller one


@dataclass(frozen=True)
class Forecast:
    """What `regard train` would do with some data on this machine."""

    kept: int  # number of pairs that a run would train on
    left_out: dict[str, int]  # for each reason, the number of training pairs that would be left out
    tokens: TokenStatistics
    chosen: str  # model size that `regard train` would choose
    reason: str  # reason for this size
    expected: tuple[SizeForecast, ...]  # one forecast for each model size that the settings allow


def forecast(train: Sequence[Corpus], report: CorpusReport, overrides: Overrides) -> Work[Forecast]:
    """Predict a training run with the user's settings; `report` is the corpus report of the training data."""
    pairs = training_pairs(report)
    kind = kind_of(overrides)
    first_size = next(iter(get_kind(kind).sizes))  # device and precision do not depend on the size
    any_size = assemble(size_overrides(first_size, kind), overrides).train
    device = choices.pick_device(any_size.device, any_size.precision)
    size, reason = choices.choose_model_size(pairs, device, kind)
    settings = assemble(size_overrides(size, kind), overrides)
    with tempfile.TemporaryDirectory() as folder, torch_threads(default_threads()):
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
    """Return, for each reason, the number of training pairs that would be left out."""
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
    sides = dict(zip(SIDES, (pairs.source, pairs.target), strict=True))
    byte_tokens = sum(int(((one.values > EOS) & (one.values < FIRST_SUBWORD)).sum()) for one in sides.values())
    return TokenStatistics(
        vocab_size=tokenizer.size,
        pairs=count,
        per_word={
            side: (len(sides[side].values) - count) / max(1, texts.info["train"][f"{side}_words"]) for side in SIDES
        },
        by_bytes=byte_tokens / sum(len(one.values) for one in sides.values()),
        maximum={side: int(np.diff(one.starts).max()) for side, one in sides.items()},
        example=tuple(tokenizer.tokens(pairs.source[0][:-1].tolist())[:40]),
    )


def _forecast_sizes(overrides: Overrides, sample: CorpusSample, device: str) -> Iterator[SizeForecast]:
    """Yield a forecast for each model size.

    The speed of the first size is always measured. The speed of large models is not measured on a CPU: a step is
    assumed to take time in proportion to the number of parameters.
    """
    seconds_per_token_parameter: float | None = None
    kind = kind_of(overrides)
    for size in get_kind(kind).sizes:
        try:
            of_size = size_overrides(size, kind)
            settings = assemble(of_size, overrides)
        except SettingsError:
            continue  # the user's settings are not valid for this size
        settings = replace(settings, model=settings.model.with_vocab_size(sample.tokenizer.embedding_rows))
        count = count_parameters(settings.model)
        is_measured = seconds_per_token_parameter is None or count.total <= _MEASURED_PARAMETERS or device != "cpu"
        if seconds_per_token_parameter is None or is_measured:
            speed = _measure(settings, sample.corpus, device)
            seconds_per_token_parameter = speed.seconds / speed.tokens / count.total
        else:
            tokens = settings.train.batch_tokens
            speed = StepTime(seconds_per_token_parameter * count.total * tokens, tokens)
        steps = wanted = settings.train.steps
        if not choices.states_steps(of_size, overrides):
            steps, _ = choices.choose_steps(sample.epoch_tokens, speed)
            wanted = choices.wanted_steps(sample.epoch_tokens, speed)
        seconds = steps * speed.seconds / choices.SHARE_FOR_STEPS
        yield SizeForecast(size, count.total, count.without_embeddings, steps, wanted, seconds, is_measured)


def _measure(settings: Settings, corpus: EncodedCorpus, device: str) -> StepTime:
    model = build_model(settings.model, settings.train.dropout).to(device)
    stream = batches(corpus.train, tokens=settings.train.micro_batch_tokens, seed=settings.train.seed)
    return step_time.measure_step_time(model, stream, settings.train, _MEASURED_SECONDS)
