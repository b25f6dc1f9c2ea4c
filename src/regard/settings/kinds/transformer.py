"""The settings of the Transformer architecture, and its sizes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.anatomy import (
    ENCODER_OUTPUT,
    SCALED_DOT_PRODUCT,
    Anatomy,
    Attention,
    Side,
    Stack,
    Sublayer,
    Vector,
)
from regard.settings.fields import check_at_least, setting
from regard.settings.model import ModelSettings
from regard.settings.recipes import QUICK
from regard.settings.train import TrainSettings


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(ModelSettings):
    """The architecture, saved with the parameters. The defaults are the paper's base model."""

    limits: ClassVar[dict[str, int]] = {
        **ModelSettings.limits,
        "feedforward": 1 << 17,
        "encoder_layers": 256,
        "decoder_layers": 256,
    }

    kind: Literal["transformer"] = setting("transformer", "the architecture; the option --kind sets it")
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

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("heads", "feedforward", "encoder_layers", "decoder_layers"):
            check_at_least(self, name, 1)
        if self.width % self.heads:
            raise SettingsError(f"model.width ({self.width}) must be a multiple of model.heads ({self.heads})")
        if self.width % 2 and self.positions == "sinusoid":
            raise SettingsError(f"model.width ({self.width}) must be even: sinusoids come in pairs")
        if self.source_vocab_size != self.target_vocab_size:
            raise SettingsError(
                f"model.source_vocab_size ({self.source_vocab_size}) and model.target_vocab_size "
                f"({self.target_vocab_size}) must be equal, because source and target share one embedding matrix"
            )

    def describe(self) -> str:
        return (
            f"Transformer, {self.encoder_layers} + {self.decoder_layers} layers, width {self.width}, feed-forward "
            f"{self.feedforward}, {self.heads} heads, {self.norm}-norm, {self.positions} positions, "
            f"{self.source_vocab_size:,} rows of token embeddings."
        )

    def anatomy(self) -> Anatomy:
        stacks = (self._stack("encoder", self.encoder_layers), self._stack("decoder", self.decoder_layers))
        return Anatomy(stacks, tuple(self._attentions()), ("positions", "scaling"))

    def _attentions(self) -> Iterator[Attention]:
        for layer in range(1, self.encoder_layers + 1):
            yield self._attention("encoder", layer, "self", "source", "source", causal=False)
        for layer in range(1, self.decoder_layers + 1):
            yield self._attention("decoder", layer, "self", "target", "target", causal=True)
            yield self._attention("decoder", layer, "cross", "target", "source", causal=False)

    def _attention(
        self, stack: str, layer: int, sublayer: str, queries: Side, keys: Side, *, causal: bool
    ) -> Attention:
        return Attention(
            address=f"{stack}.{layer}.{sublayer}",
            kind=f"{stack}.{sublayer}",
            layer=layer,
            heads=self.heads,
            head_width=self.width // self.heads,
            queries=queries,
            keys=keys,
            causal=causal,
            scoring=SCALED_DOT_PRODUCT,
            norm=self.norm,
        )

    def _stack(self, name: str, layers: int) -> Stack:
        heads = f"{self.heads} heads of {self.width // self.heads}"
        attentions = [Sublayer("Self-attention", heads)]
        if name == "decoder":
            cross = Sublayer("Cross-attention", heads, receives=ENCODER_OUTPUT)
            attentions = [Sublayer("Masked self-attention", heads), cross]
        feedforward = Sublayer("Feed-forward", f"{self.width} → {self.feedforward} → {self.width}")
        return Stack(
            name=name,
            side="source" if name == "encoder" else "target",
            input="embedding + position",
            sublayers=(*attentions, feedforward),
            outputs=(f"{name}.sum", *(f"{name}.{layer}" for layer in range(1, layers + 1))),
            vectors=tuple(self._vectors(name, layers)),
        )

    def _vectors(self, stack: str, layers: int) -> Iterator[Vector]:
        yield Vector(f"{stack}.embedding", "row {token} of the embedding matrix")
        yield Vector(f"{stack}.scaled", f"multiplied by the square root of the width, {self.width**0.5:.4f}")
        yield Vector(f"{stack}.position", "positional encoding of position {position}")
        yield Vector(f"{stack}.sum", "embedding plus positional encoding")
        for layer in range(1, layers + 1):
            for sublayer, meaning in _SUBLAYER_OUTPUTS[stack].items():
                address = f"{stack}.{layer}.{sublayer}"
                if self.norm == "pre":
                    yield Vector(f"{address}.norm", "layer norm")
                yield Vector(f"{address}.output", meaning)
                added_to = "the vector before the layer norm" if self.norm == "pre" else "the input of the sublayer"
                yield Vector(f"{address}.residual", f"added to {added_to}")
                if self.norm == "post":
                    yield Vector(f"{address}.norm", "layer norm")
        final = f"final vector of the {stack}"
        yield Vector(f"{stack}.output", f"layer norm: {final}" if self.norm == "pre" else final)


_SUBLAYER_OUTPUTS = {
    "encoder": {"self": "output of self-attention", "feedforward": "output of the feed-forward network"},
    "decoder": {
        "self": "output of self-attention",
        "cross": "output of cross-attention",
        "feedforward": "output of the feed-forward network",
    },
}

_PAPER_TOKENIZER = {"kind": "bpe", "placeholders": 0}  # all other sizes learn to copy spans

SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "tiny": {
        "model": {
            "width": 128, "heads": 4, "feedforward": 256, "encoder_layers": 4, "decoder_layers": 4, "norm": "pre",
        },
        "train": {**QUICK, "learning_rate": 4e-3, "dropout": 0.3},
    },
    "small": {
        "model": {
            "width": 256, "heads": 4, "feedforward": 1024, "encoder_layers": 6, "decoder_layers": 3, "norm": "pre",
        },
        "train": {**QUICK, "learning_rate": 3e-3, "dropout": 0.2},
    },
    # The authors of the paper saved a checkpoint every ten minutes, which was about 1,500 steps on their machine for
    # the size `base`, and 600 for `big`.
    "base": {"train": {"steps": TrainSettings.steps, "validate_every": 1_500}, "tokenizer": _PAPER_TOKENIZER},
    "big": {
        "model": {"width": 1024, "heads": 16, "feedforward": 4096},
        "train": {"dropout": 0.3, "steps": 300_000, "average": 20, "validate_every": 600},
        "tokenizer": _PAPER_TOKENIZER,
    },
}  # fmt: skip
