"""Numbers of the source that are missing in a translation."""

import pytest

from regard.spans.numbers import MissingNumber, missing_numbers


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("I have 3 cats and 12 dogs.", "J'ai 3 chats et 12 chiens."),
        ("It costs 1,234.50 euros.", "Il coûte 1 234,50 euros."),
        ("10000 people", "10 000 personnes"),
        ("10 000 personnes", "10,000 people"),
        ("at 3 pm", "à 15 h"),
        ("à 15h30", "at 3:30 p.m."),
        ("03/04/2024", "3/4/2024"),
        ("no number", "5"),
    ],
)
def test_equal_numbers(source: str, target: str) -> None:
    assert missing_numbers(source, target) == []


def test_a_missing_number_comes_with_the_number_that_the_translation_has_instead() -> None:
    assert missing_numbers("in 2003", "en 2004") == [MissingNumber((3, 7), (3, 7))]
    assert missing_numbers("3 and 3", "3") == [MissingNumber((6, 7), None)]


def test_numbers_inside_of_spans_do_not_count() -> None:
    assert missing_numbers("AB-12", "AB", [(0, 5)]) == []
