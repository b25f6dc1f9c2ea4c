"""A text too long for the model is cut into parts that fit, and nothing of it is lost.

Cuts fall at the ends of sentences; inside a sentence that is itself too long, at white space; inside a word that is
itself too long, anywhere. Each part comes with the white space that follows it, so that the parts' translations can be
joined as the text was.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

_WORD = re.compile(r"(\S+)(\s*)")

# A full stop of a script that puts no space after it, with the quotes and brackets that close there.
_WIDE_SENTENCE = re.compile(r"[^。！？]*(?:[。！？]+[」』”’）〉》】]*)?")

_STOPS = (".", "!", "?", "…", "。", "！", "？")

_CLOSERS = "\"'”’»)]}」』）〉》】"


def split_text(text: str, fits: Callable[[str], bool]) -> list[tuple[str, str]]:
    """The parts of the text, each with the white space after it; white space at the very start follows an empty part.

    `fits` must accept every single character, and should be monotonic (what is shorter fits too), or the parts get
    smaller than they need be. Except for the whole text and for whole sentences, each once, it is called on strings at
    most twice as long as what fits.
    """
    if fits(text):
        return [(text, "")]
    blank = len(text) - len(text.lstrip())
    parts = [("", text[:blank])] if blank else []
    for sentence, space in _sentences(text):
        if fits(sentence):
            parts.append((sentence, space))
            continue
        pieces = list(_chunks(sentence, fits))
        parts += pieces[:-1]
        parts.append((pieces[-1][0], space))
    return parts


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence and the white space after it."""
    begin = None
    for match in _WORD.finditer(text):
        word, space = match.groups()
        offset = match.start()
        begin = offset if begin is None else begin
        chunks = [chunk for chunk in _WIDE_SENTENCE.findall(word) if chunk]
        for chunk in chunks[:-1]:
            offset += len(chunk)
            yield text[begin:offset], ""
            begin = offset
        if "\n" in space or chunks[-1].rstrip(_CLOSERS).endswith(_STOPS):
            yield text[begin : match.end(1)], space
            begin = None
    if begin is not None:
        end = len(text.rstrip())
        yield text[begin:end], text[end:]


def _chunks(sentence: str, fits: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """A sentence cut at white space, or in the middle of words too long for that."""
    words = [match.span(1) for match in _WORD.finditer(sentence)]
    starts, ends = [start for start, _ in words], [end for _, end in words]
    begin, guess = 0, 1
    while begin < len(sentence):
        guess = _reach(sentence, begin, guess, fits)
        end = begin + guess
        for earlier in reversed(ends[bisect_right(ends, begin) : bisect_right(ends, end)]):
            if fits(sentence[begin:earlier]):
                end = earlier
                break
        # After a word comes the next word; a word cut in two goes on where it was cut.
        number = bisect_right(ends, end)
        after = max(end, starts[number]) if number < len(starts) else len(sentence)
        yield sentence[begin:end], sentence[end:after]
        begin = after


def _reach(text: str, begin: int, guess: int, fits: Callable[[str], bool]) -> int:
    """How many characters from `begin` on fit. Doubling from a guess, then halving, never tries a very long string."""
    limit = len(text) - begin
    low, high = 0, min(guess, limit)
    while fits(text[begin : begin + high]):
        low = high
        if high == limit:
            return limit
        high = min(2 * high, limit)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(text[begin : begin + middle]):
            low = middle
        else:
            high = middle
    if not low:
        raise ValueError(f"{text[begin]!r} alone does not fit")
    return low
