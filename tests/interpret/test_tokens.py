"""Pieces to words, and words found by what people write."""

from collections.abc import Sequence

import pytest

from regard.errors import LookError
from regard.interpret.tokens import Tokens, chosen_word, find_word
from regard.render.text import escape_control_characters
from regard.tokenizers.word_spans import WordSpan

END, START = 3, 2


class Reader:
    """A tokenizer whose vocabulary is the pieces of one sentence."""

    def __init__(self, pieces: str) -> None:
        self.table = {2: "<s>", 3: "</s>", **dict(enumerate(pieces.split(), start=10))}

    @property
    def ids(self) -> list[int]:
        return [number for number in self.table if number >= 10]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.table[number] for number in ids]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(self.tokens(one)).replace("▁", " ").removeprefix(" ") for one in ids]


def words(pieces: str) -> list[str]:
    reader = Reader(pieces)
    tokens = Tokens.of(reader.ids, reader)
    assert [word.begin for word in tokens.words] == [0, *(word.end for word in tokens.words[:-1])]
    assert tokens.words[-1].end == len(tokens.ids)
    return [word.text for word in tokens.words]


@pytest.mark.parametrize(
    ("pieces", "expected"),
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
def test_pieces_make_words(pieces, expected):
    assert words(pieces) == expected


def test_marks_are_words_of_their_own():
    reader = Reader("▁anim al s")
    tokens = Tokens.of([START, *reader.ids, END], reader)
    assert [word.text for word in tokens.words] == ["<s>", "animals", "</s>"]


def test_what_looks_like_a_mark_is_text():
    """Ids say what is a mark; a text may say anything."""
    assert words("▁</ s > ▁</s>") == ["</s>", "</s>"]


def test_pieces_may_stand_for_themselves():
    reader = Reader("▁anim al")
    units = Tokens.of(reader.ids, reader).units(pieces=True)
    assert [(unit.text, unit.begin, unit.end) for unit in units] == [("▁anim", 0, 1), ("al", 1, 2)]


UNITS = tuple(
    WordSpan(text, i, i + 1) for i, text in enumerate(["The", "cat", "it", "the", "It", "it", "10:30", "the"])
)


@pytest.mark.parametrize(
    ("wanted", "place"),
    [("cat", 1), ("CAT", 1), ("it", 2), ("it:2", 5), ("It", 4), ("the", 3), ("the:2", 7), ("10:30", 6), ("THE:3", 7)],
)
def test_a_word_is_found(wanted, place):
    assert find_word(wanted, UNITS) is UNITS[place]


@pytest.mark.parametrize("wanted", ["dog", "it:3", "it:0", "cat:x", ""])
def test_a_word_that_is_not_there(wanted):
    with pytest.raises(
        LookError, match=r"no word .* here; the words are: The, cat, it, the, It, it:2, 10:30, the:2; a$"
    ):
        chosen_word(wanted, UNITS, [WordSpan("a", 0, 1)])


def test_the_first_side_that_has_a_word_has_it():
    other = (WordSpan("cat", 7, 8), WordSpan("dog", 8, 9))
    assert chosen_word("cat", UNITS, other) is UNITS[1]
    assert chosen_word("dog", UNITS, other) is other[1]


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
def test_text_acts_on_nothing(text, expected):
    assert escape_control_characters(text) == expected
