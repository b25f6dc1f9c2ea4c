"""Numbers as readable text."""

from regard.render.units import format_count


def test_a_count_has_the_number_of_its_noun() -> None:
    assert [format_count(count, "pair") for count in (0, 1, 2_000)] == ["0 pairs", "1 pair", "2,000 pairs"]
    assert [format_count(count, "batch", "batches") for count in (1, 2)] == ["1 batch", "2 batches"]
