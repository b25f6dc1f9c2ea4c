"""Characters classified in blocks give the same results as one by one."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.code_points import SCRIPTS, UNUSUAL_CHARACTERS, Block, word_classes, words

TEXTS = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))


@given(TEXTS)
def test_lengths_and_words_are_counted_as_in_python(texts: list[str]) -> None:
    block = Block(texts)
    assert block.lengths.tolist() == [len(text) for text in texts]
    assert block.words.tolist() == [len(text.split()) for text in texts]


@given(st.lists(st.text("ab\0\x0b\u0085\u2028\u202e\ufffd\ufeff\x9b")))
def test_unusual_characters_are_found_in_the_right_texts(texts: list[str]) -> None:
    for name, rows in Block(texts).unusual_characters().items():
        kinds = {chr(code) for code in UNUSUAL_CHARACTERS[name]}
        assert rows.tolist() == [row for row, text in enumerate(texts) if kinds & set(text)]


def test_all_control_characters_except_line_feeds_and_tabs_are_unusual() -> None:
    controls = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cc"}
    assert controls - {9, 10} == {*UNUSUAL_CHARACTERS["control characters"], 0x85}


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
def test_the_script_of_a_text_is_that_of_most_letters(text: str, script: str) -> None:
    found = Block(["x", text, "я"]).scripts()
    assert [SCRIPTS[number] for number in found] == ["Latin", script, "Cyrillic"]


def test_an_empty_block_has_no_words_scripts_or_unusual_characters() -> None:
    assert Block([]).scripts().tolist() == Block([]).words.tolist() == []
    assert np.concatenate(list(Block([]).unusual_characters().values())).tolist() == []


def test_words_have_no_case_or_punctuation() -> None:
    assert words("The cat's “ÉTÉ”, 3½ kg; naïve_x") == ["the", "cat", "s", "été", "3½", "kg", "naïve", "x"]
    assert words("हिन्दी में") == ["हिन्दी", "में"]
    assert words("今日は abc、ครับ") == ["今", "日", "は", "abc", *"ครับ"]
    assert words(" …!? ") == []


def test_words_and_word_classes_agree() -> None:
    for code in (*range(0x3000), 0x4E00, 0x20000, 0x1F600):
        assert bool(words(f" {chr(code)} ")) == bool(word_classes()[ord(chr(code).casefold()[0])])
