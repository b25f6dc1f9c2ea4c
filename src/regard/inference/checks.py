"""Finds reasons to check a translation: a limit that was reached, a repetition, a number or a span that was lost."""

import re
from collections.abc import Iterator, Sequence

from regard.inference.backends.interface import SourceTokens
from regard.inference.result import PlacedSpan, Range, TranslationWarning
from regard.spans.numbers import missing_numbers
from regard.tokenizers.protocol import Tokenizer
from regard.tokenizers.special_ids import FIRST_SUBWORD
from regard.tokenizers.unseen_characters import unseen_characters

_MIN_WORDS = 4  # a shorter source may be a name, which stays the same

_DIGIT = re.compile(r"\d")

_WORDS = re.compile(r"[^\W\d_]+")

_MAX_PERIOD, _MIN_REPEATS = 8, 4


class Checks:
    """Checks translations of parts of texts."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def warnings(
        self, source: str, text: str, tokens: SourceTokens, target: Sequence[int], spans: Sequence[PlacedSpan]
    ) -> tuple[TranslationWarning, ...]:
        """Return the warnings of a translation; `tokens` are the tokens of its source, and `target` its own."""
        # Most translations have no warning, so each check starts with a fast test.
        found: list[TranslationWarning] = []
        if len(target) >= tokens.limit:
            found.append(TranslationWarning("length limit", f"cut off after {tokens.limit:,} tokens"))
        if source == text and len(_WORDS.findall(_outside(source, spans))) >= _MIN_WORDS:
            found.append(TranslationWarning("same as source", "the translation is the same as the source"))
        if 3 * len(set(target)) < 2 * len(target) and has_loop(target) and not has_loop(tokens.ids):
            found.append(TranslationWarning("repetition", "the translation repeats itself"))
        if tokens.ids and min(tokens.ids) < FIRST_SUBWORD:
            found += self._unknown_characters(source, spans)
        if _DIGIT.search(source):
            found += _missing_numbers(source, text, spans)
        found += _lost_spans(spans)
        return tuple(found)

    def _unknown_characters(self, source: str, spans: Sequence[PlacedSpan]) -> Iterator[TranslationWarning]:
        """Yield a warning for each character that is not in the vocabulary, where it occurs first.

        A vocabulary may lack some digits and signs of ASCII too, but nearly every model has seen them in training.
        """
        for character in unseen_characters(_outside(source, spans), self._tokenizer):
            if not character.isascii():
                index = source.index(character)
                message = f"{character!r} is not in the vocabulary of the model"
                yield TranslationWarning("unknown characters", message, (index, index + 1))


def has_loop(tokens: Sequence[int]) -> bool:
    """Return whether a sequence of at most 8 tokens is repeated at least four times in a row."""
    for period in range(1, _MAX_PERIOD + 1):
        run = 0
        for before, after in zip(tokens, tokens[period:], strict=False):
            run = run + 1 if before == after else 0
            if run >= period * (_MIN_REPEATS - 1) and run >= _MIN_REPEATS:
                return True
    return False


def _missing_numbers(source: str, text: str, spans: Sequence[PlacedSpan]) -> Iterator[TranslationWarning]:
    missing = missing_numbers(source, text, [span.source for span in spans], [span.target for span in spans])
    for number in missing:
        instead = f", which has {_cut(text, number.target)}" if number.target else ""
        message = f"{_cut(source, number.source)} is missing in the translation{instead}"
        yield TranslationWarning("missing number", message, number.source, number.target)


def _lost_spans(spans: Sequence[PlacedSpan]) -> Iterator[TranslationWarning]:
    before: set[Range] = set()
    for span in spans:
        is_usual = span.placed_by == "alignment" and span.kind in ("term", "tag")
        if span.placed_by != "model" and not is_usual:
            where = "put where the word alignment says" if span.placed_by == "alignment" else "put at the end"
            yield TranslationWarning(
                "lost span", f"the model lost {span.text}, which was {where}", span.source, span.target
            )
        elif span.source in before:
            yield TranslationWarning("lost span", f"the model repeated {span.text}", span.source, span.target)
        before.add(span.source)


def _outside(source: str, spans: Sequence[PlacedSpan]) -> str:
    parts, end = [], 0
    for span in spans:
        parts.append(source[end : span.source[0]])
        end = span.source[1]
    return " ".join([*parts, source[end:]])


def _cut(text: str, span: Range) -> str:
    return text[span[0] : span[1]]
