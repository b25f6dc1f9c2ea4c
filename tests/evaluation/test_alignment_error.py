"""Alignment error by hand."""

import pytest

from regard.evaluation.alignment_error import alignment_error, pharaoh


def test_pharaoh():
    assert pharaoh([(2, 1), (0, 0), (10, 2)]) == "0-0 2-1 10-2"
    assert pharaoh([]) == ""


def test_the_error_by_hand():
    # Three found, two of them sure and one more possible: 1 - (2 + 3) / (3 + 4).
    found, sure, possible = [{(0, 0), (1, 1), (2, 3)}], [{(0, 0), (1, 1), (2, 2), (3, 3)}], [{(2, 3)}]
    assert alignment_error(found, sure, possible) == pytest.approx(1 - 5 / 7)
    assert alignment_error(found, sure) == pytest.approx(1 - 4 / 7)


def test_all_right_is_none_wrong_and_nothing_is_nothing():
    assert alignment_error([[(0, 0)], [(1, 0)]], [[(0, 0)], [(1, 0)]]) == 0
    assert alignment_error([[(0, 1)]], [[(0, 0)]]) == 1
    assert alignment_error([[]], [[]]) == 0


def test_sentences_count_by_their_links():
    assert alignment_error([[(0, 0)], [(0, 1), (1, 0)]], [[(0, 0)], [(0, 0), (1, 1)]]) == pytest.approx(1 - 2 / 6)
