"""Near duplicates have the same words except one, and are found among any number of texts."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.check.near_duplicates import NearDuplicateIndex

TEXT = "The old cat sat on the red mat again today."


def matches(text: str, other: str) -> bool:
    return len(NearDuplicateIndex([text]).find([other])[0]) == 1


@pytest.mark.parametrize(
    "other",
    [
        TEXT,
        "the old cat sat on the RED mat again, today",
        "The young cat sat on the red mat again today.",
        "The cat sat on the red mat again today.",
        "The old cat sat on the big red mat again today.",
        "Today the old cat sat again on the red mat.",
    ],
)
def test_one_word_may_differ(other: str) -> None:
    assert matches(TEXT, other)
    assert matches(other, TEXT)


@pytest.mark.parametrize(
    "other", ["", "cat", "The young cat sat on the blue mat again today.", "The old cat sat on the red mat."]
)
def test_two_words_may_not_differ(other: str) -> None:
    assert not matches(TEXT, other)


def test_short_texts_must_have_the_same_words() -> None:
    assert matches("Hello, Tom!", "hello tom")
    assert not matches("Hello, Tom!", "Hello, Ann!")
    assert not matches("one two three four five six seven", "one two three four five six eight")


def test_in_scripts_without_spaces_characters_count_as_words() -> None:
    assert matches("我昨天在公园里看见你的猫。", "我昨天在公园里看见他的猫")
    assert not matches("我昨天在公园里看见你的猫。", "我今天在公园里看见他的狗")


def test_punctuation_alone_matches_nothing() -> None:
    assert not matches("…!", "?")


words = st.lists(st.sampled_from("abcdef"), max_size=12)


@given(st.lists(words, max_size=6), st.lists(words, max_size=6))
def test_the_index_finds_the_same_as_comparing_all_texts(indexed: list[list[str]], searched: list[list[str]]) -> None:
    def near(one: list[str], other: list[str]) -> bool:
        if not one or not other:
            return False
        bags = {tuple(sorted(one))} if len(one) < 8 else {tuple(sorted(one)), *shorter(one)}
        others = {tuple(sorted(other))} if len(other) < 8 else {tuple(sorted(other)), *shorter(other)}
        return bool(bags & others)

    def shorter(text: list[str]) -> set[tuple[str, ...]]:
        return {tuple(sorted(text[:n] + text[n + 1 :])) for n in range(len(text))}

    rows, owners = NearDuplicateIndex([" ".join(text) for text in indexed]).find([" ".join(text) for text in searched])
    assert list(zip(rows.tolist(), owners.tolist(), strict=True)) == [
        (row, owner) for row, other in enumerate(searched) for owner, text in enumerate(indexed) if near(text, other)
    ]


def test_thousands_of_different_texts_do_not_match() -> None:
    numbers = random.Random(1)
    texts = [" ".join(str(numbers.randrange(1000)) for _ in range(12)) for _ in range(4000)]
    assert NearDuplicateIndex(texts[:2000]).find(texts[2000:])[0].tolist() == []
