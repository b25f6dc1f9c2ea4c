"""Section 6.2: model variations (Table 3)."""

import pytest
import torch
import torch.nn.functional as F
from tests.padded import batch
from tests.paper.paper_sizes import BASE, BIG, MILLION, parameter_count, shape_of
from tests.paper.small_model import random_source, random_tokens, tiny

from regard.settings.parser import user_overrides
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides
from regard.tokenizers.special_ids import BOS
from regard.training.step import accumulate_gradients


@pytest.mark.parametrize(("size", "count", "papers"), [(BASE, 63.1, 65), (BIG, 214.2, 213)], ids=["base", "big"])
def test_the_sizes_have_the_papers_number_of_parameters(size, count, papers):
    """Table 3: 65 million in the base model, 213 million in the big one; its vocabulary is approximate."""
    millions = parameter_count(**shape_of(size.model)) / MILLION
    assert round(millions, 1) == count
    assert millions == pytest.approx(papers, rel=0.035)


@pytest.mark.parametrize(
    ("shape", "papers"),
    [
        ({"heads": 1}, 65),
        ({"heads": 4}, 65),
        ({"heads": 16}, 65),
        ({"heads": 32}, 65),
        ({"encoder_layers": 2, "decoder_layers": 2}, 36),
        ({"encoder_layers": 4, "decoder_layers": 4}, 50),
        ({"encoder_layers": 8, "decoder_layers": 8}, 80),
        ({"feedforward": 1024}, 53),
        ({"feedforward": 4096}, 90),
        ({"positions": "learned"}, 65),
    ],
    ids=lambda value: " ".join(f"{name} {number}" for name, number in value.items()) if isinstance(value, dict) else "",
)
def test_a_variation_adds_the_papers_number_of_parameters(shape, papers):
    """Table 3, rows A, C and E: the difference to the base model; the paper rounds both to millions."""
    assert (parameter_count(**shape) - parameter_count()) / MILLION == pytest.approx(papers - 65, abs=1)


@pytest.mark.parametrize(("width", "papers"), [(256, 28), (1024, 168)])
def test_narrower_and_wider_models_have_about_the_papers_number_of_parameters(width, papers):
    """Table 3, row C: with eight heads of width 32 or 128."""
    assert parameter_count(width=width) / MILLION == pytest.approx(papers, rel=0.045)


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_dropout_can_be_varied(rate):
    """Table 3, row D: another rate of dropout, or none."""
    train = assemble(size_overrides("base"), user_overrides([f"train.dropout={rate}"])).train
    dropped = tiny(dropout=train.dropout).train().dropout(torch.ones(100_000))
    assert (dropped == 0).double().mean().item() == pytest.approx(rate, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_label_smoothing_can_be_varied(rate):
    """Table 3, row D: another rate of label smoothing, or none."""
    train = assemble(size_overrides("base"), user_overrides([f"train.label_smoothing={rate}"])).train
    model, source, target_BT = tiny(), random_source(2, 5), random_tokens(2, 4)
    loss, tokens = accumulate_gradients([model], [batch(source.values, target_BT)], train, 0)
    logits = model(source, torch.cat([torch.full((2, 1), BOS), target_BT[:, :-1]], dim=1))
    log_probabilities = logits.log_softmax(dim=-1)
    smoothed = torch.full_like(logits, rate / logits.size(-1))
    smoothed += (1 - rate) * F.one_hot(target_BT, logits.size(-1))
    assert loss == pytest.approx(-(smoothed * log_probabilities).sum().item(), rel=1e-5)
    assert tokens == 8
