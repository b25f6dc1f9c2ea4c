"""A thousand sentences get the same translation alone and in batches of any size.

The campaign (`pytest -s -m slow tests/inference/test_batch_equals_alone.py`) translates five thousand sentences on both
backends and prints its result.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.padded import batch

from regard.inference.backends.torch import TorchBackend
from regard.inference.search import beam
from regard.inference.search.sampler import sample
from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.interchange.ctranslate2.export import ensure_export
from regard.model_folder.writer import save_folder
from regard.models.kinds.transformer import Transformer
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.train import TrainSettings
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.tokenizers.special_ids import EOS, PAD
from regard.tokenizers.vocabulary import train_tokenizer
from regard.training.loss import backward_in_chunks
from regard.training.optimizers.adam import make_optimizer

torch.set_num_threads(1)

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()  # noqa: SIM905
_ONES += ["sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def spell(number: int) -> str:
    """Return a number below a million in words."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10 - 2] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    unit, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    words = f"{spell(number // unit)} {name}"
    return f"{words} {spell(number % unit)}" if number % unit else words


NUMBERS = random.Random(1).sample(range(100_000), 6500)
TRAINED = [(str(number), spell(number)) for number in NUMBERS[:1500]]
ALL = [spell(number) for number in NUMBERS[1500:]]
TEXTS = ALL[:1000]
STEPS = 250


@pytest.fixture(scope="module")
def translator() -> Translator:
    """A small model that is partly trained to convert numbers in words to digits."""
    tokenizer = SentencePieceTokenizer(
        train_tokenizer((text for pair in TRAINED for text in pair), kind="unigram", vocab_size=320)
    )
    settings = TransformerSettings(
        source_vocab_size=tokenizer.embedding_rows,
        target_vocab_size=tokenizer.embedding_rows,
        width=32,
        heads=2,
        feedforward=64,
        encoder_layers=1,
        decoder_layers=1,
        norm="pre",
    )
    torch.manual_seed(1)
    model = Transformer(settings)
    optimizer = make_optimizer(model, TrainSettings())
    sources, targets = (tokenizer.encode([pair[side] for pair in TRAINED]) for side in (1, 0))
    numbers = random.Random(1)
    for step in range(STEPS):
        chosen = [int(len(TRAINED) * numbers.random()) for _ in range(48)]
        for group in optimizer.param_groups:
            group["lr"] = 0.01 * (1 - step / STEPS)
        model.zero_grad()
        chosen_pairs = batch(*(padded([side[index] for index in chosen]) for side in (sources, targets)))
        backward_in_chunks(model, chosen_pairs, label_smoothing=0.1, tokens=chosen_pairs.target_tokens)
        optimizer.step()
    return Translator(TorchBackend(model.eval(), tokenizer.generable), tokenizer, max_positions=64)


def padded(rows: list[list[int]]) -> torch.Tensor:
    width = max(map(len, rows)) + 1
    return torch.tensor([[*row, EOS] + [PAD] * (width - 1 - len(row)) for row in rows])


DECODE = DecodeSettings(max_length_offset=5)


@pytest.fixture(scope="module")
def alone(translator: Translator) -> dict[str, tuple[str, float | None]]:
    """The translation and the score of each text, translated alone."""
    assert len(TEXTS) == len(set(TEXTS)) == 1000
    translations = [translator.translate(text, DECODE) for text in TEXTS]
    return {each.source: (each.text, each.score) for each in translations}


def test_the_translations_differ_enough_to_be_compared(alone: dict[str, tuple[str, float | None]]) -> None:
    """An untrained model would give many texts the same translation."""
    assert len({text for text, _ in alone.values()}) > 300
    assert len({len(text) for text in TEXTS}) > 20


@pytest.mark.parametrize("size", [2, 8, 64])
def test_a_batch_gives_the_translations_of_the_sentences_alone(
    translator: Translator, alone: dict[str, tuple[str, float | None]], size: int
) -> None:
    texts = random.Random(size).sample(TEXTS, len(TEXTS))
    different = []
    for start in range(0, len(texts), size):
        for each in translator.translate_iterable(texts[start : start + size], DECODE, batch_tokens=1 << 30):
            text, score = alone[each.source]
            assert each.score == pytest.approx(score, abs=1e-4)
            if each.text != text:
                different.append((each.source, each.text, text))
    assert different == []


@pytest.mark.parametrize(("window", "batch_tokens"), [(2048, 8192), (100, 300)])
def test_a_stream_gives_the_translations_of_the_sentences_alone(
    translator: Translator, alone: dict[str, tuple[str, float | None]], window: int, batch_tokens: int
) -> None:
    translations = translator.translate_iterable(TEXTS, DECODE, window=window, batch_tokens=batch_tokens)
    assert [each.text for each in translations] == [alone[text][0] for text in TEXTS]


SAMPLED = DecodeSettings(max_length_offset=5, temperature=1.0)


def different(translator: Translator, texts: list[str], sizes: list[int], decode: DecodeSettings) -> Iterator[str]:
    """Yield the texts that get another translation in shuffled batches than alone."""
    alone = {text: translator.translate(text, decode).text for text in texts}
    for size in sizes:
        shuffled = random.Random(size).sample(texts, len(texts))
        for start in range(0, len(texts), size):
            for each in translator.translate_iterable(shuffled[start : start + size], decode, batch_tokens=1 << 30):
                if each.text != alone[each.source]:
                    yield each.source


def test_a_batch_gives_the_samples_of_the_sentences_alone(translator: Translator) -> None:
    assert list(different(translator, TEXTS[:200], [7], SAMPLED)) == []


@pytest.fixture(scope="module")
def folder(translator: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the same model, exported to CTranslate2."""
    folder = tmp_path_factory.mktemp("model")
    backend, tokenizer = translator.backend, translator.tokenizer
    assert isinstance(backend, TorchBackend)
    model = backend.model
    assert isinstance(model, Transformer) and isinstance(tokenizer, SentencePieceTokenizer)
    save_folder(
        folder,
        settings=model.settings,
        weights=model.state_dict(),
        tokenizer=tokenizer,
        languages=("words", "digits"),
        card="",
    )
    ensure_export(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ctranslate2", "torch"])
def test_five_thousand_sentences_in_batches_equal_those_alone(folder: Path, backend: str) -> None:
    changed = list(different(load_translator(folder, backend=backend), ALL, [2, 8, 32], DECODE))
    print(f"{backend}: {len(ALL):,} sentences alone and shuffled in batches of 2, 8, 32: {len(changed)} different")
    assert changed == []


@pytest.mark.slow
def test_five_thousand_samples_in_batches_equal_those_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except where a random number is so close to the boundary of two tokens that rounding decides."""
    translator = load_translator(folder, backend="torch")
    changed = list(different(translator, ALL, [2, 8, 32], SAMPLED))
    print(f"sampled: {len(ALL):,} sentences alone and shuffled in batches of 2, 8, 32: {len(changed)} different")
    distances: list[float] = []

    def watched(log_NV: torch.Tensor, total_BK: torch.Tensor, uniform_BK: torch.Tensor, decode: DecodeSettings) -> Any:
        sums_V = log_NV[0].double().exp().cumsum(0)
        distances.append(float((sums_V / sums_V[-1] - uniform_BK[0, 0]).abs().min()))
        return sample(log_NV, total_BK, uniform_BK, decode)

    monkeypatch.setattr(beam, "sample", watched)
    for text in changed:
        distances.clear()
        translator.translate(text, SAMPLED)
        assert min(distances) < 1e-6, text
