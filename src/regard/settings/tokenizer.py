"""The settings of a tokenizer."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.fields import check_types, setting

_MAX_PLACEHOLDERS = 26  # as many as have a character of their own (tokenizers/placeholders.py)


@dataclass(frozen=True, kw_only=True)
class TokenizerSettings:
    """How text is split into tokens. Both languages share one vocabulary (section 5.1)."""

    section: ClassVar[str] = "tokenizer"

    kind: Literal["unigram", "bpe"] = setting("unigram", "algorithm of SentencePiece")
    vocab_size: int = setting(0, "number of tokens in the vocabulary; 0 chooses from the amount of text")

    placeholders: int = setting(
        8,
        "number of tokens that stand for text to be copied, such as URLs; 0 for none (docs/how-to/data.md)",
    )

    def __post_init__(self) -> None:
        check_types(self)
        if self.vocab_size != 0 and self.vocab_size < 300:
            raise SettingsError(
                f"tokenizer.vocab_size must be 0 or at least 300 (256 tokens are bytes), got {self.vocab_size}"
            )
        if not 0 <= self.placeholders <= _MAX_PLACEHOLDERS or self.placeholders == 1:
            raise SettingsError(
                f"tokenizer.placeholders must be 0, or from 2 to {_MAX_PLACEHOLDERS}, got {self.placeholders}"
            )
