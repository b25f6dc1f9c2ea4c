"""The translator of texts: a reader, a backend that turns source tokens into hypotheses, and a writer.

Texts that are too long for the model, and texts of several lines, are translated in parts and joined again. Equal parts
are translated only once, and parts of similar length form a batch. Translations are returned in the order of the texts.
This module does not import torch, because CTranslate2 does not need it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Self, final, overload

from regard.errors import DataError, UserError
from regard.inference.alignment import Link
from regard.inference.backends.interface import Backend, TokenPairs
from regard.inference.batch_writer import BatchWriter
from regard.inference.joiner import PartTranslations
from regard.inference.language_check import LanguageCheck
from regard.inference.length_buckets import length_buckets
from regard.inference.reader import Reader
from regard.inference.result import Translation
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.windows import Window, WindowReader
from regard.inference.writer import Writer
from regard.language_id import LanguageIdentifier
from regard.model_folder.folder import DEFAULT_DECODE, UNCALIBRATED, AlignmentHead
from regard.settings.decode import DecodeSettings
from regard.spans.glossary import Glossary
from regard.tokenizers.protocol import Tokenizer

_ALIGNED_TOKENS = 2048  # in a batch of given translations that are aligned

WINDOW = 2048  # number of lines whose parts are sorted into batches together


@final
class Translator:
    """Translates texts and scores given translations."""

    def __init__(
        self,
        backend: Backend,
        tokenizer: Tokenizer,
        *,
        max_positions: int,
        alignment_head: AlignmentHead | None = None,
        decode: DecodeSettings = DEFAULT_DECODE,
        identifier: LanguageIdentifier | None = None,
        source_language: str | None = None,
        calibration_temperature: float = UNCALIBRATED,
    ) -> None:
        """Make a translator; `max_positions` is the maximum number of tokens of a source or target, including EOS.

        `decode` is used by calls that do not give decode settings. Texts that are in another language than
        `source_language`, as far as `identifier` knows, get a warning. `calibration_temperature` is that of
        `calibrated_probability`; translation does not use it.
        """
        self.decode = decode
        self.calibration_temperature = calibration_temperature
        self.backend = backend
        self.tokenizer = tokenizer
        self.reader = Reader(tokenizer, max_positions, has_alignment=alignment_head is not None)
        self.writer = Writer(tokenizer, alignment_head, calibration_temperature)
        self._language_check = LanguageCheck(identifier or LanguageIdentifier({}), source_language)
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the model and its threads. The translator cannot be used afterwards."""
        self._is_closed = True
        self.backend.close()

    @property
    def max_positions(self) -> int:
        """The maximum number of tokens of a source or target, including EOS."""
        return self.reader.max_positions

    @property
    def alignment_head(self) -> AlignmentHead | None:
        """The attention head that aligns words best, or None if it has not been measured."""
        return self.writer.alignment_head

    @property
    def identifier(self) -> LanguageIdentifier:
        """What finds the language of a text; without language profiles, every language is unknown."""
        return self._language_check.identifier

    # A string is also a sequence of strings, so both overloads fit it; type checkers use the first.
    @overload
    def translate(  # type: ignore[overload-overlap]
        self, text: str, decode: DecodeSettings | None = None, *, glossary: Glossary | None = None
    ) -> Translation: ...

    @overload
    def translate(
        self, text: Sequence[str], decode: DecodeSettings | None = None, *, glossary: Glossary | None = None
    ) -> list[Translation]: ...

    def translate(
        self,
        text: str | Sequence[str],
        decode: DecodeSettings | None = None,
        *,
        glossary: Glossary | None = None,
    ) -> Translation | list[Translation]:
        """Translate one text of any length and any number of lines, or a list of texts.

        Each text of a list gets the translation that it would get alone. `glossary` has terms with their translations.
        """
        texts = list(text) if isinstance(text, Iterable) and not isinstance(text, str) else [text]
        for one in texts:
            if not isinstance(one, str):
                raise TypeError(f"texts must be a str or a sequence of str, got {type(one).__name__}")
        translations = list(self.translate_iterable(texts, decode, glossary=glossary))
        return translations[0] if isinstance(text, str) else translations

    def translate_iterable(
        self,
        lines: Iterable[str],
        decode: DecodeSettings | None = None,
        *,
        window: int = WINDOW,
        batch_tokens: int | None = None,
        glossary: Glossary | None = None,
        remembered: PartTranslations | None = None,
    ) -> Iterator[Translation]:
        """Yield the translation of each line, in order. Lines are read in windows of `window` lines.

        `remembered` has translations of parts from earlier calls with the same settings, and gets those of this call.

        With a window of one line, each line is translated before the next is read; otherwise some windows may be read
        ahead. If reading a line fails, the lines before it are translated before the error is raised. If a line cannot
        be translated, only the windows before the window of that line are translated.
        """
        self.check_open()
        decode = decode or self.decode
        if decode.alignment and self.alignment_head is None:
            decode = replace(decode, alignment=False)
        batching = self.backend.batching(decode)
        batching = replace(batching, tokens=batch_tokens or batching.tokens, ahead=batching.ahead if window > 1 else 0)
        reader = WindowReader(
            self.reader, self.writer, self._language_check, decode, batching, size=window, glossary=glossary
        )
        translate = partial(
            self.translate_iterable, decode=replace(decode, prefix=""), batch_tokens=batch_tokens, glossary=glossary
        )
        writer = BatchWriter(self.backend, self.reader, self.writer, decode, translate)
        windows = reader.windows(iter(lines), remembered)
        unfinished: deque[Window] = deque()  # in the order of their texts
        problem: Exception | None = None
        try:
            while problem is None:
                try:
                    new = next(windows, None)
                except Exception as error:
                    problem = error
                    break
                if new is None:
                    break
                unfinished.append(new)
                for batch in new.batches:
                    self.check_open()
                    future = self.backend.generate(batch.sources, decode, sentences=new.sentences)
                    new.futures.append((batch, future))
                    yield from self._finish(unfinished, writer, batching.ahead, is_submitted=batch is new.batches[-1])
                yield from self._finish(unfinished, writer, batching.ahead)
            yield from self._finish(unfinished, writer)
        finally:
            for submitted in unfinished:
                for _, future in submitted.futures:
                    future.cancel()
        if problem is not None:
            raise problem

    def _finish(
        self, unfinished: deque[Window], writer: BatchWriter, ahead: int = 0, *, is_submitted: bool = True
    ) -> Iterator[Translation]:
        """Yield the translations of finished windows, and wait for the oldest batches until `ahead` batches are left.

        A window may contain only parts that are already being translated, so the number of windows is limited too. If
        not `is_submitted`, batches of the last window are still to be submitted, so it cannot be finished yet.
        """
        while True:
            while len(unfinished) > (not is_submitted) and not unfinished[0].futures:
                yield from unfinished.popleft().translations()
            if sum(len(window.futures) for window in unfinished) <= ahead and len(unfinished) <= ahead + 1:
                return
            self.check_open()
            oldest = next(window for window in unfinished if window.futures)
            batch, future = oldest.futures.popleft()
            for part, translations in zip(batch.parts, writer.translations(batch, future.result()), strict=True):
                oldest.translated[part] += translations

    def score(self, pairs: Iterable[tuple[str, str]], decode: DecodeSettings | None = None) -> Iterator[Translation]:
        """Yield a `Translation` for each pair of a source and a given translation, with its log-probability.

        With `decode.alignment`, it also has the word alignment, if the model has an alignment head.
        """
        decode = replace(decode or self.decode, scores=True, log_probabilities=True)
        remaining = enumerate(pairs, start=1)
        while window := list(islice(remaining, WINDOW)):
            self.check_open()
            for number, pair in window:
                _check_pair(number, pair)
            sources, targets = (self.tokenizer.encode([pair[side] for _, pair in window]) for side in (0, 1))
            for (number, _), source, target in zip(window, sources, targets, strict=True):
                self._check_length(number, "source", source)
                self._check_length(number, "translation", target)
            ids = list(zip(sources, targets, strict=True))
            links = self._align(ids) if decode.alignment and self.alignment_head is not None else [None] * len(ids)
            scored = self.backend.score(ids)
            for (_, pair), target, log_probabilities, alignment in zip(window, targets, scored, links, strict=True):
                hypothesis = Hypothesis.of(target, log_probabilities, decode.length_penalty)
                yield self.writer.translation(*pair, hypothesis, decode, alignment)

    def _align(self, pairs: TokenPairs) -> Sequence[tuple[Link, ...] | None]:
        """Return the word alignment of each pair, from batches of similar length."""
        links: dict[int, tuple[Link, ...]] = {}
        for batch in length_buckets([max(map(len, pair)) for pair in pairs], _ALIGNED_TOKENS):
            for index, weights_LM in zip(batch, self.backend.attend([pairs[index] for index in batch]), strict=True):
                links[index] = self.writer.alignment(*pairs[index], weights_LM)
        return [links[index] for index in range(len(pairs))]

    def check_open(self) -> None:
        """Raise a `UserError` if the translator is closed."""
        if self._is_closed:
            raise UserError("the model is closed; load it again")

    def _check_length(self, number: int, side: str, ids: list[int]) -> None:
        if len(ids) >= self.max_positions:
            raise DataError(
                f"pair {number:,}: the {side} has {len(ids):,} tokens, but the model accepts at most "
                f"{self.max_positions - 1:,}; split the pair or leave it out"
            )


def _check_pair(number: int, pair: object) -> None:
    match pair:
        case (str(), str()):
            return
    raise DataError(f"pair {number:,}: expected a source and a translation, both str, found {pair!r:.60}")
