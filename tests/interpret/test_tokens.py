"""Tokens are grouped into words, and words are found by their text."""

from collections.abc import Sequence

import pytest

from regard.errors import LookError
from regard.interpret.tokens import Tokens, find_word, get_word
from regard.render.text import escape_control_characters
from regard.tokenizers.special_ids import BOS, EOS
from regard.tokenizers.word_spans import WordSpan


class SentenceTokenizer:
    """A tokenizer whose vocabulary is the tokens of one sentence."""

    def __init__(self, tokens: str) -> None:
        self.table = {BOS: "<s>", EOS: "</s>", **dict(enumerate(tokens.split(), start=10))}

    @property
    def ids(self) -> list[int]:
        return [token_id for token_id in self.table if token_id >= 10]

    @property
    def generable(self) -> list[bool]:
        raise NotImplementedError

    placeholders: tuple[str, ...] = ()

    def encode_masked(self, texts: Sequence[str]) -> list[list[int]]:
        return self.encode(texts)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        raise NotImplementedError

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.table[token_id] for token_id in ids]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(self.tokens(sentence)).replace("▁", " ").removeprefix(" ") for sentence in ids]


def words(texts: str) -> list[str]:
    tokenizer = SentenceTokenizer(texts)
    tokens = Tokens.from_ids(tokenizer.ids, tokenizer)
    assert [word.begin for word in tokens.words] == [0, *(word.end for word in tokens.words[:-1])]
    assert tokens.words[-1].end == len(tokens.ids)
    return [word.text for word in tokens.words]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("▁The ▁anim al ▁sleep s .", ["The", "animal", "sleeps", "."]),
        ("▁did n ' t", ["didn't"]),
        ("▁( it ) !", ["(", "it", ")", "!"]),
        ("▁ ( it", ["(", "it"]),
        ("▁ 你 好 。", ["你好", "。"]),
        ("▁ ▁two ▁ ▁spaces", ["␣", "two", "␣", "spaces"]),
        ("▁... ▁- -", ["...", "-", "-"]),
    ],
)
def test_tokens_are_grouped_into_words(texts, expected):
    assert words(texts) == expected


def test_special_tokens_are_separate_words():
    tokenizer = SentenceTokenizer("▁anim al s")
    tokens = Tokens.from_ids([BOS, *tokenizer.ids, EOS], tokenizer)
    assert [word.text for word in tokens.words] == ["<s>", "animals", "</s>"]


def test_text_that_looks_like_a_special_token_is_text():
    """Special tokens are recognised by id, never by text."""
    assert words("▁</ s > ▁</s>") == ["</s>", "</s>"]


def test_units_may_be_single_tokens():
    tokenizer = SentenceTokenizer("▁anim al")
    units = Tokens.from_ids(tokenizer.ids, tokenizer).units(tokens=True)
    assert [(unit.text, unit.begin, unit.end) for unit in units] == [("▁anim", 0, 1), ("al", 1, 2)]


UNITS = tuple(
    WordSpan(text, i, i + 1) for i, text in enumerate(["The", "cat", "it", "the", "It", "it", "10:30", "the"])
)


@pytest.mark.parametrize(
    ("name", "index"),
    [("cat", 1), ("CAT", 1), ("it", 2), ("it:2", 5), ("It", 4), ("the", 3), ("the:2", 7), ("10:30", 6), ("THE:3", 7)],
)
def test_a_word_is_found_by_text_case_and_number(name, index):
    assert find_word(name, UNITS) is UNITS[index]


@pytest.mark.parametrize("name", ["dog", "it:3", "it:0", "cat:x", ""])
def test_a_missing_word_raises_an_error_that_lists_the_words(name):
    with pytest.raises(
        LookError, match=r"no word .* here; the words are: The, cat, it, the, It, it:2, 10:30, the:2; a$"
    ):
        get_word(name, UNITS, [WordSpan("a", 0, 1)])


def test_the_first_side_that_has_a_word_is_used():
    second = (WordSpan("cat", 7, 8), WordSpan("dog", 8, 9))
    assert get_word("cat", UNITS, second) is UNITS[1]
    assert get_word("dog", UNITS, second) is second[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[31mb", "a\\u{1b}[31mb"),
        ("a\u202eb", "a\\u{202e}b"),
        ("a\tb\n", "a\\u{9}b\\u{a}"),
        ("שלום", "שלום"),
        ("e\u0301", "e\u0301"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("<script>", "<script>"),
    ],
)
def test_control_characters_are_escaped(text, expected):
    assert escape_control_characters(text) == expected
