"""Training pairs with placeholders: the same on both sides, and a function of the seed and the pair only."""

from regard.spans.training import mask_pair
from regard.tokenizers.placeholders import PLACEHOLDERS

EIGHT = PLACEHOLDERS[:8]


def placeholders(text: str) -> list[str]:
    return sorted(character for character in text if character in PLACEHOLDERS)


def test_spans_on_both_sides_become_placeholders_in_every_pair() -> None:
    for key in range(20):
        masked = mask_pair("Visit a.com/x or b.org/y.", "Visitez a.com/x ou b.org/y.", EIGHT, str(key))
        assert masked is not None
        source, target = masked
        assert len(placeholders(source)) == 2
        assert placeholders(source) == placeholders(target)
        assert source.index(placeholders(source)[0]) < len(source)
        assert "a.com" not in source + target


def test_names_and_additions_are_the_same_on_both_sides_and_only_in_some_pairs() -> None:
    for source, target in (("Tom is here.", "Tom est ici."), ("I am here.", "Je suis ici !")):
        masked = [mask_pair(source, target, EIGHT, str(key)) for key in range(200)]
        assert 10 < sum(pair is None for pair in masked) < 190
        for pair in masked:
            if pair is not None:
                assert placeholders(pair[0]) == placeholders(pair[1]) != []


def test_the_choice_depends_on_the_key_only() -> None:
    pairs = [mask_pair("Tom is here.", "Tom est ici.", EIGHT, str(key)) for key in range(50)]
    assert pairs == [mask_pair("Tom is here.", "Tom est ici.", EIGHT, str(key)) for key in range(50)]
    assert len({pair for pair in pairs if pair}) > 3
