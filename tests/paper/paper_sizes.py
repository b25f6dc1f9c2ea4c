"""The sizes of the paper, base and big, and the numbers of their parameters."""

from functools import cache
from typing import Any, cast

import torch

from regard.models.kinds.transformer import Transformer
from regard.settings.kinds.transformer import TransformerSettings
from regard.settings.sections import assemble
from regard.settings.sizes import size_overrides

PAPER_VOCAB_SIZE = 37_000
MILLION = 1e6
BASE, BIG = assemble(size_overrides("base")), assemble(size_overrides("big"))
BASE_MODEL, BIG_MODEL = cast(TransformerSettings, BASE.model), cast(TransformerSettings, BIG.model)


@cache
def parameter_count(**shape: Any) -> int:
    """Return the number of parameters of a model, without allocating memory for them."""
    with torch.device("meta"):
        model = Transformer(
            TransformerSettings(source_vocab_size=PAPER_VOCAB_SIZE, target_vocab_size=PAPER_VOCAB_SIZE, **shape)
        )
    return sum(parameter.numel() for parameter in model.parameters())


def shape_of(settings: TransformerSettings) -> dict[str, int]:
    return {name: getattr(settings, name) for name in ("width", "heads", "feedforward")}
