"""Messages between processes lose nothing."""

import json

from regard.inference.result import PlacedSpan, Translation, TranslationWarning
from regard.server.wire import translation_from_dict


def test_a_translation_with_all_fields_is_the_same_afterwards():
    other = Translation("a", "c", None, None, ())
    translation = Translation(
        source="a",
        text="b \ud800 é",
        score=-0.1,
        log_probability=-0.30000000000000004,
        tokens=("b", "é"),
        log_probabilities=(-0.1, -0.2),
        word_probabilities=(None, -0.5),
        alternatives=(other,),
        alignment=((0, 1), (1, 0)),
        warnings=(TranslationWarning("repetition", "message", (0, 1), None),),
        spans=(PlacedSpan("url", "text", (0, 1), (2, 3), "model"),),
    )
    empty = Translation("", "", None, None, ())
    assert all(getattr(translation, name) != value for name, value in vars(empty).items())
    assert translation_from_dict(json.loads(json.dumps(translation.to_dict()))) == translation
