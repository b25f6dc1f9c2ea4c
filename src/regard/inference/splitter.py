"""Splits a text that is too long for the model. Each part is short enough, and no character is lost.

A text is split after each sentence. A sentence that is too long is split at white space, and a word that is too long is
split anywhere. Each part is returned with the white space after it, so that the same white space can join the
translations.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

_WORD = re.compile(r"(\S+)(\s*)")

# A sentence of a script without spaces between sentences (such as Chinese), with its closing quotes and brackets.
_WIDE_SENTENCE = re.compile(r"[^。！？]*(?:[。！？]+[」』”’）〉》】]*)?")

_STOPS = (".", "!", "?", "…", "。", "！", "？")

_CLOSERS = "\"'”’»)]}」』）〉》】"


def split_text(text: str, fits: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Return the parts of a text, each with the white space after it.

    If the text starts with white space, the first part is an empty string, followed by that white space.
    `fits` returns whether a string is short enough, and must accept every single character. If `fits` rejects a string
    but accepts a longer one, parts may become smaller than necessary. `fits` is called once with the text, once with
    each sentence, and otherwise only with strings up to twice as long as one that fits.
    """
    if fits(text):
        return [(text, "")]
    blank = len(text) - len(text.lstrip())
    parts = [("", text[:blank])] if blank else []
    for sentence, space in _sentences(text):
        if fits(sentence):
            parts.append((sentence, space))
            continue
        *chunks, (last, _) = _chunks(sentence, fits)
        parts += chunks
        parts.append((last, space))
    return parts


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence and the white space after it."""
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
    """Yield the parts of a sentence that is too long, each with the white space after it."""
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
        # If a word was split, the next chunk starts inside that word; otherwise it starts at the next word.
        number = bisect_right(ends, end)
        after = max(end, starts[number]) if number < len(starts) else len(sentence)
        yield sentence[begin:end], sentence[end:after]
        begin = after


def _reach(text: str, begin: int, guess: int, fits: Callable[[str], bool]) -> int:
    """Return how many characters fit, counted from `begin`. Find the number by doubling `guess` and then bisecting."""
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
        raise ValueError(f"{text[begin]!r} does not fit, although it is a single character")
    return low
