"""The settings of the model sizes `tiny`, `small`, `base` and `big`, and the settings for fine-tuning."""

from typing import Any

from regard.errors import SettingsError
from regard.settings.fields import AUTO, nearest
from regard.settings.sections import Overrides

# Training settings that `tiny`, `small` and fine-tuning share. The paper has no settings for small models and short
# training on little data; these were chosen by experiment. The learning rate rises quickly and then falls to zero.
_QUICK = {
    "optimizer": "muon", "schedule": "linear", "warmup_steps": 400, "batch_tokens": 2_048, "micro_batch_tokens": 2_048,
    "max_grad_norm": 1.0,
    "epsilon": 1e-8, "weight_decay": AUTO,
}  # fmt: skip

_PAPER_TOKENIZER = {"kind": "bpe"}

# Fine-tuning starts from trained parameters, so the learning rate is lower and the warm-up shorter.
FINE_TUNE: dict[str, dict[str, Any]] = {
    "train": {
        **_QUICK,
        "optimizer": "adam",
        "learning_rate": 5e-4,
        "warmup_steps": 100,
        "weight_decay": 0.0,
        "dropout": 0.2,
    }
}

SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "tiny": {
        "model": {
            "width": 128, "heads": 4, "feedforward": 256, "encoder_layers": 4, "decoder_layers": 4, "norm": "pre",
        },
        "train": {**_QUICK, "learning_rate": 4e-3, "dropout": 0.3},
    },
    "small": {
        "model": {
            "width": 256, "heads": 4, "feedforward": 1024, "encoder_layers": 6, "decoder_layers": 3, "norm": "pre",
        },
        "train": {**_QUICK, "learning_rate": 3e-3, "dropout": 0.2},
    },
    # The authors of the paper saved a checkpoint every ten minutes, which was about 1,500 steps on their machine for
    # the size `base`, and 600 for `big`.
    "base": {"train": {"validate_every": 1_500}, "tokenizer": _PAPER_TOKENIZER},
    "big": {
        "model": {"width": 1024, "heads": 16, "feedforward": 4096},
        "train": {"dropout": 0.3, "steps": 300_000, "average": 20, "validate_every": 600},
        "tokenizer": _PAPER_TOKENIZER,
    },
}  # fmt: skip


def size_overrides(size: str) -> Overrides:
    """Return the settings that a model size changes."""
    if size not in SIZES:
        raise SettingsError(f"unknown size {size!r}; the sizes are {', '.join(SIZES)}{nearest(size, SIZES)}")
    return SIZES[size]
