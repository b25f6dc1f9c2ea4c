"""Characters counted by the thousand: the same as one by one."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.code_points import ODDITIES, SCRIPTS, Block, units, words

TEXTS = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))


@given(TEXTS)
def test_lengths_and_words_are_pythons(texts: list[str]) -> None:
    block = Block(texts)
    assert block.lengths.tolist() == [len(text) for text in texts]
    assert block.words.tolist() == [len(text.split()) for text in texts]


@given(st.lists(st.text("ab\0\x0b\u0085\u2028\u202e\ufffd\ufeff\x9b")))
def test_oddities_are_found_where_they_are(texts: list[str]) -> None:
    for name, rows in Block(texts).oddities().items():
        kinds = {chr(code) for code in ODDITIES[name]}
        assert rows.tolist() == [row for row, text in enumerate(texts) if kinds & set(text)]


def test_all_control_characters_but_line_ends_and_tabs_are_odd() -> None:
    controls = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cc"}
    assert controls - {9, 10} == {*ODDITIES["control characters"], 0x85}


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("", "none"),
        ("123, …!", "none"),
        ("naïve Straße", "Latin"),
        ("Привет, Bob", "Cyrillic"),
        ("Γειά", "Greek"),
        ("日本語のテキスト", "Chinese or Japanese"),
        ("\U00020000\U00020001", "Chinese or Japanese"),
        ("한국어 ABC", "Hangul"),
        ("مرحبا", "Arabic"),
        ("नमस्ते", "Devanagari"),
    ],
)
def test_the_script_of_most_letters(text: str, script: str) -> None:
    found = Block(["x", text, "я"]).scripts()
    assert [SCRIPTS[number] for number in found] == ["Latin", script, "Cyrillic"]


def test_no_texts_have_nothing() -> None:
    assert Block([]).scripts().tolist() == Block([]).words.tolist() == []
    assert np.concatenate(list(Block([]).oddities().values())).tolist() == []


def test_words_are_without_case_and_punctuation() -> None:
    assert words("The cat's “ÉTÉ”, 3½ kg; naïve_x") == ["the", "cat", "s", "été", "3½", "kg", "naïve", "x"]
    assert words("हिन्दी में") == ["हिन्दी", "में"]
    assert words("今日は abc、ครับ") == ["今", "日", "は", "abc", *"ครับ"]
    assert words(" …!? ") == []


def test_every_word_is_made_of_units() -> None:
    for code in (*range(0x3000), 0x4E00, 0x20000, 0x1F600):
        assert bool(words(f" {chr(code)} ")) == bool(units()[ord(chr(code).casefold()[0])])
