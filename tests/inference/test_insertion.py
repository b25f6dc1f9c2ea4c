"""A stand-in that the model has left out is put where the translation is most probable."""

from collections.abc import Sequence

import pytest

from regard.inference.insertion import insert_stand_in


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([-4.0, -3.0, -5.0, -9.0], "I X see you !"),
        ([-4.0, -3.9, -3.8, -3.7], "I see you X !"),
        ([-3.0, -3.0, -3.0, -3.0], "X I see you !"),
        ([-5.61, -7.0, -7.0, -7.0], None),  # over 100 times less probable than without: log(100) = 4.605
    ],
)
def test_the_most_probable_place_is_taken(after: list[float], expected: str | None) -> None:
    seen: list[str] = []

    def score(texts: Sequence[str]) -> list[float]:
        seen.extend(texts)
        return [-1.0, *after]

    assert insert_stand_in("I see you !", "X", score) == expected
    assert seen == ["I see you !", "X I see you !", "I X see you !", "I see X you !", "I see you X !"]
