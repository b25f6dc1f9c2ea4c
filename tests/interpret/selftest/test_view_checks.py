"""Planted heads get the right roles and are shown correctly, and wrong labels are detected."""

from dataclasses import replace

import pytest
import torch
from tests.interpret.planted import planted_model

from regard.interpret.measure.head_roles import measure_roles
from regard.interpret.selftest.planted_model import PLANTED, planted_sample
from regard.interpret.selftest.view_checks import check_views, role_errors, view_errors
from regard.progress import run_to_end


@pytest.fixture(scope="module")
def planted():
    model = planted_model()
    return model, planted_sample(model.tokenizer)


def test_every_check_passes():
    random_state = torch.get_rng_state()
    checks = check_views()
    assert torch.equal(torch.get_rng_state(), random_state)
    assert [check for check in checks if not check.passed] == []
    assert len(checks) == 2 * len(PLANTED) + 1


def test_every_planted_word_is_one_token_and_neighbours_are_swapped(planted):
    model, sample = planted
    for item in sample.pairs[:5]:
        assert len(item.source_ids) == len(item.source_words) + 1 == 9
        assert model.translate(item.source).text == item.target


def test_one_wrong_role_gives_one_error(planted):
    profiles = run_to_end(measure_roles(*[planted[0].network, planted[1]]))
    assert role_errors(profiles, PLANTED) == []
    assert role_errors(profiles, {**PLANTED, "encoder.1.self.1": "next"}) == ["encoder.1.self.1 is previous, not next"]
    assert role_errors(profiles, {"decoder.1.cross.2": "align, written"}) == [
        "decoder.1.cross.2 is align, read, not align, written"
    ]


def test_every_view_reveals_a_swapped_label(planted):
    model, sample = planted
    trace = model.look(sample.pairs[0].source).trace
    errors = view_errors(replace(trace, read=trace.written, written=trace.read), "decoder.1.cross.1")
    assert {line.split(":")[0] for line in errors} == {"map", "terminal", "picture", "page"}
