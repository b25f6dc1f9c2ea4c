"""The settings of the Transformer architecture."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.fields import check_at_least, check_types, setting


@dataclass(frozen=True, kw_only=True)
class TransformerSettings:
    """The architecture, saved with the parameters. The defaults are the paper's base model."""

    section: ClassVar[str] = "model"

    kind: Literal["transformer"] = setting("transformer", "the architecture")
    vocab_size: int = setting(0, "rows of the embedding matrix; set from the tokenizer")
    width: int = setting(512, "size of the vector of each position (d_model)")
    heads: int = setting(8, "attention heads of each layer; they divide the width among them")
    feedforward: int = setting(2048, "inner width of the feed-forward layers (d_ff)")
    encoder_layers: int = setting(6, "layers of the encoder")
    decoder_layers: int = setting(6, "layers of the decoder")
    norm: Literal["post", "pre"] = setting(
        "post", "layer normalisation after each residual sum, as in the paper, or before each sublayer"
    )
    positions: Literal["sinusoid", "learned"] = setting(
        "sinusoid", "positional encoding: sinusoids, or a learned table (Table 3, row E)"
    )
    max_positions: int = setting(1024, "maximum number of tokens of a source or target, EOS included")

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("width", "heads", "feedforward", "encoder_layers", "decoder_layers"):
            check_at_least(self, name, 1)
        # A single character may need four byte tokens, and special tokens are added.
        check_at_least(self, "max_positions", 8)
        for name, limit in _LIMITS.items():
            if getattr(self, name) > limit:
                raise SettingsError(f"model.{name} must be at most {limit:,}, got {getattr(self, name):,}")
        if self.width % self.heads:
            raise SettingsError(f"model.width ({self.width}) must be a multiple of model.heads ({self.heads})")
        if self.width % 2 and self.positions == "sinusoid":
            raise SettingsError(f"model.width ({self.width}) must be even: sinusoids come in pairs")


# Maximum values of settings. They are larger than in any real model, but small enough that a malicious settings file
# cannot use up the memory.
_LIMITS = {
    "vocab_size": 1 << 20, "width": 1 << 14, "feedforward": 1 << 17, "encoder_layers": 256, "decoder_layers": 256,
    "max_positions": 1 << 16,
}  # fmt: skip
