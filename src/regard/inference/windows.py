"""Windows of texts, whose parts are sorted into batches of similar length together.

Equal parts are translated only once, also in different windows of a call.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import final

from regard.inference.backends.interface import Batching, Sources
from regard.inference.joiner import Part, PartTranslations, Plan, is_blank, join_parts
from regard.inference.language_check import LanguageCheck
from regard.inference.length_buckets import length_buckets
from regard.inference.masking.mask import Mask
from regard.inference.reader import Reader
from regard.inference.result import Translation
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.writer import Writer
from regard.settings.decode import DecodeSettings
from regard.spans.glossary import Glossary

# The translations of about this many parts are kept, so that a repeated part is not translated again. Beyond that, all
# of them are dropped.
MAX_REMEMBERED = 20_000


@dataclass(frozen=True)
class Batch:
    """Parts of texts with their source tokens."""

    parts: list[Part]
    sources: Sources
    masks: list[Mask | None]  # the protected spans of each part


@dataclass
class Window:
    """A group of texts whose parts are sorted into batches together."""

    texts: list[str]
    plans: list[Plan]
    batches: list[Batch]  # the parts that are not translated yet
    translated: PartTranslations  # shared with other windows
    sentences: int  # the number of sentences that are translated at the same time
    has_scores: bool
    language_check: LanguageCheck
    futures: deque[tuple[Batch, Future[list[list[Hypothesis]]]]] = field(default_factory=deque)  # submitted batches

    def translations(self) -> Iterator[Translation]:
        """Yield the translation of each text. Call this after all parts are translated."""
        for text, plan in zip(self.texts, self.plans, strict=True):
            joined = join_parts(text, plan, self.translated, has_scores=self.has_scores)
            warnings = self.language_check.warnings(text)
            yield replace(joined, warnings=(*warnings, *joined.warnings)) if warnings else joined


@final
class WindowReader:
    """Reads the texts of one call in windows of `size` texts."""

    def __init__(
        self,
        reader: Reader,
        writer: Writer,
        language_check: LanguageCheck,
        decode: DecodeSettings,
        batching: Batching,
        *,
        size: int,
        glossary: Glossary | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._language_check = language_check
        self._decode = decode
        self._batching = batching
        self._size = size
        self._glossary = glossary

    def windows(self, lines: Iterator[str], remembered: PartTranslations | None = None) -> Iterator[Window]:
        """Read lines and yield them in windows. If reading fails, the lines before are yielded before the error.

        Parts that are `remembered` are not translated; parts that are translated are added to it.
        """
        translated: PartTranslations = {} if remembered is None else remembered
        problem: Exception | None = None
        texts = [""] * self._size
        is_first = True
        while len(texts) == self._size and problem is None:
            texts = []
            try:
                texts.extend(islice(lines, self._size))
            except Exception as error:
                problem = error
            # Start a new dictionary if this one is full. Windows that are not finished still use the old one.
            if remembered is None and len(translated) >= MAX_REMEMBERED:
                translated = {}
            if texts:
                yield self._window(texts, translated, is_first=is_first, is_last=len(texts) < self._size)
            is_first = False
        if problem is not None:
            raise problem

    def _window(self, texts: list[str], translated: PartTranslations, *, is_first: bool, is_last: bool) -> Window:
        plans = [self._reader.plan(text, self._decode, self._glossary) for text in texts]
        parts, masks = self._new_parts(plans, translated)
        # The same for all windows of a call: the batches of a long stream are computed in the same way.
        sentences = len(parts) if is_first and is_last else self._size
        batches = list(self._batches(parts, masks, self._batching.workers if is_last else 1))
        return Window(texts, plans, batches, translated, sentences, self._decode.scores, self._language_check)

    def _new_parts(self, plans: list[Plan], translated: PartTranslations) -> tuple[list[Part], list[Mask | None]]:
        """Return the parts that must be translated, with their masks, and add them to `translated`."""
        parts: list[Part] = []
        masks: list[Mask | None] = []
        all_parts = (part for plan in plans for part, _ in plan if not is_blank(part[0]))
        for part in dict.fromkeys(all_parts):
            if part in translated:
                continue
            mask = self._reader.mask(part, self._decode, self._glossary)
            translated[part] = []
            if mask is not None and not mask.attempts:
                translated[part].append(self._writer.copy(part[0], mask.copied(), self._decode))
            else:
                parts.append(part)
                masks.append(mask)
        return parts, masks

    def _batches(self, parts: list[Part], masks: list[Mask | None], workers: int) -> Iterator[Batch]:
        sources = self._reader.sources(parts, self._decode, masks)
        tokens = max(1, self._batching.tokens // _rows_per_sentence(self._decode))
        lengths = [max(len(source.ids), self._batching.min_source_tokens) for source in sources]
        for indices in length_buckets(lengths, tokens, workers):
            yield Batch(
                [parts[index] for index in indices],
                [sources[index] for index in indices],
                [masks[index] for index in indices],
            )


def _rows_per_sentence(decode: DecodeSettings) -> int:
    """Return how many hypotheses are computed for each sentence at the same time."""
    return decode.n_best if decode.temperature else decode.beam_size
