"""What a page shows first follows the stated rule."""

import numpy as np
import pytest
from tests.interpret.recurrent_models import recurrent_model

from regard.interpret.look.opening import find_opening

TEXT = "the old cat sees a red tree, and it was tired."


def is_word(text: str) -> bool:
    return text not in ("<s>", "</s>") and any(map(str.isalnum, text))


def test_the_first_weight_stands_out_most_from_the_other_heads(model):
    view = model.look(TEXT, target="a red dog.")
    heads = [head for head in view.heads if head.startswith("encoder")]
    maps = [view.attention(head) for head in heads]
    found: dict[tuple[str, int], float] = {}
    for head, one in zip(heads, maps, strict=True):
        for i, row in enumerate(one.rows):
            for j, column in enumerate(one.columns):
                if abs(i - j) >= 3 and is_word(row.text) and is_word(column):
                    others = [other.values[i, j] for other in maps if other is not one]
                    found[head, i] = max(found.get((head, i), -1), one.values[i, j] - np.mean(others))
    opening = find_opening(view.trace)
    assert opening is not None and opening.rule == "weight"
    assert (opening.address, opening.row) == max(found, key=lambda place: found[place])


def test_the_head_with_the_largest_effect_comes_first_if_effects_are_known(model):
    view = model.look(TEXT, target="a red dog.")
    effects = view.head_effects()
    steps = [step.probability for step in view.steps()]
    source = [i for i, head in enumerate(effects.heads) if head.startswith("encoder")]
    largest = max(source, key=lambda i: np.abs(effects.probabilities_HT[i] - steps).max())
    opening = find_opening(view.trace, effects)
    assert opening and (opening.address, opening.rule) == (effects.heads[largest], "effect")
    removed = find_opening(view.trace, effects, "encoder.1.self.1")
    assert removed and removed.address == "encoder.1.self.1"


def test_a_short_text_takes_neighbours_and_a_text_without_words_the_last_head(model):
    opening = find_opening(model.look("old cat", target="a dog").trace)
    assert opening and opening.address.startswith("encoder") and opening.row in (0, 1) and not opening.rule
    view = model.look("...", target="!")
    opening = find_opening(view.trace)
    last = [head for head in view.heads if head.startswith("encoder")][-1]
    assert opening and (opening.address, opening.row, opening.rule) == (last, 0, "")


@pytest.mark.parametrize(("attention", "address"), [("general", "decoder.2.cross.1"), ("none", None)])
def test_other_kinds_of_models(attention, address):
    opening = find_opening(recurrent_model("lstm", attention).look("the old cat", target="a red dog").trace)
    assert (opening and opening.address) == address
