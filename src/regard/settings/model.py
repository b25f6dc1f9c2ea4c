"""The settings that every model has, whatever its kind."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from regard.settings.anatomy import Anatomy
from regard.settings.fields import check_at_least, check_limits, check_types, setting


@dataclass(frozen=True, kw_only=True)
class ModelSettings(ABC):
    """The architecture, saved with the parameters. Each kind of model has its own class of settings."""

    section: ClassVar[str] = "model"

    # Maximum values of settings. They are larger than in any real model, but small enough that a malicious settings
    # file cannot use up the memory.
    limits: ClassVar[dict[str, int]] = {
        "source_vocab_size": 1 << 20,
        "target_vocab_size": 1 << 20,
        "width": 1 << 14,
        "max_positions": 1 << 16,
    }

    kind: str = setting("", "the architecture; the option --kind sets it")
    source_vocab_size: int = setting(0, "rows of the source embedding matrix; set from the tokenizer")
    target_vocab_size: int = setting(0, "rows of the target embedding matrix; set from the tokenizer")
    width: int = setting(512, "size of the vector of each position (d_model)")
    max_positions: int = setting(1024, "maximum number of tokens of a source or target, EOS included")

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, "width", 1)
        # A single character may need four byte tokens, and special tokens are added.
        check_at_least(self, "max_positions", 8)
        check_limits(self)

    def with_vocab_size(self, rows: int) -> Self:
        """Return the settings of a model whose source and target use one vocabulary, with this many embedding rows."""
        return replace(self, source_vocab_size=rows, target_vocab_size=rows)

    @abstractmethod
    def describe(self) -> str:
        """Describe the architecture in one sentence, for the model card."""

    @abstractmethod
    def anatomy(self) -> Anatomy:
        """Return which stacks, layers and attentions the model has."""
