"""Duplicates found by hashes are the same as those found by comparing all pairs."""

from collections import Counter, defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.check.duplicates import DuplicateIndex, Duplicates

Pairs = list[tuple[int, str, str]]  # split, source, target


def find(pairs: Pairs, max_examples: int = 100) -> Duplicates:
    index = DuplicateIndex()
    try:
        for split in range(3):
            own = [(line, pair) for line, pair in enumerate(pairs, start=1) if pair[0] == split]
            lines = np.array([line for line, _ in own], np.int64)
            index.add(split, split, lines, [pair[1] for _, pair in own], [pair[2] for _, pair in own])
        return index.find(3, max_examples)
    finally:
        index.close()


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.sampled_from("wxyz"))))
def test_counts_equal_those_of_a_plain_comparison(pairs: Pairs) -> None:
    found = find(pairs)
    training: defaultdict[str, set[str]] = defaultdict(set)
    for split, source, target in pairs:
        if split == 0:
            training[source].add(target)
    assert found.several_targets.count == sum(len(targets) > 1 for targets in training.values())
    for split in range(3):
        own = [pair[1:] for pair in pairs if pair[0] == split]
        assert found.pairs[split].count == len(own) - len(Counter(own))
        if split:
            same_pair = [target in training[source] for source, target in own]
            same_source = [bool(training[source]) and target not in training[source] for source, target in own]
            assert found.pairs_in_training[split].count == sum(same_pair)
            assert found.sources_in_training[split].count == sum(same_source)


def test_examples_have_both_locations() -> None:
    found = find([(0, "a", "x"), (0, "b", "y"), (0, "a", "x"), (1, "b", "y"), (1, "b", "z"), (0, "b", "w")])
    assert found.pairs[0].examples == [((0, 3), (0, 1))]
    assert found.pairs_in_training[1].examples == [((1, 4), (0, 2))]
    assert found.sources_in_training[1].examples[0][0] == (1, 5)
    assert found.several_targets.examples == [((0, 6), (0, 2))]


def test_the_number_of_examples_is_limited() -> None:
    found = find([(0, "a", "x")] * 50 + [(0, str(number % 9), "y") for number in range(50)], max_examples=3)
    assert found.pairs[0].count == 90
    assert [line for (_, line), _ in found.pairs[0].examples] == [2, 3, 4]
