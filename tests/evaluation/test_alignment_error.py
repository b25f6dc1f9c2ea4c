"""The alignment error rate equals values computed by hand."""

import pytest

from regard.evaluation.alignment_error import alignment_error, format_pharaoh


def test_links_are_formatted_in_the_order_of_the_source():
    assert format_pharaoh([(2, 1), (0, 0), (10, 2)]) == "0-0 2-1 10-2"
    assert format_pharaoh([]) == ""


def test_the_error_of_an_example_is_as_computed_by_hand():
    # Three links, two of them sure and one possible: 1 - (2 + 3) / (3 + 4).
    found, sure, possible = [{(0, 0), (1, 1), (2, 3)}], [{(0, 0), (1, 1), (2, 2), (3, 3)}], [{(2, 3)}]
    assert alignment_error(found, sure, possible) == pytest.approx(1 - 5 / 7)
    assert alignment_error(found, sure) == pytest.approx(1 - 4 / 7)


def test_the_error_is_0_if_all_links_are_correct_or_there_are_none():
    assert alignment_error([[(0, 0)], [(1, 0)]], [[(0, 0)], [(1, 0)]]) == 0
    assert alignment_error([[(0, 1)]], [[(0, 0)]]) == 1
    assert alignment_error([[]], [[]]) == 0


def test_sentences_are_weighted_by_their_links():
    assert alignment_error([[(0, 0)], [(0, 1), (1, 0)]], [[(0, 0)], [(0, 0), (1, 1)]]) == pytest.approx(1 - 2 / 6)
