"""Spans are masked and restored byte for byte, wherever they stand and whatever the model does with the stand-ins."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.inference.locator import Locator
from regard.inference.masking.edited_text import Edited
from regard.inference.masking.masker import Masker
from regard.inference.result import Range
from regard.spans.glossary import Glossary
from regard.spans.patterns import find_spans
from regard.tokenizers.placeholders import PLACEHOLDERS

SPANS = (
    "https://example.com/a_(b)?x=1",
    "a.b+c@example.org",
    "/etc/hosts",
    "C:\\Users\\x.txt",
    "`x = 1`",
    "{name}",
    "{{ a.b }}",
    "%1$s",
    "${x}",
    '<x id="7"/>',
    "@tom",
    "#news",
    "AB-1234-X",
    "+33 1 23 45 67 89",
    "😀",
    "max_length",
    PLACEHOLDERS[2],
)
WORDS = ("the", "cat", "Tom", "sees", "Boston", "house.", "Is", "it", "l'eau,", "été")

TEXTS = st.lists(st.sampled_from((*SPANS, *WORDS)), min_size=1, max_size=12).map(" ".join)


def no_locator() -> None:
    return None


@pytest.mark.parametrize("placeholders", [(), PLACEHOLDERS[:8]])
@given(text=TEXTS, seed=st.integers(0, 99))
def test_every_span_comes_back_from_any_order_of_words(placeholders: tuple[str, ...], text: str, seed: int) -> None:
    mask = Masker(placeholders, has_alignment=False).mask(text)
    if mask is None:
        assert find_spans(text) == []
        return
    restored = [mask.copied()]
    for attempt in range(mask.attempts):
        assert not set(SPANS[:-1]) & set(mask.masked(attempt).text.split())
        words = mask.masked(attempt).text.split(" ")
        Random(seed).shuffle(words)
        restored.append(mask.restore(" ".join(words), attempt, no_locator))
        assert restored[-1].lost == 0
        restored.append(mask.restore("the model lost everything.", attempt, no_locator))
        assert restored[-1].lost == len(mask.groups)
    for one in restored:
        assert [span.text for span in one.spans] == [span.text for span in find_spans(text)]
        assert all(one.text[slice(*span.target)] == span.text for span in one.spans)
        assert all(text[slice(*span.source)] == span.text for span in one.spans)


@given(text=TEXTS)
def test_an_identity_model_returns_the_same_text(text: str) -> None:
    mask = Masker(PLACEHOLDERS[:26], has_alignment=False).mask(text)
    if mask is not None and mask.attempts:
        masked = mask.masked(0)
        restored = mask.restore(masked.text, 0, no_locator)
        assert restored.text == text
        count = len(masked.text.split())
        links = [(number, number) for number in range(count)]
        assert restored.links(masked, links) == tuple((number, number) for number in range(len(text.split())))


def test_a_repeated_stand_in_and_an_unknown_placeholder() -> None:
    mask = Masker(PLACEHOLDERS[:8], has_alignment=False).mask("See {name} now")
    assert mask is not None
    first, other = PLACEHOLDERS[0], PLACEHOLDERS[5]
    restored = mask.restore(f"{first} voit {first} {other} ici", 0, no_locator)
    assert (restored.text, restored.lost) == ("{name} voit {name} ici", 1)


def test_a_lost_span_goes_before_the_final_punctuation() -> None:
    mask = Masker((), has_alignment=False).mask("See {name} now.")
    assert mask is not None
    restored = mask.restore("Voyez.", 0, no_locator)
    assert (restored.text, restored.spans[0].placed_by) == ("Voyez {name}.", "end")


def test_stand_ins_do_not_occur_in_the_text() -> None:
    mask = Masker((), has_alignment=False).mask("Tom and Boston see {name}.")
    assert mask is not None
    assert all(not {"Tom", "Boston"} & {*names} for names in mask.stand_ins)


def test_quotation_marks_stay_around_a_span() -> None:
    mask = Masker((), has_alignment=False).mask('Delete "%s"?')
    assert mask is not None
    assert mask.masked(0).text == "Delete Tom?"
    assert mask.restore("Supprimer Tom ?", 0, no_locator).text == 'Supprimer "%s" ?'


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Stop a.example.com (10.0.0.12) now.", "Stop Tom now."),
        ("Stop a.example.com (10.0.0.12 is it) now.", "Stop Tom (Boston is it) now."),
        ("Stop (a.example.com [10.0.0.12]) now.", "Stop Tom now."),
        ("Stop (a.example.com) [now].", "Stop Tom [now]."),
        ('Use "a.py", "b.py" now.', "Use Tom, Boston now."),
    ],
)
def test_a_bracket_is_in_a_group_with_its_partner(text: str, masked: str) -> None:
    mask = Masker((), has_alignment=False).mask(text)
    assert mask is not None
    assert mask.masked(0).text == masked
    assert mask.restore(masked, 0, no_locator).text == text


def test_the_bracket_of_a_link_is_no_part_of_its_text() -> None:
    mask = Masker(PLACEHOLDERS, has_alignment=False).mask("See [GitHub](https://a.example.com) now.")
    assert mask is not None
    assert [group.text for group in mask.groups] == ["[", "GitHub", "](https://a.example.com)"]


def test_the_words_of_an_edited_text() -> None:
    edited = Edited.of("see Tom now", [((4, 7), "a b c")])
    assert (edited.text, edited.words()) == ("see a b c now", [[0], [1, 2, 3], [4]])


def test_the_text_of_a_term_does_not_overlap_another_term() -> None:
    """The alignment puts "la tête" on "la", beside the place of "tête"."""
    mask = Masker((), has_alignment=True).mask("here head the red", Glossary({"head": "tête", "the": "la tête"}))
    assert mask is not None

    class Aligned(Locator):
        def __init__(self) -> None: ...

        def find_word(self, part: Range, taken: Sequence[Range] = ()) -> Range | None:
            return {(5, 9): (9, 13), (10, 13): (6, 8)}[part]

    restored = mask.restore("voici la tête rouge", 0, Aligned)
    assert restored.text == "voici la tête tête rouge"
    assert [restored.text[slice(*span.target)] for span in restored.spans] == ["tête", "la tête"]
