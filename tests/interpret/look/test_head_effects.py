"""The effects of removing each head are those of the interventions of `look --without`."""

import numpy as np
from tests.interpret.recurrent_models import recurrent_model

from regard.interpret.look import inspection

TEXT, TARGET = "the old cat sees a tree.", "a red dog paints."


def test_effects_are_those_of_a_look_without_the_head(model):
    view = model.look(TEXT, target=TARGET)
    effects = view.head_effects()
    assert effects.heads == view.heads
    for i, head in enumerate(effects.heads):
        without = model.look(TEXT, target=TARGET, without=head)
        probabilities = without.trace["probability"]
        assert np.allclose(effects.probabilities_HT[i], [step.probability for step in without.steps()], atol=1e-6)
        assert np.array_equal(effects.best_HT[i], probabilities.argmax(axis=-1))
        assert np.allclose(effects.best_probabilities_HT[i], probabilities.max(axis=-1), atol=1e-6)


def test_an_inspection_without_a_head_has_the_original_and_its_effects(model):
    view = model.look(TEXT, target=TARGET)
    without = model.look(TEXT, target=TARGET, without=view.heads[0])
    assert np.array_equal(without.original.trace["logits"], view.trace["logits"])
    assert without.original.without is None and view.original is None
    assert np.array_equal(without.head_effects().probabilities_HT, view.head_effects().probabilities_HT)
    translated = model.look(TEXT, without=view.heads[0])
    assert translated.original.text == translated.full_model_text == model.look(TEXT).text


def test_effects_that_would_take_long_are_left_out(model, monkeypatch):
    view = model.look(TEXT, target=TARGET)
    assert view.has_head_effects
    monkeypatch.setattr(inspection, "MAX_WORK", 1.0)
    assert not view.has_head_effects and view.head_effects() is None
    assert recurrent_model("gru", "none").look(TEXT, target=TARGET).head_effects() is None
