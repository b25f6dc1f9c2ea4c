"""The user's request for a training run: its options are checked and turned into settings."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

from regard.errors import RunError, SettingsError
from regard.model_folder.folder import ModelFolder
from regard.settings.fields import Overrides
from regard.settings.kinds import DEFAULT_KIND
from regard.settings.recipes import FINE_TUNE
from regard.settings.sections import Settings, assemble, kind_of
from regard.settings.sizes import size_overrides
from regard.settings.train import TrainSettings
from regard.training.planning import choices


@dataclass(frozen=True)
class TrainingRequest:
    """The options that the user gave for a run; the plan chooses a value for each option that is None."""

    size: str | None
    budget: float | None  # in seconds
    steps: int | None
    overrides: Overrides  # individual settings from --set and --config
    parent: ModelFolder | None  # the model to fine-tune, if any

    def check(self) -> None:
        """Raise a `RunError` if options contradict each other or cannot be used on this machine."""
        if self.steps is not None and self.budget is not None:
            raise RunError("use either --steps or --budget, not both: a budget is converted to steps")
        if (self.steps is not None or self.budget is not None) and "steps" in self.overrides.get("train", {}):
            raise RunError("use only one of train.steps, --steps and --budget: each sets the length of the run")
        for name in ("source_vocab_size", "target_vocab_size"):
            if name in self.overrides.get("model", {}):
                raise RunError(f"model.{name} follows from the tokenizer; set tokenizer.vocab_size instead")
        if self.parent is not None:
            if self.size is not None:
                raise RunError("fine-tuning keeps the size of the parent model; leave out --size")
            for section in ("model", "tokenizer"):
                if section in self.overrides:
                    option = " and --kind" if section == "model" else ""
                    raise RunError(
                        f"fine-tuning keeps the {section} settings of the parent model; leave out {section}.* settings"
                        f"{option}"
                    )
        if self.train.tensorboard:
            check_tensorboard()
        choices.pick_device(self.train.device, self.train.precision)

    def to_dict(self) -> dict[str, Any]:
        """Return the options as they are saved in the plan; only a request with the same options resumes a run."""
        return {
            "size": self.size,
            "budget": self.budget,
            "steps": self.steps,
            "from": self.parent.weights_sha256 if self.parent else None,
            "settings": {
                f"{section}.{name}": value
                for section, values in self.overrides.items()
                for name, value in values.items()
                # The default kind is the same request whether or not the user names it.
                if (section, name, value) != ("model", "kind", DEFAULT_KIND)
            },
        }

    @property
    def kind(self) -> str:
        """The kind of the model to train."""
        return kind_of(self.overrides)

    @property
    def train(self) -> TrainSettings:
        """The training settings before the model size is chosen; settings that depend on the size may still change."""
        size = size_overrides(self.size, self.kind) if self.size is not None else {}
        return assemble(size, self.overrides).train

    def settings(self, pairs: int, device: str) -> tuple[Settings, list[str]]:
        """Return the settings for data with this many pairs, and a list with one text that explains the model size."""
        if self.parent is not None:
            reason = f"fine-tuned from {self.parent.path.name}, with its size and tokenizer"
            of_parent = {"decode": self.parent.decode.stored_with_model()}
            settings = assemble(FINE_TUNE, of_parent, self.overrides)
            return replace(settings, model=self.parent.settings), [reason]
        size, reason = choices.choose_model_size(pairs, device, self.kind)
        if self.size is not None:
            size, reason = self.size, f"size {self.size}, as requested"
        settings = assemble(size_overrides(size, self.kind), self.overrides)
        if settings.train.minimal_pair_weight:  # minimal pairs are not changed, so placeholders would not be trained
            if self.overrides.get("tokenizer", {}).get("placeholders"):
                raise SettingsError(
                    "tokenizer.placeholders cannot be trained together with train.minimal_pair_weight, because minimal "
                    "pairs get no placeholders; leave one of the two out"
                )
            settings = replace(settings, tokenizer=replace(settings.tokenizer, placeholders=0))
        return settings, [reason]


def check_tensorboard() -> None:
    """Raise a `RunError` if TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        raise RunError("train.tensorboard needs TensorBoard: pip install 'regard[tensorboard]'")
