"""Training settings that several model sizes share, and the settings for fine-tuning."""

from typing import Any

from regard.settings.fields import AUTO

# Training settings that `tiny`, `small` and fine-tuning share. The paper has no settings for small models and short
# training on little data; these were chosen by experiment. The learning rate rises quickly and then falls to zero.
QUICK: dict[str, Any] = {
    "optimizer": "muon", "schedule": "linear", "warmup_steps": 400, "batch_tokens": 2_048, "micro_batch_tokens": 2_048,
    "max_grad_norm": 1.0,
    "epsilon": 1e-8, "weight_decay": AUTO,
}  # fmt: skip

# Fine-tuning starts from trained parameters, so the learning rate is lower and the warm-up shorter.
FINE_TUNE: dict[str, dict[str, Any]] = {
    "train": {
        **QUICK,
        "optimizer": "adam",
        "learning_rate": 5e-4,
        "warmup_steps": 100,
        "weight_decay": 0.0,
        "dropout": 0.2,
    }
}
