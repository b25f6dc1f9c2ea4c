"""Section 5.4: dropout and label smoothing."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from tests.padded import batch
from tests.paper.paper_sizes import BASE, BASE_MODEL, BIG
from tests.paper.small_model import AttentionLens, layer_norm, random_source, random_tokens, tiny
from torch import Tensor, nn

from regard.models.dropout import Dropout
from regard.models.kinds.transformer import Transformer
from regard.models.layers import DecoderLayer, EncoderLayer, KVCache
from regard.models.positions import sinusoids
from regard.settings.parser import user_overrides
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides
from regard.tokenizers.special_ids import BOS, EOS, PAD
from regard.training.loss import backward_in_chunks, summed_loss


@pytest.fixture
def dropped(monkeypatch) -> list[Tensor]:
    """The inputs of dropout, which drops nothing."""
    inputs: list[Tensor] = []

    def forward(self: Dropout, x: Tensor) -> Tensor:
        if self.training:
            inputs.append(x)
        return x

    monkeypatch.setattr(Dropout, "forward", forward)
    return inputs


@pytest.mark.parametrize(("size", "rate"), [(BASE, 0.1), (BIG, 0.3)], ids=["base", "big"])
def test_dropout_has_one_rate_everywhere(size, rate):
    """Section 5.4: 0.1 in the base model; Table 3: 0.3 in the big one (0.1 for English-French, section 6.1)."""
    assert size.train.dropout == rate
    with torch.device("meta"):
        model = Transformer(replace(size.model, source_vocab_size=8, target_vocab_size=8), size.train.dropout)
    assert {module.rate for module in model.modules() if isinstance(module, Dropout)} == {rate}
    assert not any(isinstance(module, nn.Dropout) for module in model.modules())
    assert assemble(size_overrides("big"), user_overrides(["train.dropout=0.1"])).train.dropout == 0.1


def test_dropout_is_applied_to_sublayers_and_embeddings_and_nowhere_else(dropped):
    """Section 5.4: to the output of each sublayer, and to the sums of embeddings and positions in both stacks."""
    shape = replace(BASE_MODEL.with_vocab_size(24), width=16, feedforward=32)
    model = Transformer(shape, BASE.train.dropout).train()
    source, target_BT = random_source(2, 3), random_tokens(2, 5)
    trained = model(source, target_BT)
    assert len(dropped) == 2 + 6 * 2 + 6 * 3
    encoder, decoder = dropped[: 1 + 6 * 2], dropped[1 + 6 * 2 :]
    assert {tuple(x.shape) for x in encoder} == {(2, 3, 16)}
    assert {tuple(x.shape) for x in decoder} == {(2, 5, 16)}
    for stack, tokens in ((encoder, source.values), (decoder, target_BT)):
        summed = model.embedding.weight[tokens] * math.sqrt(16) + sinusoids(tokens.size(1), 16)
        torch.testing.assert_close(stack[0], summed)
    # Without dropout, training mode and evaluation mode give the same logits.
    assert torch.equal(model.eval()(source, target_BT), trained)


def test_dropout_precedes_the_residual_sum_and_the_norm(monkeypatch):
    """Section 5.4: dropout is applied to the output of a sublayer before it is added and normalised."""
    monkeypatch.setattr(Dropout, "forward", lambda self, x: torch.zeros_like(x))
    x = torch.randn(2, 5, 16)
    encoder = EncoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.1)
    expected = layer_norm(layer_norm(x, encoder.self_norm), encoder.feedforward_norm)
    torch.testing.assert_close(encoder(x, None, "", None), expected, atol=1e-5, rtol=0)
    decoder = DecoderLayer(width=16, heads=2, feedforward=32, norm="post", dropout=0.1)
    output, _ = decoder(x, KVCache(*decoder.cross.keys_and_values(x)), None, "", None)
    torch.testing.assert_close(output, layer_norm(expected, decoder.feedforward_norm), atol=1e-5, rtol=0)


def test_there_is_no_dropout_of_attention_weights():
    """Section 5.4 names three places for dropout; attention weights are not among them."""
    model, lens = tiny(dropout=0.5).train(), AttentionLens()
    model(random_source(2, 5), random_tokens(2, 7), lens)
    assert len(lens.recorded) == 6
    for name, weights in lens.recorded.items():
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
        allowed = torch.ones(weights.shape[-2:]).tril() if name.startswith("decoder") and "self" in name else 1.0
        assert torch.equal(weights > 0, (torch.ones_like(weights) * allowed).bool())


def test_label_smoothing_is_one_tenth():
    """Section 5.4: the target is 0.9 on the correct token, and 0.1 spread evenly over the vocabulary."""
    assert (BASE.train.label_smoothing, BIG.train.label_smoothing) == (0.1, 0.1)
    logits, targets = 2 * torch.randn(7, 11), torch.randint(0, 11, (7,))
    smoothed = torch.full((7, 11), 0.1 / 11)
    smoothed[torch.arange(7), targets] += 0.9
    by_definition = -(smoothed * logits.log_softmax(dim=-1)).sum()
    torchs = F.cross_entropy(logits, targets, label_smoothing=0.1, reduction="sum")
    loss, _ = summed_loss(logits.clone(), targets, BASE.train.label_smoothing)
    torch.testing.assert_close(loss, by_definition)
    torch.testing.assert_close(loss, torchs)


def test_training_minimises_the_smoothed_loss_of_every_real_token():
    """Section 5.4: the training loss is the smoothed loss without padding."""
    model, source = tiny(), random_source(2, 5)
    target_BT = torch.tensor([[7, 8, 9, EOS], [7, EOS, PAD, PAD]])
    total = backward_in_chunks(model, batch(source.values, target_BT), label_smoothing=0.1, tokens=6)
    logits = model(source, torch.tensor([[BOS, 7, 8, 9], [BOS, 7, PAD, PAD]]))
    expected = F.cross_entropy(
        logits.flatten(0, 1), target_BT.flatten(), label_smoothing=0.1, ignore_index=PAD, reduction="sum"
    )
    assert total == pytest.approx(expected.item(), rel=1e-5)
    gradients = torch.autograd.grad(expected / 6, list(model.parameters()))
    accumulated = [parameter.grad for parameter in model.parameters()]
    torch.testing.assert_close(accumulated, list(gradients), atol=1e-6, rtol=1e-4)
