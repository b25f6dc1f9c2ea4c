"""What occurs more than once: the same as comparing all with all."""

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.check.duplicates import DuplicateIndex, Repetition

Pairs = list[tuple[int, str, str]]  # part, source, target


def find(pairs: Pairs, most: int = 100) -> Repetition:
    repeats = DuplicateIndex()
    try:
        for part in range(3):
            own = [(line, pair) for line, pair in enumerate(pairs, start=1) if pair[0] == part]
            lines = np.array([line for line, _ in own], np.int64)
            repeats.add(part, part, lines, [pair[1] for _, pair in own], [pair[2] for _, pair in own])
        return repeats.find(3, most)
    finally:
        repeats.close()


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.sampled_from("wxyz"))))
def test_all_counts_are_those_of_a_plain_comparison(pairs: Pairs) -> None:
    found = find(pairs)
    training: defaultdict[str, set[str]] = defaultdict(set)
    for part, source, target in pairs:
        if part == 0:
            training[source].add(target)
    assert found.several_targets.count == sum(len(targets) > 1 for targets in training.values())
    for part in range(3):
        own = [pair[1:] for pair in pairs if pair[0] == part]
        assert found.duplicates[part].count == len(own) - len(Counter(own))
        if part:
            inside = [target in training[source] for source, target in own]
            beside = [bool(training[source]) and target not in training[source] for source, target in own]
            assert found.pairs_in_training[part].count == sum(inside)
            assert found.sources_in_training[part].count == sum(beside)


def test_examples_tell_both_places() -> None:
    found = find([(0, "a", "x"), (0, "b", "y"), (0, "a", "x"), (1, "b", "y"), (1, "b", "z"), (0, "b", "w")])
    assert found.duplicates[0].examples == [((0, 3), (0, 1))]
    assert found.pairs_in_training[1].examples == [((1, 4), (0, 2))]
    assert found.sources_in_training[1].examples[0][0] == (1, 5)
    assert found.several_targets.examples == [((0, 6), (0, 2))]


def test_there_are_only_so_many_examples() -> None:
    found = find([(0, "a", "x")] * 50 + [(0, str(number % 9), "y") for number in range(50)], most=3)
    assert found.duplicates[0].count == 90
    assert [place for (_, place), _ in found.duplicates[0].examples] == [2, 3, 4]
