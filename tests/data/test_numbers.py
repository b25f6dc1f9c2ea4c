"""The names of numbers, and the numbers drawn for the demo."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.numbers import BELOW, pairs, spell, split


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (7, "seven"),
        (10, "ten"),
        (12, "twelve"),
        (19, "nineteen"),
        (20, "twenty"),
        (21, "twenty-one"),
        (40, "forty"),
        (99, "ninety-nine"),
        (100, "one hundred"),
        (101, "one hundred and one"),
        (110, "one hundred and ten"),
        (342, "three hundred and forty-two"),
        (999, "nine hundred and ninety-nine"),
        (1_000, "one thousand"),
        (1_001, "one thousand and one"),
        (1_099, "one thousand and ninety-nine"),
        (1_100, "one thousand one hundred"),
        (1_234, "one thousand two hundred and thirty-four"),
        (10_000, "ten thousand"),
        (15_016, "fifteen thousand and sixteen"),
        (47_105, "forty-seven thousand one hundred and five"),
        (100_000, "one hundred thousand"),
        (101_001, "one hundred and one thousand and one"),
        (900_090, "nine hundred thousand and ninety"),
        (999_999, "nine hundred and ninety-nine thousand nine hundred and ninety-nine"),
    ],
)
def test_names_written_out_by_hand(number, words):
    assert spell(number) == words


def test_every_number_has_a_name_of_its_own():
    assert len({spell(number) for number in range(20_000)}) == 20_000


@pytest.mark.parametrize("number", [-1, BELOW])
def test_other_numbers_are_refused(number):
    with pytest.raises(ValueError, match="only numbers from 0 to 999,999"):
        spell(number)


@given(st.data(), st.integers(1, 3_000), st.integers(0, 2**32))
def test_pairs_are_as_many_as_asked_distinct_and_in_range(data, below, seed):
    count = data.draw(st.integers(0, below))
    drawn = pairs(count, seed, below=below)
    assert len(set(drawn)) == len(drawn) == count
    assert all(0 <= int(digits) < below and words == spell(int(digits)) for digits, words in drawn)


def test_the_same_seed_gives_the_same_pairs_and_another_gives_others():
    assert pairs(1_000, 1) == pairs(1_000, 1)
    assert set(pairs(1_000, 1)) != set(pairs(1_000, 2))
    assert [digits for digits, _ in pairs(5, 1)] == ["545891", "32956", "22", "862", "7873"]


def test_each_length_gets_its_share():
    lengths = Counter(len(digits) for digits, _ in pairs(10_000, 1))
    assert lengths == {1: 10, 2: 90, 3: 900, 4: 3_000, 5: 3_000, 6: 3_000}


def test_unseen_numbers_are_unseen_and_the_small_ones_are_learnt():
    learnt, tried = split(5_000, 200, 1)
    assert (len(learnt), len(tried)) == (5_000, 200)
    assert not set(learnt) & set(tried)
    assert {str(number) for number in range(100)} <= {digits for digits, _ in learnt}
    assert {len(digits) for digits, _ in tried} == {3, 4, 5, 6}


def test_impossible_wishes_are_refused():
    with pytest.raises(ValueError, match="cannot draw 11 different ones"):
        pairs(11, 1, below=10)
    with pytest.raises(ValueError, match="below must be from 1"):
        pairs(1, 1, below=BELOW + 1)
    with pytest.raises(ValueError, match="do not hold 60 of three digits"):
        split(50, 60, 1, below=150)
