"""The translator, with a model of a few lines whose output is obvious, and with a tiny Transformer."""

import itertools
import math
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.errors import DataError, SettingsError, UserError
from regard.inference.backends.interface import Backend, Batching, Sources, SourceTokens, TokenPairs
from regard.inference.backends.torch import TorchBackend
from regard.inference.result import Translation
from regard.inference.search.hypothesis import Hypothesis, length_penalty
from regard.inference.translator import Translator
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.models.kinds.transformer import Transformer
from regard.models.lens import Lens
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import TransformerSettings
from regard.tokenizers.special_ids import EOS

torch.set_num_threads(1)

FIRST = 4
ROWS = FIRST + 256


class Bytes:
    """A tokenizer whose tokens are bytes."""

    placeholders: tuple[str, ...] = ()

    def encode_masked(self, texts: Sequence[str]) -> list[list[int]]:
        return self.encode(texts)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[FIRST + byte for byte in text.encode()] for text in texts]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return [bytes(token_id - FIRST for token_id in text).decode("utf-8", "replace") for text in ids]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [f"{each - FIRST:02x}" for each in ids]

    @property
    def generable(self) -> list[bool]:
        return [row >= EOS for row in range(ROWS)]


@dataclass(frozen=True)
class CopyState:
    source_BS: Tensor
    beams: int = 1
    length: int = 0

    def select(self, beams_BK: Tensor) -> "CopyState":
        return replace(self, beams=beams_BK.size(1))

    def keep(self, sentences: Tensor) -> "CopyState":
        return replace(self, source_BS=self.source_BS[sentences])


class Upper(AutoregressiveModel):
    """A model that writes its source in capitals, with lower case as the second choice, and records its batches."""

    def __init__(self) -> None:
        super().__init__(TransformerSettings())
        self.batches: list[tuple[int, ...]] = []
        self.steps = 0

    def encode(self, inputs: Inputs, lens: Lens | None = None) -> Tensor:
        assert not self.training
        self.batches.append(tuple(inputs.values.shape))
        return inputs.values

    def start(self, encoded: Tensor) -> CopyState:
        return CopyState(encoded)

    def decode(self, tokens_NT: Tensor, state: CopyState, lens: Lens | None = None) -> tuple[Tensor, CopyState]:
        assert tokens_NT.shape == (len(state.source_BS) * state.beams, 1)
        self.steps += 1
        width = state.source_BS.size(1)
        past_the_end = torch.full_like(state.source_BS[:, 0], EOS)
        next_B = state.source_BS[:, state.length] if state.length < width else past_the_end
        hidden_N1 = next_B.repeat_interleave(state.beams)[:, None, None]
        return hidden_N1, replace(state, length=state.length + 1)

    def project(self, hidden: Tensor) -> Tensor:
        ids_N = hidden.squeeze(-1)
        small_N = (ids_N >= FIRST + ord("a")) & (ids_N <= FIRST + ord("z"))
        large_N = torch.where(small_N, ids_N - 32, ids_N)
        logits_NV = torch.zeros(len(ids_N), ROWS)
        logits_NV.scatter_(1, ids_N[:, None], 18.0)
        return logits_NV.scatter_(1, large_N[:, None], 20.0)


class Endless(Upper):
    """A model that gives EOS almost no probability."""

    def project(self, hidden: Tensor) -> Tensor:
        logits_NV = torch.zeros(len(hidden), ROWS)
        logits_NV[:, FIRST + ord("x")] = 20.0
        logits_NV[:, EOS] = -20.0
        return logits_NV


def upper(max_positions: int = 64, model: Upper | None = None) -> Translator:
    return Translator(TorchBackend(model or Upper().eval(), Bytes().generable), Bytes(), max_positions=max_positions)


GREEDY = DecodeSettings(beam_size=1)


def test_one_text_is_translated() -> None:
    translation = upper().translate("one.")
    assert (translation.source, translation.text, translation.alternatives) == ("one.", "ONE.", ())
    assert translation.tokens == ("4f", "4e", "45", "2e")
    assert translation.score is not None and -1 < translation.score < 0


@pytest.mark.parametrize("text", ["", " ", "\t  ", "\u00a0", "\n", " \n\n "])
def test_blank_texts_are_returned_without_running_the_model(text: str) -> None:
    model = Upper().eval()
    assert upper(model=model).translate(text) == Translation(text, text, 0.0, 0.0, ())
    assert model.batches == []


def test_blank_texts_have_a_score_only_if_it_is_requested() -> None:
    for text in ("", " ", "\n", " \n\n"):
        scored, bare = (upper().translate(text, DecodeSettings(scores=scores)) for scores in (True, False))
        assert (scored.score, scored.log_probability) == (0.0, 0.0)
        assert (bare.score, bare.log_probability) == (None, None)
    part = upper().translate(" \na", DecodeSettings(scores=False))
    assert (part.text, part.score, part.log_probability) == (" \nA", None, None)


def test_white_space_is_translated_by_the_model() -> None:
    assert upper().translate("  a  b ").text == "  A  B "


def test_alternatives_are_the_next_best_translations() -> None:
    translation = upper().translate("a", DecodeSettings(beam_size=4, n_best=2))
    assert [each.text for each in (translation, *translation.alternatives)] == ["A", "a"]
    best, second = (each.score for each in (translation, *translation.alternatives))
    assert best is not None and second is not None and best > second
    assert translation.alternatives[0].source == "a"


def test_a_list_is_translated_in_order_and_equal_texts_once() -> None:
    model = Upper().eval()
    texts = ["bb", "", "a", "bb", "cccc", "a"]
    assert [each.text for each in upper(model=model).translate(texts)] == ["BB", "", "A", "BB", "CCCC", "A"]
    assert model.batches == [(3, 5)]


def test_batches_have_similar_lengths_and_a_bounded_size() -> None:
    model = Upper().eval()
    texts = [chr(ord("a") + number % 26) * (1 + number % 7) for number in range(60)]
    translations = list(upper(model=model).translate_iterable(texts, GREEDY, batch_tokens=24))
    assert [each.text for each in translations] == [text.upper() for text in texts]
    assert all(rows * width <= 24 for rows, width in model.batches)
    assert [width for _, width in model.batches] == sorted((width for _, width in model.batches), reverse=True)


def test_beams_count_towards_the_size_of_a_batch() -> None:
    model = Upper().eval()
    list(
        upper(model=model).translate_iterable(
            ["abc", "abd", "abe", "abf"], DecodeSettings(beam_size=4), batch_tokens=32
        )
    )
    assert model.batches == [(2, 4), (2, 4)]


def test_the_last_batches_are_smaller_for_several_workers() -> None:
    class TwoWorkers(TorchBackend):
        def batching(self, decode: DecodeSettings) -> Batching:
            return Batching(8192, workers=2)

    model = Upper().eval()
    texts = [f"{number:03}" for number in range(64)]
    two = Translator(TwoWorkers(model, Bytes().generable), Bytes(), max_positions=64)
    assert [each.text for each in two.translate_iterable(texts, GREEDY, batch_tokens=64)] == texts
    # The rest is divided among the workers, into batches of at least half the usual size.
    assert model.batches == [(rows, 4) for rows in (16, 16, 16, 8, 8)]
    # After a full window more lines may follow, so its last batches are not smaller.
    model.batches.clear()
    more = [f"{number:03}" for number in range(128)]
    assert [each.text for each in two.translate_iterable(more, GREEDY, window=64, batch_tokens=64)] == more
    assert model.batches == [(16, 4)] * 8
    model.batches.clear()
    assert [each.text for each in two.translate_iterable(more[:-1], GREEDY, window=64, batch_tokens=64)] == more[:-1]
    assert model.batches[:4] == [(16, 4)] * 4
    assert len(model.batches) > 8


def test_few_texts_are_divided_equally_among_the_workers() -> None:
    """Otherwise some workers would be idle."""

    class ThreeWorkers(TorchBackend):
        def batching(self, decode: DecodeSettings) -> Batching:
            return Batching(8192, workers=3)

    model = Upper().eval()
    texts = [f"{number:0{number % 5 + 10}}" for number in range(300)]
    three = Translator(ThreeWorkers(model, Bytes().generable), Bytes(), max_positions=64)
    assert [each.text for each in three.translate(texts, GREEDY)] == texts
    assert [rows for rows, _ in model.batches] == [100, 107, 93]
    # A single text, or two, are not worth dividing.
    model.batches.clear()
    three.translate(["one", "two"], GREEDY)
    assert model.batches == [(2, 4)]


def test_a_text_larger_than_a_batch_is_a_batch_of_its_own() -> None:
    assert next(upper().translate_iterable(["abcdefgh"], batch_tokens=1)).text == "ABCDEFGH"


def test_a_stream_reads_no_further_than_its_window() -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for number in itertools.count():
            read += 1
            yield f"line {number}"

    stream = upper().translate_iterable(lines(), GREEDY, window=3)
    assert [next(stream).text for _ in range(3)] == ["LINE 0", "LINE 1", "LINE 2"]
    assert read == 3
    assert next(stream).text == "LINE 3"
    assert read == 6


def test_a_stream_of_single_lines_yields_before_it_reads_the_next_line() -> None:
    """Otherwise a person at a terminal would get an answer only after typing the next line."""
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        for number in itertools.count():
            read += 1
            yield f"line {number}"

    stream = upper().translate_iterable(lines(), GREEDY, window=1)
    assert (next(stream).text, read) == ("LINE 0", 1)
    assert (next(stream).text, read) == ("LINE 1", 2)


def test_a_repeated_line_is_translated_once() -> None:
    for window in (1, 2, 9):
        model = Upper().eval()
        assert [each.text for each in upper(model=model).translate_iterable(["a"] * 5, GREEDY, window=window)] == [
            "A"
        ] * 5
        assert model.batches == [(1, 2)]


def test_the_number_of_remembered_translations_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.inference.windows.MAX_REMEMBERED", 2)
    model = Upper().eval()
    lines = ["a", "b", "c", "c", "c"]
    assert [each.text for each in upper(model=model).translate_iterable(lines, GREEDY, window=1)] == [
        line.upper() for line in lines
    ]
    assert len(model.batches) == 3


def test_the_lines_of_a_text_are_translated_separately() -> None:
    model = Upper().eval()
    assert upper(model=model).translate("one\n\n  two\r\nthree\n").text == "ONE\n\n  TWO\r\nTHREE\n"
    assert model.batches == [(3, 6)]


def test_a_long_text_is_split_and_joined_and_never_truncated() -> None:
    model = Upper().eval()
    text = "  a first sentence.  and a second one!\u00a0" + "w" * 40 + " the end "
    translation = upper(max_positions=20, model=model).translate(text, DecodeSettings(beam_size=2, n_best=2))
    assert translation.text == text.upper()
    assert translation.source == text
    assert all(width <= 20 for _, width in model.batches)
    assert "".join(translation.tokens) == text.upper().strip().replace("  ", "").replace("\u00a0", "").encode().hex()
    assert len(translation.alternatives) == 1
    assert translation.alternatives[0].text != translation.text
    assert translation.alternatives[0].text.upper() == text.upper()


def test_a_text_of_exactly_the_maximum_length_is_not_split() -> None:
    model = Upper().eval()
    upper(max_positions=16, model=model).translate("a" * 15)
    upper(max_positions=16, model=model).translate("a" * 16)
    assert model.batches == [(1, 16), (2, 16)]


@pytest.mark.parametrize(("length", "max_positions", "generated"), [(3, 64, 8), (20, 64, 25), (30, 32, 32)])
def test_the_length_limit_depends_on_the_source(length: int, max_positions: int, generated: int) -> None:
    translator = upper(max_positions, Endless().eval())
    translation = translator.translate("a" * length, DecodeSettings(beam_size=2, max_length_offset=5))
    assert translation.text == "x" * generated


def test_a_model_in_training_mode_stays_in_training_mode() -> None:
    model = Upper().train()
    assert upper(model=model).translate("a").text == "A"
    assert model.training


@settings(max_examples=50)
@given(st.text(alphabet="ab. \n\u00a0é", max_size=120))
def test_any_text_is_translated_completely(text: str) -> None:
    capitals = text.translate({ord("a"): "A", ord("b"): "B"})
    assert upper(max_positions=16).translate(text, GREEDY).text == capitals


@pytest.fixture(scope="module")
def tiny() -> Callable[[], Translator]:
    torch.manual_seed(5)
    model = Transformer(
        TransformerSettings(
            source_vocab_size=ROWS + 4,
            target_vocab_size=ROWS + 4,
            width=32,
            heads=4,
            feedforward=64,
            encoder_layers=2,
            decoder_layers=2,
            max_positions=48,
        )
    ).eval()
    # Sharper than a fresh model, so that hypotheses have distinct scores and some end.
    with torch.no_grad():
        model.embedding.weight.mul_(4)

    class Wide(Bytes):
        def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
            return [" ".join(map(str, text)) for text in ids]

        @property
        def generable(self) -> list[bool]:
            return [EOS <= row < ROWS for row in range(ROWS + 4)]

    return lambda: Translator(TorchBackend(model, Wide().generable), Wide(), max_positions=48)


TEXTS = ["a", "hello there", "one two three four five six seven", "x y z", "", "hello", "Ünïcödé!", "a b c d e f g h"]


@pytest.mark.parametrize("beams", [1, 4])
def test_a_text_gets_the_same_translation_alone_and_in_any_batch(tiny: Callable[[], Translator], beams: int) -> None:
    translator = tiny()
    decode = DecodeSettings(beam_size=beams, n_best=min(2, beams), max_length_offset=10)
    alone = [translator.translate(text, decode) for text in TEXTS]
    for batch_tokens in (8, 100, 10_000):
        together = list(translator.translate_iterable(TEXTS, decode, batch_tokens=batch_tokens))
        assert [each.text for each in together] == [each.text for each in alone]
        assert [each.score for each in together] == pytest.approx([each.score for each in alone], abs=1e-4)
        assert [[alternative.text for alternative in each.alternatives] for each in together] == [
            [alternative.text for alternative in each.alternatives] for each in alone
        ]


def test_the_score_of_a_search_equals_that_of_one_teacher_forced_pass(tiny: Callable[[], Translator]) -> None:
    """The search runs step by step, with a cache and reordered beams; the pass computes all positions at once."""
    translator = tiny()
    for text in ["hello there", "x y z"]:
        translation = translator.translate(text, DecodeSettings(beam_size=3, length_penalty=0.0, max_length_offset=5))
        generated = ids(translation)
        ended = len(generated) < len(text.encode()) + 5
        target = [2, *generated, EOS] if ended else [2, *generated]
        source = torch.tensor([[*translator.tokenizer.encode([text])[0], EOS]])
        with torch.inference_mode():
            model: Any = translator.backend
            logits_TV = model.model(Inputs(source), torch.tensor([target[:-1]]))[0].clone()
            logits_TV[:, ~torch.tensor([EOS <= row < ROWS for row in range(ROWS + 4)])] = -torch.inf
            log_T = logits_TV.log_softmax(-1).gather(1, torch.tensor(target[1:])[:, None])
        assert translation.score == pytest.approx(log_T.sum().item(), abs=1e-3)


def test_the_translator_does_not_import_torch() -> None:
    code = "import sys, regard.inference.translator; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_lines_before_an_unreadable_line_are_translated() -> None:
    def lines() -> Iterator[str]:
        yield from ["a", "b", "a"]
        raise DataError("line 4")

    texts = []
    with pytest.raises(DataError, match="line 4"):  # noqa: PT012
        for translation in upper().translate_iterable(lines(), GREEDY, window=2):
            texts.append(translation.text)  # noqa: PERF401
    assert texts == ["A", "B", "A"]


def test_an_endless_stream_of_one_text_is_translated() -> None:
    assert [
        each.text for each in itertools.islice(upper().translate_iterable(itertools.repeat("a"), GREEDY, window=3), 7)
    ] == ["A"] * 7


class Controlled(Backend):
    """A backend whose futures the test completes, in any order."""

    def __init__(self, ahead: int = 3) -> None:
        self.ahead = ahead
        self.submitted: list[tuple[Sources, Future[list[list[Hypothesis]]]]] = []

    def batching(self, decode: DecodeSettings) -> Batching:
        return Batching(tokens=1, ahead=self.ahead)  # one text per batch

    def generate(
        self, batch: Sources, decode: DecodeSettings, *, sentences: int | None = None
    ) -> Future[list[list[Hypothesis]]]:
        self.submitted.append((batch, Future()))
        return self.submitted[-1][1]

    def complete(self, number: int) -> None:
        batch, future = self.submitted[number]
        future.set_result([[Hypothesis.of(source.ids, [-1.0], 0.0)] for source in batch])

    def score(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        raise NotImplementedError

    def attend(self, pairs: TokenPairs) -> list[Any]:
        raise NotImplementedError

    def close(self) -> None:
        self.submitted.clear()


def in_thread(stream: Iterator[Translation], results: "SimpleQueue[str | Exception]") -> Thread:
    """Read a stream in a thread, and put its texts and its exception in a queue."""

    def read() -> None:
        try:
            for translation in stream:
                results.put(translation.text)
        except Exception as error:
            results.put(error)

    thread = Thread(target=read, daemon=True)
    thread.start()
    return thread


def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.001)


def test_translations_come_in_the_order_of_the_texts_whichever_batch_ends_first() -> None:
    backend, results = Controlled(), SimpleQueue[str | Exception]()
    texts = list("abcdefgh")
    thread = in_thread(Translator(backend, Bytes(), max_positions=64).translate_iterable(texts, window=2), results)
    wait_until(lambda: len(backend.submitted) == 4)  # three ahead, and the one that is waited for
    for number in (3, 2, 1):
        backend.complete(number)
    assert results.empty()
    backend.complete(0)
    assert [results.get() for _ in range(4)] == texts[:4]
    wait_until(lambda: len(backend.submitted) == 8)
    for number in (7, 6, 5, 4):
        backend.complete(number)
    thread.join()
    assert [results.get() for _ in range(4)] == texts[4:]
    assert results.empty()


def test_an_error_of_the_backend_comes_after_the_windows_before_it() -> None:
    backend, results = Controlled(), SimpleQueue[str | Exception]()
    thread = in_thread(Translator(backend, Bytes(), max_positions=64).translate_iterable("abcd", window=2), results)
    wait_until(lambda: len(backend.submitted) == 4)
    backend.submitted[2][1].set_exception(ValueError("the third batch"))
    for number in (3, 1, 0):
        backend.complete(number)
    thread.join()
    assert (results.get(), results.get(), str(results.get()), results.empty()) == ("a", "b", "the third batch", True)


def test_a_caller_that_stops_early_cancels_the_batches_that_have_not_started() -> None:
    backend = Controlled()
    generate = backend.generate

    def first_is_complete(
        batch: Sources, decode: DecodeSettings, *, sentences: int | None = None
    ) -> Future[list[list[Hypothesis]]]:
        future = generate(batch, decode)
        if len(backend.submitted) <= 2:
            backend.complete(-1)
        return future

    backend.generate = first_is_complete  # type: ignore[method-assign]
    stream = Translator(backend, Bytes(), max_positions=64).translate_iterable("abcdefgh", window=2)
    assert next(stream).text == "a"
    assert 2 < len(backend.submitted) < 8
    stream.close()  # type: ignore[attr-defined]
    assert [future.cancelled() for _, future in backend.submitted[2:]] == [True] * (len(backend.submitted) - 2)


def test_a_closed_translator_is_refused() -> None:
    with upper() as translator:
        assert translator.translate("a").text == "A"
    for use in (lambda: translator.translate("a"), lambda: list(translator.score([("a", "b")]))):
        with pytest.raises(UserError, match="the model is closed; load it again"):
            use()


def test_a_stream_of_a_translator_that_is_closed_meanwhile_is_refused() -> None:
    translator = upper()
    stream = translator.translate_iterable("abcdef", window=2)
    assert next(stream).text == "A"
    translator.close()
    with pytest.raises(UserError, match="the model is closed; load it again"):
        list(stream)


# Sampling, prefixes, lengths


def ids(translation: Translation) -> list[int]:
    """Return the ids in a translation of the tiny model, whose tokenizer decodes ids to numbers."""
    return [int(each) for each in translation.text.split()]


SAMPLED = DecodeSettings(temperature=1.0, top_k=20, n_best=2, max_length_offset=10)


def test_the_same_seed_samples_the_same_text_alone_and_in_any_batch(tiny: Callable[[], Translator]) -> None:
    alone = [tiny().translate(text, SAMPLED) for text in TEXTS]
    for batch_tokens in (8, 100, 10_000):
        together = list(tiny().translate_iterable(TEXTS[::-1], SAMPLED, batch_tokens=batch_tokens))[::-1]
        assert [each.text for each in together] == [each.text for each in alone]
        assert [[alternative.text for alternative in each.alternatives] for each in together] == [
            [alternative.text for alternative in each.alternatives] for each in alone
        ]
    reseeded = tiny().translate(TEXTS, replace(SAMPLED, seed=2))
    assert sum(first.text == second.text for first, second in zip(alone, reseeded, strict=True)) == 1  # the blank text


def test_sampling_from_one_token_is_greedy(tiny: Callable[[], Translator]) -> None:
    decode = DecodeSettings(temperature=1.0, top_k=1, max_length_offset=10)
    greedy = DecodeSettings(beam_size=1, max_length_offset=10)
    sampled, searched = (tiny().translate(TEXTS, each) for each in (decode, greedy))
    assert [each.text for each in sampled] == [each.text for each in searched]
    assert [each.score for each in sampled] == pytest.approx([each.score for each in searched], abs=1e-5)


@pytest.mark.parametrize(
    "decode", [DecodeSettings(max_length_offset=5), DecodeSettings(max_length_offset=5, temperature=1.0)], ids=str
)
def test_a_translation_starts_with_its_prefix(tiny: Callable[[], Translator], decode: DecodeSettings) -> None:
    prefix = tiny().tokenizer.encode(["by the way"])[0]
    for translation in tiny().translate(["hello there", "x"], replace(decode, prefix="by the way")):
        assert ids(translation)[: len(prefix)] == prefix
        assert len(ids(translation)) > len(prefix)


def test_a_prefix_of_the_best_translation_does_not_change_it(tiny: Callable[[], Translator]) -> None:
    backend = tiny().backend
    [[best]] = backend.generate([SourceTokens((70, 80), 48)], GREEDY).result()
    [[again]] = backend.generate([SourceTokens((70, 80), 48, best.token_ids[:4])], GREEDY).result()
    assert again.token_ids == best.token_ids
    assert again.token_log_probabilities == pytest.approx(best.token_log_probabilities, abs=1e-5)


def test_a_prefix_applies_to_the_first_part_of_a_text() -> None:
    decode = DecodeSettings(prefix="ab", max_length_offset=5)
    assert upper().translate(" \n\nxyz\nxyz\nx", decode).text.split("\n") == [" ", "", "abZ", "XYZ", "X"]
    assert [each.text for each in upper().translate(["xyz", "", "xyz"], decode)] == ["abZ", "", "abZ"]
    long = upper(max_positions=12).translate("one two three four five.", decode).text
    assert long == "abE TWO THREE FOUR FIVE."


@pytest.mark.parametrize(("max_length", "generated"), [(1, 1), (4, 4), (0, 8), (64, 8), (99, 8)])
def test_max_length_limits_the_tokens_of_a_translation(max_length: int, generated: int) -> None:
    translation = upper(model=Endless().eval()).translate(
        "aaa", DecodeSettings(beam_size=2, max_length_offset=5, max_length=max_length)
    )
    assert translation.text == "x" * generated


@pytest.mark.parametrize(("min_length", "generated"), [(0, 3), (2, 3), (6, 6), (64, 64)])
def test_min_length_overrides_the_limit_of_the_source(min_length: int, generated: int) -> None:
    translation = upper().translate("abc", DecodeSettings(beam_size=2, max_length_offset=1, min_length=min_length))
    assert len(translation.tokens) == generated
    assert translation.text.startswith("ABC")


@pytest.mark.parametrize(
    ("decode", "message"),
    [
        (DecodeSettings(min_length=65), "decode.min_length (65) exceeds the maximum length of a translation (64)"),
        (DecodeSettings(prefix="abcd", max_length=4), "decode.prefix takes 4 of the 4 tokens a translation may have; "),
        (DecodeSettings(prefix="a" * 70), "decode.prefix takes 70 of the 64 tokens a translation may have; shorten it"),
    ],
    ids=str,
)
def test_impossible_lengths_are_refused(decode: DecodeSettings, message: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(message)):
        upper().translate("a", decode)


def test_no_ngram_is_repeated() -> None:
    translator = upper(model=Endless().eval())
    assert translator.translate("aaaa", GREEDY).text == "x" * 54
    tokens = translator.translate("aaaa", DecodeSettings(beam_size=1, no_repeat_ngram_size=2)).tokens
    bigrams = [tokens[at : at + 2] for at in range(len(tokens) - 1)]
    assert len(bigrams) == len(set(bigrams)) > 2


# Log-probabilities


def test_token_log_probabilities_are_returned_on_request(tiny: Callable[[], Translator]) -> None:
    decode = DecodeSettings(max_length_offset=5, n_best=3, log_probabilities=True)
    for text in ("hello there", "x y z"):
        translation = tiny().translate(text, decode)
        plain = tiny().translate(text, replace(decode, log_probabilities=False))
        for each, bare in zip((translation, *translation.alternatives), (plain, *plain.alternatives), strict=True):
            ended = len(each.tokens) < len(text) + 5
            length = len(each.log_probabilities)
            assert length == len(each.tokens) + ended
            assert math.fsum(each.log_probabilities) == each.log_probability
            assert each.score == each.log_probability / length_penalty(length, decode.length_penalty)
            assert (bare.log_probabilities, bare.log_probability, bare.text) == ((), each.log_probability, each.text)


def test_the_log_probability_of_a_text_is_the_sum_over_its_parts() -> None:
    decode = DecodeSettings(log_probabilities=True)
    text = upper().translate("ab\ncd", decode)
    parts = upper().translate(["ab", "cd"], decode)
    assert text.log_probabilities == parts[0].log_probabilities + parts[1].log_probabilities
    assert len(text.log_probabilities) == 6
    assert text.log_probability == sum(part.log_probability or 0.0 for part in parts)


def test_scoring_a_translation_gives_the_log_probabilities_of_its_search(tiny: Callable[[], Translator]) -> None:
    """The search runs step by step with a cache; scoring is one pass, alone and in a batch."""
    translator = tiny()
    decode = DecodeSettings(max_length_offset=5, n_best=4, log_probabilities=True)
    pairs, expected = [], []
    for text in TEXTS[:4]:
        translation = translator.translate(text, decode)
        for each in (translation, *translation.alternatives):
            pairs.append((translator.tokenizer.encode([text])[0], ids(each)))
            expected.append(each.log_probabilities)
    for scored in (translator.backend.score(pairs), [translator.backend.score([pair])[0] for pair in pairs]):
        for (_, target), logs, search_logs in zip(pairs, scored, expected, strict=True):
            assert len(logs) == len(target) + 1
            assert logs[: len(search_logs)] == pytest.approx(search_logs, abs=1e-4)


def test_arguments_that_are_not_texts_are_refused(tiny: Callable[[], Translator]) -> None:
    wrong: Any
    for wrong in (5, [5], ["a", 5]):
        with pytest.raises(TypeError, match=r"^texts must be a str or a sequence of str, got int$"):
            tiny().translate(wrong)
    for wrong, found in ((("a",), "('a',)"), ("ab", "'ab'"), (("a", 5), "('a', 5)")):
        with pytest.raises(DataError) as refused:
            list(tiny().score([("a", "b"), wrong]))
        assert str(refused.value) == f"pair 2: expected a source and a translation, both str, found {found}"


def test_given_translations_are_scored_in_order(tiny: Callable[[], Translator]) -> None:
    pairs = [("hello there", "one"), ("x", ""), ("hello there", "two three four"), ("", "x")] * 3
    scored = list(tiny().score(pairs))
    assert [(each.source, each.text) for each in scored] == pairs
    for each, pair in zip(scored, pairs, strict=True):
        assert each.log_probability == pytest.approx(next(tiny().score([pair])).log_probability, abs=1e-4)
    assert [len(each.log_probabilities) for each in scored[:4]] == [4, 1, 15, 2]
    assert all(each.log_probability == math.fsum(each.log_probabilities) < 0 for each in scored)
    assert scored[0].score == math.fsum(scored[0].log_probabilities) / length_penalty(4, 0.6)


@pytest.mark.parametrize(("pair", "side"), [(("x" * 48, "y"), "source"), (("x", "y" * 48), "translation")])
def test_a_pair_that_is_too_long_to_score_is_refused(
    tiny: Callable[[], Translator], pair: tuple[str, str], side: str
) -> None:
    with pytest.raises(DataError) as refused:
        list(tiny().score([("a", "b"), ("y" * 47, "y" * 47), pair]))
    assert str(refused.value) == (
        f"pair 3: the {side} has 48 tokens, but the model accepts at most 47; split the pair or leave it out"
    )


# Long and unusual texts


class Counting(Bytes):
    """A tokenizer that counts the characters it encodes."""

    def __init__(self) -> None:
        self.characters = 0

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        self.characters += sum(map(len, texts))
        return super().encode(texts)


LONG = {
    "one word": "a",
    "words": "ab cd ",
    "sentences": "Yes. ",
    "stops": ".",
    "combining marks": "\u0301",
    "wide stops": "好。",
    "blanks": " ",
    "lines": "a\n",
}


@pytest.mark.parametrize("kind", LONG)
def test_the_work_grows_linearly_with_the_length_of_a_text(kind: str) -> None:
    """Counts encoded characters and computed rows, not seconds: four times the text is about four times the work."""
    work = []
    for length in (25_000, 100_000):
        text = (LONG[kind] * length)[:length]
        tokenizer, model = Counting(), Upper().eval()
        translation = Translator(TorchBackend(model, tokenizer.generable), tokenizer, max_positions=256).translate(
            text, GREEDY
        )
        assert translation.text == text.upper()
        work.append((tokenizer.characters, sum(rows * width for rows, width in model.batches)))
    for small, large in zip(*work, strict=True):
        assert large <= 4.2 * small + 1000
        assert large <= 40 * 100_000


ODD = [
    "".join(map(chr, [*range(1, 10), *range(11, 32), 127, *range(128, 160)])),
    "e\u0301\u0302\u0303\u0323 o\u0308",
    "\u200d\u200c\u200e\u202e\u2066\ufeff\ufe0f",
    "👩‍👩‍👧‍👦 🏳️‍🌈 \U000e0001",
    "\ud7ff\ue000\uffff\U0010ffff",
    "\0 a \0\0",
    "e" + "\u0301" * 500,
]


@pytest.mark.parametrize("text", ODD, ids=ascii)
@pytest.mark.parametrize("max_positions", [16, 4096])
def test_control_and_combining_characters_are_translated(text: str, max_positions: int) -> None:
    assert upper(max_positions=max_positions).translate(text, GREEDY).text == text.translate(
        {code: code - 32 for code in range(97, 123)}
    )
