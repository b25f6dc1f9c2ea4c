"""Section 3.5: positional encoding."""

import itertools
import math

import pytest
import torch
from tests.paper.paper_sizes import BASE_MODEL, BIG_MODEL, parameter_count
from tests.paper.small_model import (
    random_source,
    random_tokens,
    record_inputs,
    tiny,
)

from regard.models.inputs import Inputs
from regard.models.positions import Positions, sinusoids


def test_positions_are_sines_and_cosines():
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same."""
    table = sinusoids(60, 16)
    for position, i in itertools.product(range(60), range(8)):
        angle = position / 10_000 ** (2 * i / 16)
        assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
        assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_wavelengths_form_a_geometric_progression():
    """Section 3.5: from 2 pi to 10000 times 2 pi (which would be that of the pair after the last)."""
    pairs = sinusoids(2, 512)[1].double().view(256, 2)  # at position 1 the angle is the frequency
    wavelengths = 2 * math.pi / torch.atan2(pairs[:, 0], pairs[:, 1])
    assert wavelengths[0].item() == pytest.approx(2 * math.pi, rel=1e-6)
    ratios = wavelengths[1:] / wavelengths[:-1]
    torch.testing.assert_close(ratios, torch.full_like(ratios, 10_000 ** (1 / 256)), rtol=1e-3, atol=0)
    assert (wavelengths[-1] * 10_000 ** (1 / 256)).item() == pytest.approx(10_000 * 2 * math.pi, rel=1e-3)


@pytest.mark.parametrize("shift", [1, 2, 7, 31])
def test_a_shift_of_positions_is_a_linear_map(shift):
    """Section 3.5: for any fixed k, PE(pos + k) is a linear function of PE(pos)."""
    width, table = 32, sinusoids(100, 32).double()
    shifting = torch.zeros(width, width, dtype=torch.float64)
    for i in range(width // 2):
        angle = shift / 10_000 ** (2 * i / width)
        sine, cosine = math.sin(angle), math.cos(angle)
        pair = slice(2 * i, 2 * i + 2)
        shifting[pair, pair] = torch.tensor([[cosine, -sine], [sine, cosine]], dtype=torch.float64)
    torch.testing.assert_close(table[shift:], table[:-shift] @ shifting, atol=1e-6, rtol=0)


def test_sinusoids_extend_to_any_length():
    """Section 3.5: they may generalise to sequences longer than in training: a longer table only adds rows."""
    assert torch.equal(sinusoids(300, 16)[:100], sinusoids(100, 16))
    assert BASE_MODEL.positions == BIG_MODEL.positions == "sinusoid"


def test_both_stacks_add_positions_to_their_inputs_only():
    """Section 3.5: positions have d_model numbers and are added to the embeddings at the bottom of both stacks."""
    model = tiny(encoder_layers=3, decoder_layers=3)
    calls = record_inputs(model.positions, lambda: model(random_source(2, 4), random_tokens(2, 6)))
    assert calls == [0, 0]  # once for each stack, from position 0
    assert model.positions(0, 4).shape == (4, 16)


def test_positions_can_be_learned():
    """Section 3.5 and Table 3, row E: a table of learned vectors instead of the sinusoids."""
    assert parameter_count(positions="learned") - parameter_count() == 1024 * 512
    table = Positions("learned", 9, 4)
    assert [tuple(parameter.shape) for parameter in table.parameters()] == [(9, 4)]
    assert list(Positions("sinusoid", 9, 4).parameters()) == []


def test_without_positions_the_model_ignores_the_order_of_the_source():
    """Section 3.5: without recurrence and convolution, only the positions carry the order."""
    model, source, target_BT = tiny(), random_source(2, 6), random_tokens(2, 4)
    reordered = Inputs(source.values[:, [3, 0, 5, 1, 4, 2]])
    assert not torch.allclose(model(reordered, target_BT), model(source, target_BT), atol=1e-2)
    model.positions.weight.zero_()
    torch.testing.assert_close(model(reordered, target_BT), model(source, target_BT), atol=1e-5, rtol=0)
