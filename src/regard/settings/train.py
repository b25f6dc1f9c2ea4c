"""The settings of training."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.fields import AUTO, check_at_least, check_types, setting


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to train. The defaults are the paper's base recipe (section 5)."""

    section: ClassVar[str] = "train"

    steps: int = setting(100_000, "optimizer steps")
    batch_tokens: int = setting(25_000, "target tokens per step, approximately")
    micro_batch_tokens: int = setting(
        4_096,
        "tokens per micro-batch, padding included; a step accumulates the gradients of several (gradient accumulation)",
    )
    optimizer: Literal["adam", "muon"] = setting(
        "adam", "Adam, as in the paper, or Muon for matrices and Adam for the rest (training/optimizers/muon.py)"
    )
    schedule: Literal["paper", "linear"] = setting(
        "paper", "the paper's formula, or linear warm-up to the peak and linear decay to zero"
    )
    learning_rate: float = setting(1.0, "factor on the paper's formula, or the peak of the linear schedule")
    warmup_steps: int = setting(4_000, "warm-up: steps in which the learning rate rises")
    beta1: float = setting(0.9, "Adam's decay rate of the mean gradient")
    beta2: float = setting(0.98, "Adam's decay rate of the mean squared gradient")
    epsilon: float = setting(1e-9, "Adam's epsilon, against division by zero")
    max_grad_norm: float = setting(
        0.0, "gradient clipping: maximum norm of the gradient; 0 does not clip, as in the paper"
    )
    label_smoothing: float = setting(0.1, "probability mass spread evenly over the vocabulary (section 5.4)")
    weight_decay: float = setting(
        0.0, "decoupled weight decay of matrices, as in AdamW; -1 chooses from the amount of text"
    )
    minimal_pair_weight: float = setting(
        0.0, "loss weight of the first differing target token in a minimal pair; 0 for no pairs (docs/how-to/data.md)"
    )
    dropout: float = setting(0.1, "dropout rate, at the places section 5.4 names")
    validate_every: int = setting(0, "steps between validations and checkpoints; 0 chooses from the number of steps")
    average: int = setting(5, "checkpoints averaged at the end, if that is better on the validation data")
    patience: int = setting(
        0, "early stopping: stop after this many validations without a better loss; 0 never stops early"
    )
    precision: Literal["float32", "bfloat16"] = setting("float32", "bfloat16 is mixed precision (autocast)")
    device: Literal["auto", "cpu", "cuda", "mps"] = setting("auto", "device; auto is a GPU if there is one")
    tensorboard: bool = setting(False, "also write TensorBoard files (needs the extra regard[tensorboard])")
    seed: int = setting(1, "seed of all randomness")

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("steps", "batch_tokens", "micro_batch_tokens", "average"):
            check_at_least(self, name, 1)
        for name in (
            "warmup_steps",
            "epsilon",
            "validate_every",
            "patience",
            "max_grad_norm",
            "minimal_pair_weight",
            "seed",
        ):
            check_at_least(self, name, 0)
        for name in ("label_smoothing", "dropout", "beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"train.{name} must be at least 0 and below 1, got {getattr(self, name)}")
        if self.weight_decay < 0 and self.weight_decay != AUTO:
            raise SettingsError(f"train.weight_decay must be at least 0, or {AUTO}, got {self.weight_decay}")
        # A user who lowers batch_tokens need not lower micro_batch_tokens too; `assemble` refuses the opposite case.
        object.__setattr__(self, "micro_batch_tokens", min(self.micro_batch_tokens, self.batch_tokens))
        if self.learning_rate <= 0:
            raise SettingsError(f"train.learning_rate must be above 0, got {self.learning_rate}")
