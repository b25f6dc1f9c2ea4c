"""Small models with random parameters, sources and targets for them, and forward passes, for the tests of models.

Shapes: B sentences, N rows (B times the number of beams), S source length, T target length, V vocabulary.
"""

from typing import Any, cast

import torch
from tests.padded import inputs
from torch import Tensor

from regard.models.build import build_model
from regard.models.inputs import Inputs
from regard.models.interface import AutoregressiveModel
from regard.models.lens import Lens
from regard.settings.kinds.recurrent import RecurrentSettings
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.model import ModelSettings
from regard.tokenizers.special_ids import PAD

VOCAB_SIZE, B, S, T = 23, 3, 6, 7


def small_transformer(**changes: Any) -> TransformerSettings:
    shape = {"width": 16, "heads": 2, "feedforward": 32, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 16}
    return TransformerSettings(**{**shape, **changes}).with_vocab_size(VOCAB_SIZE)


def small_recurrent(**changes: Any) -> RecurrentSettings:
    shape = {"width": 16, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 16}
    return RecurrentSettings(**{**shape, **changes}).with_vocab_size(VOCAB_SIZE)


def random_model(settings: ModelSettings, dropout: float = 0.0) -> AutoregressiveModel:
    """Return a model with random parameters, also in its biases and norms."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(7)
        model = build_model(settings, dropout, seed=7)
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return cast(AutoregressiveModel, model.eval())


def tokens(sentences: int, length: int, seed: int = 3) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(PAD + 1, VOCAB_SIZE, (sentences, length), generator=random)


def full_source() -> Inputs:
    """Return three sentences of 6 tokens."""
    return inputs(tokens(B, S))


def padded_source() -> Inputs:
    """Return three sentences of 6, 4 and 1 tokens."""
    source_BS = tokens(B, S)
    source_BS[1, 4:] = PAD
    source_BS[2, 1:] = PAD
    return inputs(source_BS)


def select_rows(source: Inputs, rows: list[int]) -> Inputs:
    return Inputs(source.values[rows], None if source.mask_BS is None else source.mask_BS[rows])


def assert_same(found: Tensor, expected: Tensor, within: float = 1e-5) -> None:
    torch.testing.assert_close(found, expected, atol=within, rtol=0)
    assert torch.equal(found.argmax(dim=-1), expected.argmax(dim=-1))


def decode_all(model: AutoregressiveModel, state: Any, *chunks: Tensor, lens: Lens | None = None) -> tuple[Tensor, Any]:
    """Decode tokens chunk by chunk; return the logits after every token, and the final state."""
    logits = []
    for chunk_NT in chunks:
        hidden_NTD, state = model.decode(chunk_NT, state, lens)
        logits.append(model.project(hidden_NTD))
    return torch.cat(logits, dim=1), state


class RecordingLens:
    """A lens that records everything, in order."""

    def __init__(self) -> None:
        self.weights_seen: list[tuple[str, Tensor]] = []
        self.seen: list[tuple[str, Tensor]] = []

    def see(self, name: str, tensor: Tensor) -> None:
        self.seen.append((name, tensor))

    def weights(self, name: str, weights_BHLM: Tensor, first_row: int = 0) -> Tensor:
        before = [self.weights_seen.pop()[1]] if first_row else []
        self.weights_seen.append((name, torch.cat([*before, weights_BHLM], dim=2)))
        return weights_BHLM
