"""The settings of training."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.fields import AUTO, check_at_least, check_types, setting


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to learn. The defaults are the paper's base recipe (section 5)."""

    section: ClassVar[str] = "train"

    steps: int = setting(100_000, "optimizer steps")
    batch_tokens: int = setting(25_000, "target pieces per step, about")
    micro_batch_tokens: int = setting(4_096, "pieces held in memory at once, padding included; a step adds up several")
    optimizer: Literal["adam", "muon"] = setting(
        "adam", "the paper's, or Muon, which changes a matrix in all directions alike (training/muon.py)"
    )
    schedule: Literal["paper", "linear"] = setting(
        "paper", "the paper's formula, or a straight way up to the peak and down to zero"
    )
    learning_rate: float = setting(1.0, "factor on the paper's formula, or the peak of the linear one")
    warmup_steps: int = setting(4_000, "steps in which the learning rate rises")
    beta1: float = setting(0.9, "Adam's memory of the gradient")
    beta2: float = setting(0.98, "Adam's memory of its square")
    epsilon: float = setting(1e-9, "Adam's guard against division by zero")
    max_grad_norm: float = setting(0.0, "the largest gradient norm; 0 is no limit, as in the paper")
    label_smoothing: float = setting(0.1, "label smoothing")
    weight_decay: float = setting(
        0.0, "share of every matrix that goes at each step, times the learning rate; -1 chooses from the amount of text"
    )
    minimal_pair_weight: float = setting(
        0.0, "how much the piece counts in which two neighbouring lines part (docs/data.md); 0 looks for none"
    )
    dropout: float = setting(0.1, "share of numbers dropped, where section 5.4 says")
    validate_every: int = setting(0, "steps between validations and checkpoints; 0 chooses from the plan")
    average: int = setting(5, "checkpoints averaged at the end, where that is better on validation")
    patience: int = setting(0, "stop after so many validations without a better loss; 0 never stops early")
    precision: Literal["float32", "bfloat16"] = setting("float32", "bfloat16 computes in mixed precision (autocast)")
    device: Literal["auto", "cpu", "cuda", "mps"] = setting(
        "auto", "where to compute; auto takes a GPU if there is one"
    )
    tensorboard: bool = setting(False, "also write TensorBoard files (needs the extra regard[tensorboard])")
    seed: int = setting(1, "all randomness follows from it")

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
        object.__setattr__(self, "micro_batch_tokens", min(self.micro_batch_tokens, self.batch_tokens))
        if self.learning_rate <= 0:
            raise SettingsError(f"train.learning_rate must be above 0, got {self.learning_rate}")
