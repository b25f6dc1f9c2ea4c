"""The speed of translation on this machine: of many sentences, of one sentence at a time, and after a cold start."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

from regard.errors import DataError, SettingsError
from regard.inference.backends.ctranslate2 import CTranslate2Backend
from regard.inference.joiner import is_blank
from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.interchange.ctranslate2.support import supports_decode
from regard.machine.memory import peak_memory_mb
from regard.settings.decode import DecodeSettings
from regard.settings.parser import decode_overrides, extra_outputs

_SECONDS = 10.0  # approximate time of each measurement

_COLD_STARTS = 5


@dataclass(frozen=True)
class TranslationSpeed:
    """The measured translation speed of a model."""

    sentences: int  # number of distinct sentences in the input
    sentences_per_second: float
    tokens_per_second: float  # target tokens per second
    workers: int  # number of batches translated at the same time; the cores are divided among them
    share_of_ctranslate2: float  # the speed of Regard divided by that of CTranslate2 called directly
    p50_milliseconds: float  # median latency of a sentence that is translated alone
    p99_milliseconds: float  # 99th percentile of the latency
    cold_start_seconds: float  # from the command to the translation of one sentence
    peak_memory_mb: float | None  # None if the system does not report it


def measure_translation(
    folder: Path, texts: Sequence[str], overrides: Sequence[str], *, compute_type: str
) -> Iterator[str | TranslationSpeed]:
    """Yield the name of each measurement when it starts, and the results of all measurements at the end.

    `overrides` are the values of `--set`.
    """
    changes = decode_overrides(overrides)
    if extra := extra_outputs(changes):
        raise SettingsError(f"only the speed of plain translation is measured; leave out {', '.join(extra)}")
    # Repeated texts are removed: the translator would translate them only once, and the speed would seem higher.
    texts = list(dict.fromkeys(text for text in texts if text.strip()))
    if not texts:
        raise DataError("there is no text to translate; give some lines: regard bench translate --model … < lines")
    translator = load_translator(folder, compute_type=compute_type, backend="ctranslate2")
    # `regard translate` computes scores only with --json.
    decode = replace(translator.decode, **{**changes, "scores": False})
    if not supports_decode(decode):
        raise SettingsError(
            "only CTranslate2 is measured, and it supports neither sampling nor a prefix; use decode.temperature=0, "
            "and leave out decode.prefix"
        )
    backend = translator.backend
    assert isinstance(backend, CTranslate2Backend)
    yield "many sentences"
    sample = texts[: _sample_size(translator, texts, decode)]
    total_times, ctranslate2_times = [], []
    for _ in range(3):
        start = time.perf_counter()
        translations = translator.translate(sample, decode)
        middle = time.perf_counter()
        _translate_bare(translator, backend, sample, decode)
        total_times.append(middle - start)
        ctranslate2_times.append(time.perf_counter() - middle)
    seconds = statistics.median(total_times)
    yield "one sentence at a time"
    latencies = sorted(_latencies(translator, texts, decode))
    yield "cold start"
    command = [sys.executable, "-P", "-m", "regard", "translate", "--model", str(folder)]
    command += ["--compute-type", compute_type]
    command += [word for setting in overrides for word in ("--set", setting)]
    cold_start = statistics.median(_run_time(command, texts[0]) for _ in range(_COLD_STARTS))
    yield TranslationSpeed(
        sentences=len(texts),
        sentences_per_second=len(sample) / seconds,
        tokens_per_second=sum(len(translation.tokens) for translation in translations) / seconds,
        workers=backend.cores.large.workers,
        share_of_ctranslate2=statistics.median(ctranslate2_times) / seconds,
        p50_milliseconds=1000 * statistics.median(latencies),
        p99_milliseconds=1000 * latencies[int(0.99 * len(latencies))],
        cold_start_seconds=cold_start,
        peak_memory_mb=peak_memory_mb(),
    )


def _translate_bare(
    translator: Translator, backend: CTranslate2Backend, texts: Sequence[str], decode: DecodeSettings
) -> None:
    """Translate texts with CTranslate2 only and discard the result, to measure how much time Regard adds."""
    parts = [part for text in texts for part, _ in translator.reader.parts(text) if not is_blank(part)]
    sources = [translator.tokenizer.tokens(ids) for ids in translator.tokenizer.encode(parts)]
    backend.engine(len(sources), decode.beam_size).translate_batch(
        sources,
        beam_size=decode.beam_size,
        max_batch_size=max(1, backend.batching(decode).tokens // decode.beam_size),
        batch_type="tokens",
        max_input_length=0,
        max_decoding_length=min(256, translator.max_positions),  # CTranslate2's default is 256
    )


def _sample_size(translator: Translator, texts: list[str], decode: DecodeSettings) -> int:
    """Return how many texts to translate, so that measuring takes long enough. This also warms up the translator."""
    count = 64
    while True:
        start = time.perf_counter()
        translator.translate(texts[:count], decode)
        if count >= len(texts) or time.perf_counter() - start > _SECONDS / 6:
            return count
        count *= 2


def _latencies(translator: Translator, texts: list[str], decode: DecodeSettings) -> Iterator[float]:
    """Translate sentences one at a time for about `_SECONDS`, and yield the time of each in seconds."""
    deadline = time.perf_counter() + _SECONDS
    for text in islice(cycle(texts), 1000):
        start = time.perf_counter()
        translator.translate(text, decode)
        end = time.perf_counter()
        yield end - start
        if end > deadline:
            break


def _run_time(command: list[str], text: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, input=text.encode())
    return time.perf_counter() - start
