"""The settings of the recurrent models (RNN, GRU and LSTM), and their sizes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.anatomy import ADDITIVE, BILINEAR, DOT_PRODUCT, Anatomy, Attention, Side, Stack, Sublayer, Vector
from regard.settings.fields import check_at_least, setting
from regard.settings.model import ModelSettings
from regard.settings.recipes import QUICK

SCORINGS = {"dot": DOT_PRODUCT, "general": BILINEAR, "additive": ADDITIVE}


@dataclass(frozen=True, kw_only=True)
class RecurrentSettings(ModelSettings):
    """A recurrent encoder and decoder, with or without attention. The settings are saved with the parameters."""

    limits: ClassVar[dict[str, int]] = {**ModelSettings.limits, "encoder_layers": 64, "decoder_layers": 64}

    kind: Literal["lstm", "gru", "rnn"] = setting("lstm", "the architecture; the option --kind sets it")
    encoder_layers: int = setting(2, "layers of the encoder")
    decoder_layers: int = setting(2, "layers of the decoder")
    attention: Literal["none", "dot", "general", "additive"] = setting(
        "general",
        "how a decoder state scores a source position: their dot product, with a matrix between them (Luong et al. "
        "2015), by a small network (Bahdanau et al. 2015), or not at all",
    )
    input_feeding: bool = setting(
        True,
        "each decoder step also gets the attention output of the step before, or, without attention, the vector of "
        "the source",
    )
    bidirectional: bool = setting(True, "each encoder layer reads the source in both directions, with half the width")
    reverse_source: bool = setting(
        False, "the encoder reads the source only from its end to its beginning (Sutskever et al. 2014)"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("encoder_layers", "decoder_layers"):
            check_at_least(self, name, 1)
        if self.width % len(self.directions):
            raise SettingsError(
                f"model.width ({self.width}) must be even, because model.bidirectional divides it between two "
                "directions"
            )
        if self.source_vocab_size != self.target_vocab_size:
            raise SettingsError(
                f"model.source_vocab_size ({self.source_vocab_size}) and model.target_vocab_size "
                f"({self.target_vocab_size}) must be equal, because source and target share one embedding matrix"
            )

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions in which the encoder reads the source."""
        if self.reverse_source:
            return ("backwards",)
        return ("forwards", "backwards") if self.bidirectional else ("forwards",)

    def describe(self) -> str:
        attention = "no attention" if self.attention == "none" else f"{self.attention} attention"
        feeding = ", input feeding" if self.input_feeding else ""
        return (
            f"{self.kind.upper()}, {self.encoder_layers} + {self.decoder_layers} layers, width {self.width}, encoder "
            f"{' and '.join(self.directions)}, {attention}{feeding}, {self.source_vocab_size:,} rows of token "
            "embeddings."
        )

    def anatomy(self) -> Anatomy:
        encoder, decoder = self._encoder(), self._decoder()
        if self.attention == "none":
            return Anatomy((encoder, decoder), ())
        cross = Attention(
            address=self.cross,
            kind="decoder.cross",
            layer=self.decoder_layers,
            heads=1,
            head_width=self.width,
            queries="target",
            keys="source",
            causal=False,
            scoring=SCORINGS[self.attention],
            residual=False,
        )
        return Anatomy((encoder, decoder), (cross,))

    @property
    def cross(self) -> str:
        """The address of the attention, which follows the last layer of the decoder."""
        return f"decoder.{self.decoder_layers}.cross"

    def _encoder(self) -> Stack:
        width = self.width // len(self.directions)
        detail = f"{len(self.directions)} × {width}, {' and '.join(self.directions)}"
        return self._stack("encoder", "source", self.encoder_layers, detail)

    def _decoder(self) -> Stack:
        stack = self._stack("decoder", "target", self.decoder_layers, f"{self.width}, forwards")
        if self.attention == "none":
            return stack
        return Stack(
            stack.name,
            stack.side,
            stack.input,
            (*stack.sublayers, Sublayer("Cross-attention", f"after the last layer, scored by {self.attention}")),
            stack.outputs,
            (
                *stack.vectors,
                Vector(f"{self.cross}.output", "attention output: tanh of a projection of context and hidden state"),
            ),
        )

    def _stack(self, name: str, side: Side, layers: int, detail: str) -> Stack:
        outputs = (f"{name}.scaled", *(f"{name}.{layer}" for layer in range(1, layers + 1)))
        recurrence = Sublayer(self.kind.upper(), detail)
        return Stack(name, side, "embedding", (recurrence,), outputs, tuple(self._vectors(name, layers)))

    def _vectors(self, stack: str, layers: int) -> Iterator[Vector]:
        yield Vector(f"{stack}.embedding", "row {token} of the embedding matrix")
        yield Vector(f"{stack}.scaled", f"multiplied by the square root of the width, {self.width**0.5:.4f}")
        for layer in range(1, layers + 1):
            sum_ = " plus the input of the layer" if layer > 1 else ""
            yield Vector(f"{stack}.{layer}", f"hidden state{sum_}")


def _size(width: int, learning_rate: float, dropout: float, **model: Any) -> dict[str, dict[str, Any]]:
    train = {**QUICK, "learning_rate": learning_rate, "dropout": dropout}
    return {"model": {"width": width, **model}, "train": train}


# With the default attention of the kind and a vocabulary of 8,000 tokens, each size has as many parameters as the
# Transformer of the same size, within 2 %. The layers of a plain RNN are wider, because it has no gates. An RNN has no
# attention by default: it is the model before the gates and before attention.
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "lstm": {"tiny": _size(160, 4e-3, 0.3), "small": _size(400, 3e-3, 0.2)},
    "gru": {"tiny": _size(176, 4e-3, 0.3), "small": _size(448, 3e-3, 0.2)},
    "rnn": {"tiny": _size(224, 4e-3, 0.3, attention="none"), "small": _size(632, 3e-3, 0.2, attention="none")},
}
