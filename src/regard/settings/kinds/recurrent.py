"""The settings of the recurrent models (RNN, GRU and LSTM), and their sizes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from regard.errors import SettingsError
from regard.settings.anatomy import (
    ADDITIVE,
    BILINEAR,
    DOT_PRODUCT,
    ENCODER_OUTPUT,
    FINAL_STATES,
    TANH_WITH_INPUT,
    Anatomy,
    Attention,
    Recurrence,
    Side,
    Stack,
    StepVector,
    Sublayer,
    Vector,
)
from regard.settings.fields import check_at_least, setting
from regard.settings.model import ModelSettings
from regard.settings.recipes import QUICK

SCORINGS = {"dot": DOT_PRODUCT, "general": BILINEAR, "additive": ADDITIVE}

_BEFORE = StepVector("hidden_before", "hidden state before the step")

_CANDIDATE_PARTS = (
    StepVector("from_input", "input times its matrix, plus a bias"),
    StepVector("from_state", "hidden state before the step times its matrix, plus a bias"),
)

# What a layer computes in each step, in the notation of `StepVector`.
_STEPS = {
    "rnn": (_BEFORE, *_CANDIDATE_PARTS, StepVector("hidden", "new hidden state", "tanh({from_input} + {from_state})")),
    "gru": (
        _BEFORE,
        StepVector("reset_gate", "how much of the hidden state before the candidate sees"),
        StepVector("update_gate", "how much of the hidden state before is kept"),
        *_CANDIDATE_PARTS,
        StepVector(
            "candidate", "what may replace the hidden state", "tanh({from_input} + {reset_gate} × {from_state})"
        ),
        StepVector("hidden", "new hidden state", "(1 - {update_gate}) × {candidate} + {update_gate} × {hidden_before}"),
    ),
    "lstm": (
        _BEFORE,
        StepVector("cell_before", "cell before the step"),
        StepVector("input_gate", "how much of the candidate enters the cell"),
        StepVector("forget_gate", "how much of the cell before is kept"),
        StepVector("candidate", "what may enter the cell"),
        StepVector("output_gate", "how much of the cell becomes visible"),
        StepVector("cell", "new cell", "{forget_gate} × {cell_before} + {input_gate} × {candidate}"),
        StepVector("hidden", "new hidden state", "{output_gate} × tanh({cell})"),
    ),
}


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
        recurrences = tuple(self._recurrences())
        if self.attention == "none":
            return Anatomy((encoder, decoder), (), recurrences=recurrences)
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
            output=TANH_WITH_INPUT,
        )
        return Anatomy((encoder, decoder), (cross,), recurrences=recurrences)

    @property
    def cross(self) -> str:
        """The address of the attention, which follows the last layer of the decoder."""
        return f"decoder.{self.decoder_layers}.cross"

    def _encoder(self) -> Stack:
        width = self.width // len(self.directions)
        layer = Sublayer(
            self.kind.upper(),
            f"2 directions of {width}" if len(self.directions) > 1 else f"{self.directions[0]}, width {width}",
        )
        return Stack("encoder", "source", "embedding", (layer,), *self._vectors("encoder", self.encoder_layers))

    def _decoder(self) -> Stack:
        layer = Sublayer(self.kind.upper(), f"forwards, width {self.width}", receives=FINAL_STATES)
        outputs, vectors = self._vectors("decoder", self.decoder_layers)
        if self.attention == "none":
            return Stack("decoder", "target", "embedding", (layer,), outputs, vectors)
        attention = Sublayer("Cross-attention", f"{self.attention} scores", receives=ENCODER_OUTPUT)
        meaning = "attention output: tanh of a projection of head output and hidden state"
        vectors = (*vectors, Vector(f"{self.cross}.output", meaning))
        return Stack("decoder", "target", "embedding", (layer,), outputs, vectors, after=(attention,))

    def _recurrences(self) -> Iterator[Recurrence]:
        for layer in range(1, self.encoder_layers + 1):
            for way in self.directions:
                yield self._recurrence(f"encoder.{layer}.{way}", f"encoder.{layer}", "source", way == "backwards")
        for layer in range(1, self.decoder_layers + 1):
            yield self._recurrence(f"decoder.{layer}", f"decoder.{layer}", "target", backwards=False)

    def _recurrence(self, address: str, layer: str, side: Side, backwards: bool) -> Recurrence:
        steps = _STEPS[self.kind]
        return Recurrence(
            address=address,
            layer=layer,
            title=self.kind.upper(),
            side=side,
            width=self.width // len(self.directions) if side == "source" else self.width,
            backwards=backwards,
            steps=steps,
            gates=tuple(step.name for step in steps if step.name.endswith("_gate")),
            states=("cell", "hidden") if self.kind == "lstm" else ("hidden",),
        )

    def _vectors(self, stack: str, layers: int) -> tuple[tuple[str, ...], tuple[Vector, ...]]:
        """Return the addresses of the input and of the output of each layer, and the vectors of one position."""
        outputs = (f"{stack}.scaled", *(f"{stack}.{layer}" for layer in range(1, layers + 1)))
        hidden = [f"hidden state{' plus the input of the layer' * (layer > 1)}" for layer in range(1, layers + 1)]
        return outputs, (
            Vector(f"{stack}.embedding", "row {token} of the embedding matrix"),
            Vector(f"{stack}.scaled", f"multiplied by the square root of the width, {self.width**0.5:.4f}"),
            *(Vector(address, meaning) for address, meaning in zip(outputs[1:], hidden, strict=True)),
        )


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
