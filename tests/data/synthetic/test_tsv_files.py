"""Many pairs, made by several processes at once, are the same pairs in the same order every time."""

from itertools import islice

from regard.data.synthetic.generator import pairs
from regard.data.synthetic.tsv_files import BLOCK, lines, many


def test_blocks_are_streams_one_after_the_other() -> None:
    found = list(many(2 * BLOCK + 20, 3, "train"))
    first, second, third = (pairs(3 + (block << 64), "train") for block in range(3))
    expected = [*islice(first, BLOCK), *islice(second, BLOCK), *islice(third, 20)]
    assert found == [lines(pair) for pair in expected]
    assert len(set(found[:BLOCK]) & set(found[BLOCK : 2 * BLOCK])) < BLOCK / 10  # not the same again


def test_few_pairs_are_the_beginning_of_many_with_their_truth() -> None:
    assert list(many(30, 3, "train", truth=True)) == list(islice(many(BLOCK + 1, 3, "train", truth=True), 30))
