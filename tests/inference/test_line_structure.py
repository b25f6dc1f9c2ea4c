"""Lines are divided into what is translated and what stays, and no character is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.inference.line_structure import _CELL_BORDER, divide_line

SIGNS = st.lists(
    st.sampled_from(
        ["- ", "> ", "1. ", "\t", "   ", "  ", "😀", "❤️", "→", "<p>", "</p>", "<b>", "</b>", "<br/>", "|", "`a:   b`",
         "\\n", "Hello", "you.", "I see!", "12", "<keep>", "</keep>", "<li class='x'>", "\r"]
    ),
    max_size=10,
).map("".join)  # fmt: skip


@given(line=SIGNS | st.text(), protect=st.booleans())
def test_no_character_is_lost(line: str, protect: bool) -> None:
    assert "".join(text + space for text, space in divide_line(line, protect=protect)) == line


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("  - [x] Write it.  ", ["Write it."]),
        ("😀 Hello! ❤️ I see. 👍🏽", ["Hello!", "I see."]),
        ("😀 is an emoji. 😀 too", ["😀 is an emoji. 😀 too"]),
        ("<p>Dear Tom,</p>", ["Dear Tom,"]),
        ("<div><p>Dear Tom,", ["Dear Tom,"]),
        ("the end.</p></div>", ["the end."]),
        ("<b>Open</b> the <b>door</b>", ["<b>Open</b> the <b>door</b>"]),
        ("<em>Open the door</em>", ["Open the door"]),
        ('<x id="7"/>Save changes<x id="8"/>', ["Save changes"]),
        ('<x id="7"/> sent <x id="8"/>', ['<x id="7"/> sent <x id="8"/>']),
        (">> It is here.", ["It is here."]),
        ("$ python main.py", []),
        ("$5 is enough", ["$5 is enough"]),
        ("<name> is missing", ["<name> is missing"]),
        ("<keep>Blue Sky</keep>", ["<keep>Blue Sky</keep>"]),
        ("<code>x y</code>", ["<code>x y</code>"]),
        ("| I see | 5 |", ["I see", "5"]),
        ("  |I see   y|\t| 5|", ["I see   y", "5"]),
        ("I see.  You see.\tHe sees", ["I see.", "You see.", "He sees"]),
        ("Run `a:   b` now.", ["Run `a:   b` now."]),
        ("I see.\\n\\nYou see.", ["I see.", "You see."]),
        ("😀", []),
        ("<br/>", []),
        ("   ", ["   "]),
    ],
)
def test_what_is_translated(line: str, texts: list[str]) -> None:
    assert [text for text, _ in divide_line(line) if text] == texts


def test_without_protection_only_white_space_and_markers_stay() -> None:
    assert [*divide_line("- <p>😀 I see.</p>", protect=False)] == [("", "- "), ("<p>😀 I see.</p>", "")]


def test_the_border_of_a_cell_is_searched_once_in_white_space() -> None:
    """Without possessive white space, a search begins again at each space."""
    begins = [number for number in range(9) if _CELL_BORDER.match("a       |", number)]
    assert begins == [1, 8]
