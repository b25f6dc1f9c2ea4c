"""Raw text in, raw text out, around any way to get from the ids of a source to hypotheses.

Texts too long for the model, and texts of several lines, are translated in parts and joined as they were. Equal parts
are translated once, parts of like length together, and everything comes back in the order it was given. Free of torch,
because the engine does without.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from typing import Any

from regard.errors import DataError, SettingsError, UserError
from regard.inference.alignment import Link, align_words
from regard.inference.joiner import Known, Part, Plan, is_blank, join_parts, plan_parts
from regard.inference.length_buckets import length_buckets
from regard.inference.result import Translation
from regard.inference.search.hypothesis import Hypothesis
from regard.inference.splitter import split_text
from regard.model_folder.folder import AlignmentHead
from regard.settings.decode import DecodeSettings
from regard.tokenizers.protocol import TextTokenizer
from regard.tokenizers.word_spans import whitespace_words

DEFAULT = DecodeSettings()

WINDOW = 2048

UNKNOWN = 0  # how many to compute at once, before that was tried

MAX_REMEMBERED = 20_000  # parts, about; a part that comes again among them is not translated again


@dataclass(frozen=True)
class SourceTokens:
    """What is to be translated, in ids without the end mark."""

    ids: tuple[int, ...]
    limit: int  # the most pieces to write
    prefix: tuple[int, ...] = ()  # the first of them


Sources = list[SourceTokens]

TokenPairs = Sequence[tuple[Sequence[int], Sequence[int]]]  # the ids of sources, and of what they are to become


@dataclass
class _Window:
    """Texts translated together."""

    texts: list[str]
    plans: list[Plan]
    parts: deque[list[Part]]  # of each batch whose translations did not come yet
    sources: list[Sources]  # of each batch
    known: Known

    def translations(self) -> Iterator[Translation]:
        """Each text's, when those of all parts have come."""
        return (join_parts(text, plan, self.known) for text, plan in zip(self.texts, self.plans, strict=True))


class Translator(ABC):
    """Translates texts; how ids become hypotheses is for a subclass to say."""

    batch_tokens = 8192  # source pieces computed at once, padding included, times beams
    min_source_tokens = 1  # what the shortest source counts for

    def __init__(
        self, tokenizer: TextTokenizer, *, max_positions: int, alignment_head: AlignmentHead | None = None
    ) -> None:
        """`longest` is the most pieces the model takes, on either side, the end mark included."""
        self.tokenizer = tokenizer
        self.max_positions = max_positions
        self.alignment_head = alignment_head

    def translate(self, text: str, decode: DecodeSettings = DEFAULT) -> Translation:
        """Translate one text, of any length and any number of lines."""
        return self.translate_all([text], decode)[0]

    def translate_all(self, texts: Sequence[str], decode: DecodeSettings = DEFAULT) -> list[Translation]:
        """Translate many texts; each comes out as it would alone."""
        return list(self.translate_iterable(texts, decode))

    def translate_iterable(
        self,
        lines: Iterable[str],
        decode: DecodeSettings = DEFAULT,
        *,
        window: int = WINDOW,
        batch_tokens: int | None = None,
    ) -> Iterator[Translation]:
        """Translate lines as they come, in order, holding a window of them, and of what follows what is begun early.

        A window of one line is translated before the next is read. A line that cannot be read is an error after what
        came before it, one that cannot be translated after the windows before its own.
        """
        known: Known = {}
        for turn in ([line] for line in lines) if window == 1 else [lines]:
            known = known if len(known) < MAX_REMEMBERED else {}
            yield from self._turn(iter(turn), known, decode, window, batch_tokens or self.batch_tokens)

    def _turn(
        self, remaining: Iterator[str], known: Known, decode: DecodeSettings, window: int, batch_tokens: int
    ) -> Iterator[Translation]:
        problem: Exception | None = None
        begun: deque[_Window] = deque()

        def batches() -> Iterator[Sources]:
            nonlocal problem, known
            while problem is None:
                texts: list[str] = []
                try:
                    texts.extend(islice(remaining, window))
                except Exception as error:
                    problem = error
                if not texts:
                    return
                # Whoever still fills the old one keeps it.
                known = known if len(known) < MAX_REMEMBERED else {}
                try:
                    its = self._window(texts, known, decode, batch_tokens, nothing_follows=len(texts) < window)
                except UserError as error:
                    problem = error
                    return
                begun.append(its)
                yield from its.sources
                yield []  # the end of a window, which may be of known texts alone

        for found in self._generate(batches(), decode):
            if not found:
                yield from begun.popleft().translations()
                continue
            best = [hypotheses[: decode.n_best] for hypotheses in found]
            for part, translations in self._read(begun[0].parts.popleft(), best, decode):
                begun[0].known[part] += translations
        if problem is not None:
            raise problem

    def score(self, pairs: Iterable[tuple[str, str]], decode: DecodeSettings = DEFAULT) -> Iterator[Translation]:
        """How probable the model finds translations it is given: pairs of a source and what it became, each whole."""
        telling = replace(decode, scores=True, log_probabilities=True)
        remaining = enumerate(pairs, start=1)
        while window := list(islice(remaining, WINDOW)):
            sources, targets = (self.tokenizer.encode([pair[side] for _, pair in window]) for side in (0, 1))
            for (number, _), source, target in zip(window, sources, targets, strict=True):
                self._check_length(number, "source", source)
                self._check_length(number, "translation", target)
            lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
            found: dict[int, Hypothesis] = {}
            for batch in length_buckets(lengths, self.batch_tokens):
                forced = self._score_tokens([(sources[index], targets[index]) for index in batch])
                for index, log_probabilities in zip(batch, forced, strict=True):
                    found[index] = Hypothesis.of(targets[index], log_probabilities, decode.length_penalty)
            for index, (_, (source_text, text)) in enumerate(window):
                yield self._translation(source_text, text, found[index], telling)

    def _check_length(self, number: int, side: str, ids: list[int]) -> None:
        if len(ids) >= self.max_positions:
            raise DataError(
                f"pair {number:,}: its {side} takes {len(ids):,} pieces, and the model takes at most "
                f"{self.max_positions - 1:,} at once; divide the pair, or leave it out"
            )

    def workers(self, decode: DecodeSettings) -> int:
        """How many batches are computed at once; `UNKNOWN` before that was tried."""
        return 1

    @abstractmethod
    def _score_tokens(self, pairs: TokenPairs) -> list[tuple[float, ...]]:
        """For each pair the log-probability of each piece of its target, and then of the end mark."""

    @abstractmethod
    def _attend(self, pairs: TokenPairs) -> list[Any]:
        """For each pair, where the head that aligns looked before each piece of its target, and before the end mark."""

    @abstractmethod
    def _generate(self, batches: Iterable[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        """Translate; for each batch in turn, be it empty, each source's hypotheses, best first."""

    def _window(
        self, texts: list[str], known: Known, decode: DecodeSettings, batch_tokens: int, *, nothing_follows: bool
    ) -> _Window:
        prefix = self.tokenizer.encode([decode.prefix])[0] if decode.prefix else []
        plans = [plan_parts(self._parts(text), prefixed=bool(prefix)) for text in texts]
        asked = (part for plan in plans for part, _ in plan if not is_blank(part[0]))
        parts = [part for part in dict.fromkeys(asked) if part not in known]
        encoded = self.tokenizer.encode([text for text, _ in parts])
        sources = [
            self._source(ids, prefix if prefixed else [], decode)
            for ids, (_, prefixed) in zip(encoded, parts, strict=True)
        ]
        known.update((part, []) for part in parts)
        workers = self.workers(decode)
        # Trying how many to compute at once takes several, so they are smaller until then.
        tokens = max(1, batch_tokens // _rows_per_sentence(decode) // (2 if workers == UNKNOWN else 1))
        lengths = [max(len(ids), self.min_source_tokens) for ids in encoded]
        batches = list(length_buckets(lengths, tokens, workers if nothing_follows else 1))
        return _Window(
            texts,
            plans,
            deque([parts[index] for index in batch] for batch in batches),
            [[sources[index] for index in batch] for batch in batches],
            known,
        )

    def _source(self, ids: Sequence[int], prefix: Sequence[int], decode: DecodeSettings) -> SourceTokens:
        """A source with its own limit of length."""
        most = min(self.max_positions, decode.max_length or self.max_positions)
        if decode.min_length > most:
            raise SettingsError(
                f"decode.min_length ({decode.min_length:,}) exceeds what the model can write ({most:,})"
            )
        if len(prefix) >= most:
            raise SettingsError(
                f"decode.prefix takes {len(prefix):,} of the {most:,} pieces a translation may have; shorten it"
            )
        limit = min(max(len(ids) + decode.max_length_offset, decode.min_length, len(prefix) + 1), most)
        return SourceTokens(tuple(ids), limit, tuple(prefix))

    def _parts(self, text: str) -> list[tuple[str, str]]:
        """What is translated by itself, each with what stands between it and the next."""
        # Models learn from lines, and have never seen the end of one.
        parts: list[tuple[str, str]] = []
        for line in text.split("\n"):
            parts += split_text(line, self._fits)
            parts[-1] = (parts[-1][0], parts[-1][1] + "\n")
        parts[-1] = (parts[-1][0], parts[-1][1].removesuffix("\n"))
        return parts

    def _fits(self, text: str) -> bool:
        # Most texts are so short that nobody needs to count their pieces: no byte takes more than two.
        if 2 * len(text.encode("utf-8", "replace")) + 2 <= self.max_positions:
            return True
        return len(self.tokenizer.encode([text])[0]) < self.max_positions

    def _read(
        self, parts: list[Part], found: list[list[Hypothesis]], decode: DecodeSettings
    ) -> Iterator[tuple[Part, list[Translation]]]:
        """Each part with its translations."""
        texts = iter(self.tokenizer.decode([one.token_ids for hypotheses in found for one in hypotheses]))
        links: Iterator[tuple[Link, ...] | None] = repeat(None)
        if decode.alignment and self.alignment_head is not None:
            links = self._links([text for text, _ in parts], found)
        for part, hypotheses in zip(parts, found, strict=True):
            yield part, [self._translation(part[0], next(texts), one, decode, next(links)) for one in hypotheses]

    def _translation(
        self, source: str, text: str, found: Hypothesis, decode: DecodeSettings, links: tuple[Link, ...] | None = None
    ) -> Translation:
        return Translation(
            source,
            text,
            found.score + 0.0 if decode.scores else math.nan,  # nobody wants to read "-0.0"
            found.log_probability + 0.0 if decode.scores else math.nan,
            tuple(self.tokenizer.tokens(found.token_ids)),
            found.token_log_probabilities if decode.log_probabilities else (),
            alignment=links,
        )

    def _links(self, texts: list[str], found: list[list[Hypothesis]]) -> Iterator[tuple[Link, ...]]:
        """For each hypothesis of each text, which source word each of its words comes from."""
        assert self.alignment_head is not None
        sources = self.tokenizer.encode(texts)
        pairs = [(source, one.token_ids) for source, its in zip(sources, found, strict=True) for one in its]
        for (source, target), weights_LM in zip(pairs, self._attend(pairs), strict=True):
            words = whitespace_words(source, self.tokenizer), whitespace_words(target, self.tokenizer)
            yield tuple(align_words(weights_LM, *words, self.alignment_head.row))


def _rows_per_sentence(decode: DecodeSettings) -> int:
    """Hypotheses of a sentence computed at once."""
    return decode.n_best if decode.temperature else decode.beam_size
