"""The settings that shape a Transformer."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.fields import check_at_least, check_types, setting


@dataclass(frozen=True, kw_only=True)
class TransformerSettings:
    """What shapes the weights. The defaults are the paper's base model."""

    section: ClassVar[str] = "model"

    kind: Literal["transformer"] = setting("transformer", "the architecture")
    vocab_size: int = setting(0, "rows of the embedding; set from the tokenizer")
    width: int = setting(512, "numbers per position (d_model)")
    heads: int = setting(8, "attention heads; they share the width")
    feedforward: int = setting(2048, "inner width of the feed-forward layers (d_ff)")
    encoder_layers: int = setting(6, "layers of the encoder")
    decoder_layers: int = setting(6, "layers of the decoder")
    norm: Literal["post", "pre"] = setting("post", "layer norm after each sum, as in the paper, or before each part")
    positions: Literal["sinusoid", "learned"] = setting("sinusoid", "sinusoids, or a learned table (Table 3, row E)")
    max_positions: int = setting(1024, "the most pieces of one text, its end mark included")

    def __post_init__(self) -> None:
        check_types(self)
        for name in ("width", "heads", "feedforward", "encoder_layers", "decoder_layers"):
            check_at_least(self, name, 1)
        check_at_least(self, "max_positions", 8)  # one character may take four bytes, with what surrounds it
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise SettingsError(f"model.{name} must be at most {most:,}, got {getattr(self, name):,}")
        if self.width % self.heads:
            raise SettingsError(f"model.width ({self.width}) must be a multiple of model.heads ({self.heads})")
        if self.width % 2 and self.positions == "sinusoid":
            raise SettingsError(f"model.width ({self.width}) must be even: sinusoids come in pairs")


# Beyond what anyone trains, and below what would fill a memory by being read.
_MOST = {
    "vocab_size": 1 << 20, "width": 1 << 14, "feedforward": 1 << 17, "encoder_layers": 256, "decoder_layers": 256,
    "max_positions": 1 << 16,
}  # fmt: skip
