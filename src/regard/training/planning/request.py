"""What the user asked of a run, and the plan that is made of it: settings, micro-batch and steps.

What is not asked for is chosen from the data and by measuring the machine, and the plan says why.
"""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from regard.errors import RunError
from regard.model_folder.folder import ModelFolder
from regard.settings.sections import Overrides, Settings, assemble
from regard.settings.sizes import FINE_TUNE, size_overrides
from regard.settings.train import TrainSettings
from regard.storage.manifest import sha256
from regard.training.planning import choices


@dataclass(frozen=True)
class TrainingRequest:
    """What the user chose, and what that leaves to us."""

    size: str | None
    budget: float | None
    steps: int | None
    user: Overrides
    parent: ModelFolder | None

    def check(self) -> None:
        """Mistakes come before any work; what would have no effect is refused."""
        if self.steps is not None and self.budget is not None:
            raise RunError("give --steps or --budget, not both: a budget is turned into steps")
        if (self.steps is not None or self.budget is not None) and "steps" in self.user.get("train", {}):
            raise RunError("give train.steps, or --steps, or --budget: one of them says how long to train")
        if "vocab_size" in self.user.get("model", {}):
            raise RunError("model.vocab_size follows from the tokenizer; set tokenizer.vocab_size instead")
        if self.parent is not None:
            if self.size is not None:
                raise RunError("a fine-tune keeps the size of the model it starts from; leave --size out")
            for part in ("model", "tokenizer"):
                if part in self.user:
                    raise RunError(f"a fine-tune keeps the {part} it starts from; leave {part}.* settings out")
        if self.train.tensorboard:
            check_tensorboard()
        choices.pick_device(self.train.device, self.train.precision)

    def request(self) -> dict[str, Any]:
        """What makes another command another run."""
        return {
            "size": self.size,
            "budget": self.budget,
            "steps": self.steps,
            "from": sha256(self.parent.path / "manifest.json") if self.parent else None,
            "settings": {f"{part}.{name}": value for part in self.user for name, value in self.user[part].items()},
        }

    @property
    def train(self) -> TrainSettings:
        """What does not depend on the size: seed, device, precision."""
        return assemble(size_overrides(self.size or "tiny"), self.user).train

    def settings(self, pairs: int, device: str) -> tuple[Settings, list[str]]:
        if self.parent is not None:
            reason = f"a fine-tune of {self.parent.path.name}, with its size and pieces"
            return replace(assemble(FINE_TUNE, self.user), model=self.parent.settings), [reason]
        size, reason = choices.choose_model_size(pairs, device)
        if self.size is not None:
            size, reason = self.size, f"size {self.size}, as asked"
        return assemble(size_overrides(size), self.user), [reason]


def check_tensorboard() -> None:
    """Whether TensorBoard is there, before any work."""
    if find_spec("tensorboard") is None:
        raise RunError("train.tensorboard needs TensorBoard: pip install 'regard[tensorboard]'")
