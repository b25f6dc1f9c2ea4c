"""The translator of texts, which uses a backend to turn source tokens into hypotheses.

Texts that are too long for the model, and texts of several lines, are translated in parts and joined again. Equal parts
are translated only once, and parts of similar length form a batch. Translations are returned in the order of the texts.
This module does not import torch, because CTranslate2 does not need it.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from typing import Any, overload

from regard.errors import DataError, SettingsError, UserError
from regard.inference.alignment import Link, align_words
from regard.inference.joiner import Part, PartTranslations, Plan, is_blank, join_parts, plan_parts
from regard.inference.length_buckets import length_buckets
from regard.inference.result import Translation
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.splitter import split_text
from regard.model_folder.folder import AlignmentHead
from regard.settings.decode import DecodeSettings
from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.word_spans import whitespace_words

DEFAULT = DecodeSettings()

WINDOW = 2048  # number of lines whose parts are sorted into batches together

UNKNOWN = 0  # returned by `workers` before the fastest number of workers was measured

# The translations of about this many parts are kept, so that a repeated part is not translated again. Beyond that, all
# of them are dropped.
MAX_REMEMBERED = 20_000


@dataclass(frozen=True)
class SourceTokens:
    """The token ids of a source, without EOS, and the constraints on its translation."""

    ids: tuple[int, ...]
    limit: int  # the maximum number of tokens of the translation
    prefix: tuple[int, ...] = ()  # token ids with which the translation must begin


Sources = list[SourceTokens]

TokenPairs = Sequence[tuple[Sequence[int], Sequence[int]]]  # pairs of a source and its translation, as token ids


@dataclass
class _Window:
    """A group of texts whose parts are sorted into batches together."""

    texts: list[str]
    plans: list[Plan]
    parts: deque[list[Part]]  # the parts of each batch that is not translated yet
    sources: list[Sources]  # the source tokens of each batch
    translated: PartTranslations

    def translations(self) -> Iterator[Translation]:
        """Return the translation of each text. Call this after all parts are translated."""
        return (join_parts(text, plan, self.translated) for text, plan in zip(self.texts, self.plans, strict=True))


class Translator(ABC):
    """A translator of texts. A subclass is a backend, which turns source tokens into hypotheses."""

    batch_tokens = 8192  # maximum size of a batch: source tokens with padding, times beams
    min_source_tokens = 1  # a shorter source counts as this many tokens when batches are formed

    def __init__(
        self, tokenizer: Tokenizer, *, max_positions: int, alignment_head: AlignmentHead | None = None
    ) -> None:
        """Make a translator; `max_positions` is the maximum number of tokens of a source or target, including EOS."""
        self.tokenizer = tokenizer
        self.max_positions = max_positions
        self.alignment_head = alignment_head

    # A string is also a sequence of strings, so both overloads fit it; type checkers use the first.
    @overload
    def translate(self, text: str, decode: DecodeSettings = DEFAULT) -> Translation: ...  # type: ignore[overload-overlap]

    @overload
    def translate(self, text: Sequence[str], decode: DecodeSettings = DEFAULT) -> list[Translation]: ...

    def translate(self, text: str | Sequence[str], decode: DecodeSettings = DEFAULT) -> Translation | list[Translation]:
        """Translate one text of any length and any number of lines, or a list of texts.

        Each text of a list gets the translation that it would get alone.
        """
        texts = list(text) if isinstance(text, Iterable) and not isinstance(text, str) else [text]
        for one in texts:
            if not isinstance(one, str):
                raise TypeError(f"texts must be a str or a sequence of str, got {type(one).__name__}")
        translations = list(self.translate_iterable(texts, decode))
        return translations[0] if isinstance(text, str) else translations

    def translate_iterable(
        self,
        lines: Iterable[str],
        decode: DecodeSettings = DEFAULT,
        *,
        window: int = WINDOW,
        batch_tokens: int | None = None,
    ) -> Iterator[Translation]:
        """Yield the translation of each line, in order. Lines are read in windows of `window` lines.

        With a window of one line, each line is translated before the next is read; otherwise the backend may read some
        windows ahead. If reading a line fails, the lines before it are translated before the error is raised. If a line
        cannot be translated, only the windows before the window of that line are translated.
        """
        translated: PartTranslations = {}
        for stream in ([line] for line in lines) if window == 1 else [lines]:
            translated = translated if len(translated) < MAX_REMEMBERED else {}
            yield from self._translate_stream(
                iter(stream), translated, decode, window, batch_tokens or self.batch_tokens
            )

    def _translate_stream(
        self,
        remaining: Iterator[str],
        translated: PartTranslations,
        decode: DecodeSettings,
        window: int,
        batch_tokens: int,
    ) -> Iterator[Translation]:
        problem: Exception | None = None
        unfinished: deque[_Window] = deque()

        def batches() -> Iterator[Sources]:
            nonlocal problem, translated
            while problem is None:
                texts: list[str] = []
                try:
                    texts.extend(islice(remaining, window))
                except Exception as error:
                    problem = error
                if not texts:
                    return
                # Start a new dictionary if this one is full. Windows that are not finished still use the old one.
                translated = translated if len(translated) < MAX_REMEMBERED else {}
                try:
                    new = self._window(texts, translated, decode, batch_tokens, is_last=len(texts) < window)
                except UserError as error:
                    problem = error
                    return
                unfinished.append(new)
                yield from new.sources
                # An empty batch marks the end of a window. It is the only batch if no part of the window is new.
                yield []

        for results in self._generate(batches(), decode):
            if not results:
                yield from unfinished.popleft().translations()
                continue
            best = [hypotheses[: decode.n_best] for hypotheses in results]
            for part, translations in self._read(unfinished[0].parts.popleft(), best, decode):
                unfinished[0].translated[part] += translations
        if problem is not None:
            raise problem

    def score(self, pairs: Iterable[tuple[str, str]], decode: DecodeSettings = DEFAULT) -> Iterator[Translation]:
        """Yield a `Translation` for each pair of a source and a given translation, with its log-probability."""
        decode = replace(decode, scores=True, log_probabilities=True)
        remaining = enumerate(pairs, start=1)
        while window := list(islice(remaining, WINDOW)):
            for number, pair in window:
                _check_pair(number, pair)
            sources, targets = (self.tokenizer.encode([pair[side] for _, pair in window]) for side in (0, 1))
            for (number, _), source, target in zip(window, sources, targets, strict=True):
                self._check_length(number, "source", source)
                self._check_length(number, "translation", target)
            lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
            scored: dict[int, Hypothesis] = {}
            for batch in length_buckets(lengths, self.batch_tokens):
                token_scores = self._score_tokens([(sources[index], targets[index]) for index in batch])
                for index, log_probabilities in zip(batch, token_scores, strict=True):
                    scored[index] = Hypothesis.of(targets[index], log_probabilities, decode.length_penalty)
            for index, (_, (source_text, text)) in enumerate(window):
                yield self._translation(source_text, text, scored[index], decode)

    def _check_length(self, number: int, side: str, ids: list[int]) -> None:
        if len(ids) >= self.max_positions:
            raise DataError(
                f"pair {number:,}: the {side} has {len(ids):,} tokens, but the model accepts at most "
                f"{self.max_positions - 1:,}; split the pair or leave it out"
            )

    def workers(self, decode: DecodeSettings) -> int:
        """Return how many batches are computed in parallel, or `UNKNOWN` if the best number was not measured yet."""
        return 1

    @abstractmethod
    def _score_tokens(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        """Return, for each pair, the log-probability of each target token, followed by that of EOS."""

    @abstractmethod
    def _attend(self, pairs: TokenPairs) -> list[Any]:
        """Return, for each pair, the attention weights of the alignment head as a matrix.

        A matrix has one row for each target token and one for EOS, and one column for each source token.
        """

    @abstractmethod
    def _generate(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        """Yield, for each batch in order, the hypotheses of each source, best first.

        An empty batch yields an empty list.
        """

    def _window(
        self,
        texts: list[str],
        translated: PartTranslations,
        decode: DecodeSettings,
        batch_tokens: int,
        *,
        is_last: bool,
    ) -> _Window:
        prefix = self.tokenizer.encode([decode.prefix])[0] if decode.prefix else []
        plans = [plan_parts(self._parts(text), prefixed=bool(prefix)) for text in texts]
        all_parts = (part for plan in plans for part, _ in plan if not is_blank(part[0]))
        parts = [part for part in dict.fromkeys(all_parts) if part not in translated]
        encoded = self.tokenizer.encode([text for text, _ in parts])
        sources = [
            self._source(ids, prefix if prefixed else [], decode)
            for ids, (_, prefixed) in zip(encoded, parts, strict=True)
        ]
        translated.update((part, []) for part in parts)
        workers = self.workers(decode)
        # The number of workers is measured on several batches, so batches have half the size until it is known.
        tokens = max(1, batch_tokens // _rows_per_sentence(decode) // (2 if workers == UNKNOWN else 1))
        lengths = [max(len(ids), self.min_source_tokens) for ids in encoded]
        batches = list(length_buckets(lengths, tokens, workers if is_last else 1))
        return _Window(
            texts,
            plans,
            deque([parts[index] for index in batch] for batch in batches),
            [[sources[index] for index in batch] for batch in batches],
            translated,
        )

    def _source(self, ids: Sequence[int], prefix: Sequence[int], decode: DecodeSettings) -> SourceTokens:
        """Return the tokens of a source, with the length limit and the prefix of its translation."""
        most = min(self.max_positions, decode.max_length or self.max_positions)
        if decode.min_length > most:
            raise SettingsError(
                f"decode.min_length ({decode.min_length:,}) exceeds the maximum length of a translation ({most:,})"
            )
        if len(prefix) >= most:
            raise SettingsError(
                f"decode.prefix takes {len(prefix):,} of the {most:,} tokens a translation may have; shorten it"
            )
        limit = min(max(len(ids) + decode.max_length_offset, decode.min_length, len(prefix) + 1), most)
        return SourceTokens(tuple(ids), limit, tuple(prefix))

    def _parts(self, text: str) -> list[tuple[str, str]]:
        """Return the parts of a text, each with the white space after it."""
        # Models are trained on single lines, so a part never contains several lines.
        parts: list[tuple[str, str]] = []
        for line in text.split("\n"):
            parts += split_text(line, self._fits)
            parts[-1] = (parts[-1][0], parts[-1][1] + "\n")
        parts[-1] = (parts[-1][0], parts[-1][1].removesuffix("\n"))
        return parts

    def _fits(self, text: str) -> bool:
        # The tokens of a short text need not be counted, because there are at most two for each byte.
        if 2 * len(text.encode("utf-8", "replace")) + 2 <= self.max_positions:
            return True
        return len(self.tokenizer.encode([text])[0]) < self.max_positions

    def _read(
        self, parts: list[Part], results: list[list[Hypothesis]], decode: DecodeSettings
    ) -> Iterator[tuple[Part, list[Translation]]]:
        """Yield each part of a batch with its translations, made from the hypotheses in `results`."""
        texts = iter(self.tokenizer.decode([each.token_ids for hypotheses in results for each in hypotheses]))
        links: Iterator[tuple[Link, ...] | None] = repeat(None)
        if decode.alignment and self.alignment_head is not None:
            links = self._alignments([text for text, _ in parts], results)
        for part, hypotheses in zip(parts, results, strict=True):
            yield part, [self._translation(part[0], next(texts), each, decode, next(links)) for each in hypotheses]

    def _translation(
        self,
        source: str,
        text: str,
        hypothesis: Hypothesis,
        decode: DecodeSettings,
        links: tuple[Link, ...] | None = None,
    ) -> Translation:
        return Translation(
            source,
            text,
            hypothesis.score + 0.0 if decode.scores else math.nan,  # + 0.0 turns -0.0 into 0.0
            hypothesis.log_probability + 0.0 if decode.scores else math.nan,
            tuple(self.tokenizer.tokens(hypothesis.token_ids)),
            hypothesis.token_log_probabilities if decode.log_probabilities else (),
            alignment=links,
        )

    def _alignments(self, texts: list[str], results: list[list[Hypothesis]]) -> Iterator[tuple[Link, ...]]:
        """Yield the word alignment of each hypothesis of each text."""
        assert self.alignment_head is not None
        sources = self.tokenizer.encode(texts)
        pairs = [(source, each.token_ids) for source, found in zip(sources, results, strict=True) for each in found]
        for (source, target), weights_LM in zip(pairs, self._attend(pairs), strict=True):
            words = whitespace_words(source, self.tokenizer), whitespace_words(target, self.tokenizer)
            yield tuple(align_words(weights_LM, *words, self.alignment_head.row))


def _check_pair(number: int, pair: object) -> None:
    match pair:
        case (str(), str()):
            return
    raise DataError(f"pair {number:,}: expected a source and a translation, both str, found {pair!r:.60}")


def _rows_per_sentence(decode: DecodeSettings) -> int:
    """Return how many hypotheses are computed for each sentence at the same time."""
    return decode.n_best if decode.temperature else decode.beam_size
