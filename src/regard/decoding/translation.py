"""Raw text in, raw text out, around any way to get from the ids of a source to hypotheses.

Texts too long for the model, and texts of several lines, are translated in parts and joined as they were. Equal parts
are translated once, parts of like length together, and everything comes back in the order it was given. Free of torch,
because the engine does without.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.split import split
from regard.settings import DecodeSettings

DEFAULT = DecodeSettings()
WINDOW = 2048
REMEMBERED = 20_000  # parts, about; a part that comes again among them is not translated again

Sources = list[tuple[list[int], int]]  # the ids of a source without the end mark, and the most pieces to write
_Known = dict[str, list["Translation"]]


class TextTokenizer(Protocol):
    """What is needed of `regard.data.tokenizer.Tokenizer`."""

    def encode(self, texts: Sequence[str]) -> list[list[int]]: ...

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]: ...

    def pieces(self, ids: Sequence[int]) -> list[str]: ...


@dataclass(frozen=True)
class Translation:
    """A text, what it became, and the pieces that was written in."""

    source: str
    text: str
    score: float  # log-probability over the length penalty; of a text in parts, their sum
    pieces: tuple[str, ...]
    alternatives: tuple["Translation", ...] = ()  # the next best, best first, where more than one was asked for


class TextTranslator(ABC):
    """Translates texts; how ids become hypotheses is for a subclass to say."""

    batch_tokens = 8192  # source pieces computed at once, padding included, times beams

    def __init__(self, tokenizer: TextTokenizer, *, longest: int) -> None:
        """`longest` is the most pieces the model takes, on either side, the end mark included."""
        self.tokenizer = tokenizer
        self.longest = longest

    def translate(self, text: str, decode: DecodeSettings = DEFAULT) -> Translation:
        """Translate one text, of any length and any number of lines."""
        return self.translate_all([text], decode)[0]

    def translate_all(self, texts: Sequence[str], decode: DecodeSettings = DEFAULT) -> list[Translation]:
        """Translate many texts; each comes out as it would alone."""
        return list(self.stream(texts, decode))

    def stream(
        self,
        lines: Iterable[str],
        decode: DecodeSettings = DEFAULT,
        *,
        window: int = WINDOW,
        batch_tokens: int | None = None,
    ) -> Iterator[Translation]:
        """Translate lines as they come, in order, holding a window of them; and, unless it is of one line, the next.

        An error of `lines`, such as one that cannot be read, is passed on after what came before it.
        """
        remaining = iter(lines)
        problem: Exception | None = None
        known: _Known = {}
        before: Iterator[Translation] = iter(())
        while problem is None:
            texts: list[str] = []
            try:
                texts.extend(islice(remaining, window))
            except Exception as error:
                problem = error
            if not texts:
                break
            # Whoever still fills the old one keeps it.
            known = known if len(known) < REMEMBERED else {}
            # The next window is begun before the last is read, so that whoever computes never waits for us.
            begun = self._begin_window(texts, known, decode, batch_tokens or self.batch_tokens)
            yield from before
            before = begun
            if window == 1:
                yield from before
        yield from before
        if problem is not None:
            raise problem

    @abstractmethod
    def _begin(self, batches: list[Sources], decode: DecodeSettings) -> Iterator[list[list[Hypothesis]]]:
        """Begin to translate; for each batch in turn, each source's hypotheses, best first."""

    def _begin_window(
        self, texts: list[str], known: _Known, decode: DecodeSettings, batch_tokens: int
    ) -> Iterator[Translation]:
        plans = [self._parts(text) for text in texts]
        asked = (part for plan in plans for part, _ in plan if not _is_blank(part))
        parts = [part for part in dict.fromkeys(asked) if part not in known]
        known.update((part, []) for part in parts)
        sources = [(source, min(len(source) + decode.extra, self.longest)) for source in self.tokenizer.encode(parts)]
        batches = list(_batches([len(source) for source, _ in sources], max(1, batch_tokens // decode.beams)))
        written = self._begin([[sources[index] for index in batch] for batch in batches], decode)

        def finish() -> Iterator[Translation]:
            for batch, found in zip(batches, written, strict=True):
                best = [hypotheses[: decode.best] for hypotheses in found]
                for part, translations in self._read([parts[index] for index in batch], best):
                    known[part] += translations
            for text, plan in zip(texts, plans, strict=True):
                yield _joined(text, plan, known)

        return finish()

    def _parts(self, text: str) -> list[tuple[str, str]]:
        """What is translated by itself, each with what stands between it and the next."""
        # Models learn from lines, and have never seen the end of one.
        parts: list[tuple[str, str]] = []
        for line in text.split("\n"):
            parts += split(line, self._fits)
            parts[-1] = (parts[-1][0], parts[-1][1] + "\n")
        parts[-1] = (parts[-1][0], parts[-1][1].removesuffix("\n"))
        return parts

    def _fits(self, text: str) -> bool:
        # Most texts are so short that nobody needs to count their pieces: no byte takes more than two.
        if 2 * len(text.encode("utf-8", "replace")) + 2 <= self.longest:
            return True
        return len(self.tokenizer.encode([text])[0]) < self.longest

    def _read(self, sources: list[str], found: list[list[Hypothesis]]) -> Iterator[tuple[str, list[Translation]]]:
        """Each source with its translations."""
        texts = iter(self.tokenizer.decode([one.pieces for hypotheses in found for one in hypotheses]))
        for source, hypotheses in zip(sources, found, strict=True):
            yield (
                source,
                [
                    Translation(source, next(texts), one.score, tuple(self.tokenizer.pieces(one.pieces)))
                    for one in hypotheses
                ],
            )


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Indices of like length together, longest first: if one does not fit into memory, that shows at once."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batch:
            length, size = lengths[batch[0]] + 1, len(batch)
            # A batch half full ends where the next length begins: of one length, it has no padding and one limit.
            if (size + 1) * length > tokens or (2 * size * length > tokens and lengths[index] < lengths[batch[0]]):
                yield batch
                batch = []
        batch.append(index)
    if batch:
        yield batch


def _joined(text: str, plan: list[tuple[str, str]], translated: _Known) -> Translation:
    """The best of every part is the translation, the second best of every part the first alternative, and so on."""
    ranks = max((len(translated[part]) for part, _ in plan if part in translated), default=1)
    best, *others = (_joined_at(text, plan, translated, rank) for rank in range(ranks))
    return Translation(best.source, best.text, best.score, best.pieces, tuple(others))


def _joined_at(text: str, plan: list[tuple[str, str]], translated: _Known, rank: int) -> Translation:
    written: list[str] = []
    pieces: list[str] = []
    score = 0.0
    for part, space in plan:
        if part in translated:
            choices = translated[part]
            chosen = choices[min(rank, len(choices) - 1)]  # a part may have fewer
            written.append(chosen.text)
            pieces += chosen.pieces
            score += chosen.score
        else:
            written.append(part)
        written.append(space)
    return Translation(text, "".join(written), score, tuple(pieces))
