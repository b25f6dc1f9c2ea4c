"""How fast a model translates on this machine: many sentences, one by one, and from nothing."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

from regard.errors import DataError, SettingsError
from regard.inference.backends.ctranslate2 import CTranslate2Backend, supports
from regard.inference.translator_loader import load_translator
from regard.machine.memory import peak_memory_mb
from regard.settings.decode import DecodeSettings
from regard.settings.parser import decode_settings

_SECONDS = 10.0  # about, for each of the three measurements of translating

_COLD_STARTS = 5


@dataclass(frozen=True)
class TranslationSpeed:
    """What a model does on this machine."""

    sentences: int  # distinct ones that were given
    sentences_per_second: float
    tokens_per_second: float
    workers: int  # batches at once; the cores are divided among them
    share_of_engine: float  # of the engine's own speed, from pieces to pieces, without our reading and writing
    p50_milliseconds: float  # for one sentence alone
    p99_milliseconds: float
    cold_start_seconds: float  # from the command to the text, one sentence
    peak_memory_mb: float | None  # where the system tells


def measure_translation(
    folder: Path, texts: Sequence[str], overrides: Sequence[str], *, fast: str
) -> Iterator[str | TranslationSpeed]:
    """Say what is being measured, then give the result; `overrides` are as of `--set`."""
    decode = replace(decode_settings(overrides), scores=False)  # as `regard translate`
    if more := decode.extra_outputs():
        raise SettingsError(f"what is measured is how fast texts are written; leave {', '.join(more)} out")
    if not supports(decode):
        raise SettingsError(f"what is measured is the engine, which leaves this to torch: {', '.join(overrides)}")
    # The same text again would cost nothing.
    texts = list(dict.fromkeys(text for text in texts if text.strip()))
    if not texts:
        raise DataError("there is no text to measure with; give some lines: regard bench translate --model … < lines")
    translator = load_translator(folder, fast=fast)
    assert isinstance(translator, CTranslate2Backend)
    yield "many sentences"
    some = texts[: _enough(translator, texts, decode)]
    seconds, own = [], []
    for _ in range(3):
        began = time.perf_counter()
        found = translator.translate_all(some, decode)
        middle = time.perf_counter()
        translator.translate_bare(some, decode)
        seconds.append(middle - began)
        own.append(time.perf_counter() - middle)
    together = statistics.median(seconds)
    yield "one sentence at a time"
    alone = sorted(_each_alone(translator, texts, decode))
    yield "starting from nothing"
    command = [sys.executable, "-P", "-m", "regard", "translate", "--model", str(folder), "--fast", fast]
    command += [word for setting in overrides for word in ("--set", setting)]
    cold = statistics.median(_seconds(command, texts[0]) for _ in range(_COLD_STARTS))
    yield TranslationSpeed(
        sentences=len(texts),
        sentences_per_second=len(some) / together,
        tokens_per_second=sum(len(one.tokens) for one in found) / together,
        workers=max(1, translator.workers(decode)),
        share_of_engine=statistics.median(own) / together,
        p50_milliseconds=1000 * statistics.median(alone),
        p99_milliseconds=1000 * alone[int(0.99 * len(alone))],
        cold_start_seconds=cold,
        peak_memory_mb=peak_memory_mb(),
    )


def _enough(translator: CTranslate2Backend, texts: list[str], decode: DecodeSettings) -> int:
    """How many of the texts take long enough to tell; trying warms up."""
    count = 64
    while True:
        began = time.perf_counter()
        translator.translate_all(texts[:count], decode)
        if count >= len(texts) or time.perf_counter() - began > _SECONDS / 6:
            return count
        count *= 2


def _each_alone(translator: CTranslate2Backend, texts: list[str], decode: DecodeSettings) -> Iterator[float]:
    until = time.perf_counter() + _SECONDS
    for text in islice(cycle(texts), 1000):
        began = time.perf_counter()
        translator.translate(text, decode)
        now = time.perf_counter()
        yield now - began
        if now > until:
            break


def _seconds(command: list[str], text: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, input=text.encode())
    return time.perf_counter() - began
