"""A line is divided into sentences, and each sentence of a line is in its translation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from regard.inference.masking.groups import find_groups
from regard.inference.sentences import split_sentences
from regard.inference.translator_loader import load_translator
from regard.settings.decode import DecodeSettings
from regard.spans.patterns import find_spans


@pytest.mark.parametrize(
    "sentences",
    [
        ["I see. ", "You see!  ", "Étienne sees?! ", "He sees…"],
        ['"Where are you?" ', "She asked. ", "(It was late.) ", "«\u00a0Oui.\u00a0» ", "« Non. »"],
        ["Mr. Smith and Dr. A. Jones live in the U.S. Army, e.g. Tom etc. and others."],
        ["It costs 3.5 euros. ", "See example.com. ", "In No. 5 it is 4 p.m. ", "We left."],
        ["Run `a. B. C` now. ", "<b>Stop it. Go now.</b> ", "Thanks."],
        ["no capital. letter here"],
        [""],
    ],
)
def test_sentences(sentences: list[str]) -> None:
    text = "".join(sentences)
    groups = find_groups(text, find_spans(text))
    assert [sentence + space for sentence, space in split_sentences(text, groups)] == sentences


def test_sentences_that_a_translation_lacks_are_translated_by_themselves(make_model: Callable[..., Path]) -> None:
    # The model has random parameters, and writes no stops. Its tokens are words of the text it was made with.
    text, sentences = "A cat {a} sees. The house.  See a red cat.", ["A cat {a} sees.", "The house.", "See a red cat."]
    decode = DecodeSettings(beam_size=2, n_best=2, max_length=9, log_probabilities=True)
    with load_translator(make_model()) as translator:
        whole = translator.translate(text, decode)
        one, two, three = translator.translate(sentences, decode)
        assert "." not in f"{one.text} {two.text} {three.text}"
        for found, *parts in (
            (whole, one, two, three),
            *zip(*(each.alternatives for each in (whole, one, two, three)), strict=True),
        ):
            assert found.text == f"{parts[0].text} {parts[1].text}  {parts[2].text}"
            assert found.tokens == (*parts[0].tokens, *parts[1].tokens, *parts[2].tokens)
            assert found.score == pytest.approx(sum(part.score or 0 for part in parts))
        assert [(span.text, text[slice(*span.source)], whole.text[slice(*span.target)]) for span in whole.spans] == [
            ("{a}", "{a}", "{a}")
        ]
        assert translator.translate([text, "A cat.", text], decode)[2] == whole
