"""Near copies: the same words but for one, found among any number of texts."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.check.near_duplicates import NearDuplicateIndex

TEXT = "The old cat sat on the red mat again today."


def like(text: str, other: str) -> bool:
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
    assert like(TEXT, other)
    assert like(other, TEXT)


@pytest.mark.parametrize(
    "other", ["", "cat", "The young cat sat on the blue mat again today.", "The old cat sat on the red mat."]
)
def test_two_words_may_not(other: str) -> None:
    assert not like(TEXT, other)


def test_short_texts_must_have_the_same_words() -> None:
    assert like("Hello, Tom!", "hello tom")
    assert not like("Hello, Tom!", "Hello, Ann!")
    assert not like("one two three four five six seven", "one two three four five six eight")


def test_where_no_spaces_are_written_characters_count() -> None:
    assert like("我昨天在公园里看见你的猫。", "我昨天在公园里看见他的猫")
    assert not like("我昨天在公园里看见你的猫。", "我今天在公园里看见他的狗")


def test_punctuation_alone_is_like_nothing() -> None:
    assert not like("…!", "?")


words = st.lists(st.sampled_from("abcdef"), max_size=12)


@given(st.lists(words, max_size=6), st.lists(words, max_size=6))
def test_the_index_finds_what_comparing_all_finds(indexed: list[list[str]], looked_for: list[list[str]]) -> None:
    def near(one: list[str], other: list[str]) -> bool:
        if not one or not other:
            return False
        bags = {tuple(sorted(one))} if len(one) < 8 else {tuple(sorted(one)), *shorter(one)}
        others = {tuple(sorted(other))} if len(other) < 8 else {tuple(sorted(other)), *shorter(other)}
        return bool(bags & others)

    def shorter(text: list[str]) -> set[tuple[str, ...]]:
        return {tuple(sorted(text[:n] + text[n + 1 :])) for n in range(len(text))}

    rows, owners = NearDuplicateIndex([" ".join(text) for text in indexed]).find(
        [" ".join(text) for text in looked_for]
    )
    assert list(zip(rows.tolist(), owners.tolist(), strict=True)) == [
        (row, owner) for row, other in enumerate(looked_for) for owner, text in enumerate(indexed) if near(text, other)
    ]


def test_unlike_texts_stay_unlike_in_great_number() -> None:
    numbers = random.Random(1)
    texts = [" ".join(str(numbers.randrange(1000)) for _ in range(12)) for _ in range(4000)]
    assert NearDuplicateIndex(texts[:2000]).find(texts[2000:])[0].tolist() == []
