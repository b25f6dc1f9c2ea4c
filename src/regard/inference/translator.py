"""The translator of texts: a reader, a backend that turns source tokens into hypotheses, and a writer.

Texts that are too long for the model, and texts of several lines, are translated in parts and joined again. Equal parts
are translated only once, and parts of similar length form a batch. Translations are returned in the order of the texts.
This module does not import torch, because CTranslate2 does not need it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Self, final, overload

from regard.errors import DataError, UserError
from regard.inference.alignment import Link
from regard.inference.backends.interface import Backend, Batching, Sources, SourceTokens
from regard.inference.joiner import Part, PartTranslations, Plan, is_blank, join_parts
from regard.inference.length_buckets import length_buckets
from regard.inference.locator import Locator
from regard.inference.masking import Mask, Restored
from regard.inference.reader import Reader
from regard.inference.result import Translation
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.writer import Writer
from regard.model_folder.folder import DEFAULT_DECODE, AlignmentHead
from regard.settings.decode import DecodeSettings
from regard.spans.glossary import Glossary
from regard.tokenizers.protocol import Tokenizer

WINDOW = 2048  # number of lines whose parts are sorted into batches together

# The translations of about this many parts are kept, so that a repeated part is not translated again. Beyond that, all
# of them are dropped.
MAX_REMEMBERED = 20_000


@dataclass(frozen=True)
class _Batch:
    """Parts of texts with their source tokens."""

    parts: list[Part]
    sources: Sources
    masks: list[Mask | None]  # the protected spans of each part


@dataclass
class _Window:
    """A group of texts whose parts are sorted into batches together."""

    texts: list[str]
    plans: list[Plan]
    batches: list[_Batch]  # the parts that are not translated yet
    translated: PartTranslations  # shared with other windows
    sentences: int  # the number of sentences that are translated at the same time
    has_scores: bool
    futures: deque[tuple[_Batch, Future[list[list[Hypothesis]]]]] = field(default_factory=deque)  # submitted batches

    def translations(self) -> Iterator[Translation]:
        """Return the translation of each text. Call this after all parts are translated."""
        return (
            join_parts(text, plan, self.translated, has_scores=self.has_scores)
            for text, plan in zip(self.texts, self.plans, strict=True)
        )


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
    ) -> None:
        """Make a translator; `max_positions` is the maximum number of tokens of a source or target, including EOS.

        `decode` is used by calls that do not give decode settings.
        """
        self.decode = decode
        self.backend = backend
        self.tokenizer = tokenizer
        self.reader = Reader(tokenizer, max_positions, has_alignment=alignment_head is not None)
        self._writer = Writer(tokenizer, alignment_head)
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
        return self._writer.alignment_head

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
    ) -> Iterator[Translation]:
        """Yield the translation of each line, in order. Lines are read in windows of `window` lines.

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
        windows = self._windows(iter(lines), decode, window, batching, glossary)
        unfinished: deque[_Window] = deque()  # in the order of their texts
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
                    yield from self._finish(unfinished, decode, batching.ahead, is_submitted=batch is new.batches[-1])
                yield from self._finish(unfinished, decode, batching.ahead)
            yield from self._finish(unfinished, decode)
        finally:
            for submitted in unfinished:
                for _, future in submitted.futures:
                    future.cancel()
        if problem is not None:
            raise problem

    def _finish(
        self, unfinished: deque[_Window], decode: DecodeSettings, ahead: int = 0, *, is_submitted: bool = True
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
            for part, translations in zip(batch.parts, self._write(batch, future.result(), decode), strict=True):
                oldest.translated[part] += translations

    def _windows(
        self,
        lines: Iterator[str],
        decode: DecodeSettings,
        size: int,
        batching: Batching,
        glossary: Glossary | None,
    ) -> Iterator[_Window]:
        """Read lines and yield them in windows. If reading fails, the lines before are yielded before the error."""
        translated: PartTranslations = {}
        problem: Exception | None = None
        texts = [""] * size
        is_first = True
        while len(texts) == size and problem is None:
            texts = []
            try:
                texts.extend(islice(lines, size))
            except Exception as error:
                problem = error
            # Start a new dictionary if this one is full. Windows that are not finished still use the old one.
            translated = translated if len(translated) < MAX_REMEMBERED else {}
            if texts:
                is_last = len(texts) < size
                yield self._window(
                    texts, translated, decode, batching, size, glossary, is_first=is_first, is_last=is_last
                )
            is_first = False
        if problem is not None:
            raise problem

    def _window(
        self,
        texts: list[str],
        translated: PartTranslations,
        decode: DecodeSettings,
        batching: Batching,
        size: int,
        glossary: Glossary | None,
        *,
        is_first: bool,
        is_last: bool,
    ) -> _Window:
        plans = [self.reader.plan(text, decode, glossary) for text in texts]
        all_parts = (part for plan in plans for part, _ in plan if not is_blank(part[0]))
        parts, masks = [], []
        for part in dict.fromkeys(all_parts):
            if part in translated:
                continue
            mask = self.reader.mask(part, decode, glossary)
            translated[part] = []
            if mask is not None and not mask.attempts:
                translated[part].append(self._writer.copy(part[0], mask.copied(), decode))
            else:
                parts.append(part)
                masks.append(mask)
        sources = self.reader.sources(parts, decode, masks)
        tokens = max(1, batching.tokens // _rows_per_sentence(decode))
        lengths = [max(len(source.ids), batching.min_source_tokens) for source in sources]
        batches = [
            _Batch(
                [parts[index] for index in indices],
                [sources[index] for index in indices],
                [masks[index] for index in indices],
            )
            for indices in length_buckets(lengths, tokens, batching.workers if is_last else 1)
        ]
        # The same for all windows of a call: the batches of a long stream are computed in the same way.
        sentences = len(parts) if is_first and is_last else size
        return _Window(texts, plans, batches, translated, sentences, decode.scores)

    def _write(
        self, batch: _Batch, results: list[list[Hypothesis]], decode: DecodeSettings
    ) -> Iterator[list[Translation]]:
        """Yield the translations of each part of a batch, best first."""
        sources, attempts = list(batch.sources), [0] * len(results)
        if any(mask is not None for mask in batch.masks):
            results = list(results)
            self._try_other_stand_ins(batch, sources, results, attempts, decode)
        best = [hypotheses[: decode.n_best] for hypotheses in results]
        texts = iter(self._writer.texts([each for hypotheses in best for each in hypotheses]))
        for (text, _), source, mask, attempt, hypotheses in zip(
            batch.parts, sources, batch.masks, attempts, best, strict=True
        ):
            translations = []
            for each in hypotheses:
                links = self._writer.alignment(source.ids, each.token_ids, each.attention) if decode.alignment else None
                if mask is None:
                    one = self._writer.translation(text, next(texts), each, decode, links, source=source)
                else:
                    one = self._with_spans(mask, attempt, source, next(texts), each, decode, links)
                translations.append(one)
            yield translations

    def _with_spans(
        self,
        mask: Mask,
        attempt: int,
        source: SourceTokens,
        text: str,
        hypothesis: Hypothesis,
        decode: DecodeSettings,
        links: tuple[Link, ...] | None,
    ) -> Translation:
        restored = self._restored(mask, attempt, source, hypothesis, text)
        links = restored.links(mask.masked(attempt), links) if links is not None else None
        return self._writer.translation(
            mask.source, restored.text, hypothesis, decode, links, source=source, spans=restored.spans
        )

    def _try_other_stand_ins(
        self,
        batch: _Batch,
        sources: Sources,
        results: list[list[Hypothesis]],
        attempts: list[int],
        decode: DecodeSettings,
    ) -> None:
        """Translate parts again in which the model lost a protected span, with other stand-ins for the spans.

        Replace the sources and the results of a part by the first attempt that loses the fewest spans.
        """
        masked = {index: mask for index, mask in enumerate(batch.masks) if mask is not None}
        lost = {index: self._count_lost(mask, 0, sources[index], results[index]) for index, mask in masked.items()}
        for attempt in range(1, max(mask.attempts for mask in masked.values())):
            again = [index for index, mask in masked.items() if lost[index] and attempt < mask.attempts]
            if not again:
                return
            parts, masks = [batch.parts[index] for index in again], [masked[index] for index in again]
            new_sources = self.reader.sources(parts, decode, masks, attempt)
            new_results = self.backend.generate(new_sources, decode, sentences=len(new_sources)).result()
            for index, mask, source, found in zip(again, masks, new_sources, new_results, strict=True):
                count = self._count_lost(mask, attempt, source, found)
                if count < lost[index]:
                    lost[index], sources[index], results[index], attempts[index] = count, source, found, attempt

    def _count_lost(self, mask: Mask, attempt: int, source: SourceTokens, hypotheses: list[Hypothesis]) -> int:
        return self._restored(mask, attempt, source, hypotheses[0], self._writer.texts(hypotheses[:1])[0]).lost

    def _restored(self, mask: Mask, attempt: int, source: SourceTokens, hypothesis: Hypothesis, text: str) -> Restored:
        """Return the translation of a part with its protected spans."""

        def locator() -> Locator | None:
            if self.alignment_head is None or not hypothesis.token_ids:
                return None
            [weights_LM] = self.backend.attend([(source.ids, hypothesis.token_ids)])
            masked = mask.masked(attempt).text
            return self._writer.locator(source.ids, masked, hypothesis.token_ids, text, weights_LM)

        return mask.restore(text, attempt, locator)

    def score(self, pairs: Iterable[tuple[str, str]], decode: DecodeSettings | None = None) -> Iterator[Translation]:
        """Yield a `Translation` for each pair of a source and a given translation, with its log-probability."""
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
            scored = self.backend.score(list(zip(sources, targets, strict=True)))
            for (_, (source_text, text)), target, log_probabilities in zip(window, targets, scored, strict=True):
                hypothesis = Hypothesis.of(target, log_probabilities, decode.length_penalty)
                yield self._writer.translation(source_text, text, hypothesis, decode)

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


def _rows_per_sentence(decode: DecodeSettings) -> int:
    """Return how many hypotheses are computed for each sentence at the same time."""
    return decode.n_best if decode.temperature else decode.beam_size
