"""Long texts are split at good places, quickly, and without losing a character."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.inference.splitter import split_text


def at_most(length: int) -> Callable[[str], bool]:
    return lambda text: len(text) <= length


def joined(parts: list[tuple[str, str]]) -> str:
    return "".join(part + space for part, space in parts)


def test_a_text_that_fits_is_not_split() -> None:
    assert split_text("  One. Two.  ", at_most(20)) == [("  One. Two.  ", "")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One two. Three!  Four? ", [("One two.", " "), ("Three!", "  "), ("Four?", " ")]),
        ("  Lead in. And on", [("", "  "), ("Lead in.", " "), ("And on", "")]),
        ("No stop here\nNext line", [("No stop here", "\n"), ("Next line", "")]),
        ("He said “yes.” Then left…", [("He said “yes.”", " "), ("Then left…", "")]),
        ("今天很好。明天呢？「好。」是", [("今天很好。", ""), ("明天呢？", ""), ("「好。」", ""), ("是", "")]),
        ("version 1.5 of it. Done", [("version 1.5 of it.", " "), ("Done", "")]),
    ],
)
def test_a_text_is_split_after_sentences(text: str, parts: list[tuple[str, str]]) -> None:
    assert split_text(text, lambda part: part != text) == parts


def test_a_long_sentence_is_split_at_white_space() -> None:
    assert split_text("one two three  four five.", at_most(10)) == [
        ("one two", " "),
        ("three", "  "),
        ("four five.", ""),
    ]


def test_a_long_word_is_split_anywhere() -> None:
    assert split_text("ab abcdefghij", at_most(4)) == [("ab", " "), ("abcd", ""), ("efgh", ""), ("ij", "")]


def test_the_rest_of_a_long_word_shares_a_part_with_the_next_words() -> None:
    assert split_text("abcdef g h", at_most(4)) == [("abcd", ""), ("ef g", " "), ("h", "")]


def test_a_character_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(ValueError, match="'a' does not fit"):
        split_text("abc", lambda part: False)


@pytest.mark.parametrize("text", ["a" * 100_000, "ab " * 33_333, "Yes. " * 20_000, "." * 100_000 + "a", " " * 100_000])
def test_a_hundred_thousand_characters_take_near_linear_time(text: str) -> None:
    characters = 0

    def fits(part: str) -> bool:
        nonlocal characters
        characters += len(part)
        return len(part) <= 100

    assert joined(split_text(text, fits)) == text
    assert characters < 60 * len(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='ab. \n\u00a0!。」"x…é', max_size=80), st.integers(min_value=1, max_value=20))
def test_nothing_is_lost_and_every_part_fits(text: str, length: int) -> None:
    parts = split_text(text, at_most(length))
    assert joined(parts) == text
    assert all(len(part) <= length for part, _ in parts)
    assert all(not space or space.isspace() for _, space in parts)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.integers(min_value=4, max_value=30))
def test_any_text_is_split_by_a_limit_in_bytes(text: str, length: int) -> None:
    parts = split_text(text, lambda part: len(part.encode("utf-8", "surrogatepass")) <= length)
    assert joined(parts) == text
    assert all(len(part.encode("utf-8", "surrogatepass")) <= length for part, _ in parts)
