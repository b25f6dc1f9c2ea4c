"""The settings of a tokenizer."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.fields import check_types, setting


@dataclass(frozen=True, kw_only=True)
class TokenizerSettings:
    """How text becomes pieces. One vocabulary serves both languages (section 5.1)."""

    section: ClassVar[str] = "tokenizer"

    kind: Literal["unigram", "bpe"] = setting("unigram", "how pieces are found")
    vocab_size: int = setting(0, "size of the vocabulary; 0 chooses from the amount of text")

    def __post_init__(self) -> None:
        check_types(self)
        if self.vocab_size != 0 and self.vocab_size < 300:
            raise SettingsError(
                f"tokenizer.vocab_size must be 0 or at least 300 (256 are bytes), got {self.vocab_size}"
            )
