"""Every setting, its default and its meaning, written once. Help, docs and checks are made from these fields.

Four kinds: what shapes the weights (`ModelSettings`, saved with them), how text becomes pieces (`TokenizerSettings`),
how to learn (`TrainSettings`), and how to write (`DecodeSettings`, chosen per call). Standard library only, because
`--help` reads this file.
"""

import dataclasses
import difflib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from regard.errors import SettingsError

CHOOSE = -1  # where 0 has a meaning of its own
_MOST_ALPHA = 10  # far beyond any use, and far from what overflows


def _setting(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """What shapes the weights. The defaults are the paper's base model."""

    kind: Literal["transformer"] = _setting("transformer", "the architecture")
    vocabulary: int = _setting(0, "rows of the embedding; set from the tokenizer")
    width: int = _setting(512, "numbers per position (d_model)")
    heads: int = _setting(8, "attention heads; they share the width")
    feedforward: int = _setting(2048, "inner width of the feed-forward layers (d_ff)")
    encoder_layers: int = _setting(6, "layers of the encoder")
    decoder_layers: int = _setting(6, "layers of the decoder")
    norm: Literal["post", "pre"] = _setting("post", "layer norm after each sum, as in the paper, or before each part")
    positions: Literal["sinusoid", "learned"] = _setting("sinusoid", "sinusoids, or a learned table (Table 3, row E)")
    longest: int = _setting(1024, "the most pieces of one text, its end mark included")

    def __post_init__(self) -> None:
        _check_types(self)
        for name in ("width", "heads", "feedforward", "encoder_layers", "decoder_layers"):
            _at_least(self, name, 1)
        _at_least(self, "longest", 8)  # one character may take four bytes, with what surrounds it
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise SettingsError(f"model.{name} must be at most {most:,}, got {getattr(self, name):,}")
        if self.width % self.heads:
            raise SettingsError(f"model.width ({self.width}) must be a multiple of model.heads ({self.heads})")
        if self.width % 2 and self.positions == "sinusoid":
            raise SettingsError(f"model.width ({self.width}) must be even: sinusoids come in pairs")


# Beyond what anyone trains, and below what would fill a memory by being read.
_MOST = {
    "vocabulary": 1 << 20, "width": 1 << 14, "feedforward": 1 << 17, "encoder_layers": 256, "decoder_layers": 256,
    "longest": 1 << 16,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TokenizerSettings:
    """How text becomes pieces. One vocabulary serves both languages (section 5.1)."""

    kind: Literal["unigram", "bpe"] = _setting("unigram", "how pieces are found")
    pieces: int = _setting(0, "size of the vocabulary; 0 chooses from the amount of text")

    def __post_init__(self) -> None:
        _check_types(self)
        if self.pieces != 0 and self.pieces < 300:
            raise SettingsError(f"tokenizer.pieces must be 0 or at least 300 (256 are bytes), got {self.pieces}")


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How to learn. The defaults are the paper's base recipe (section 5)."""

    steps: int = _setting(100_000, "optimizer steps")
    batch_tokens: int = _setting(25_000, "target pieces per step, about")
    micro_tokens: int = _setting(4_096, "pieces held in memory at once, padding included; a step adds up several")
    optimizer: Literal["adam", "muon"] = _setting(
        "adam", "the paper's, or Muon, which changes a matrix in all directions alike (training/muon.py)"
    )
    schedule: Literal["paper", "linear"] = _setting(
        "paper", "the paper's formula, or a straight way up to the peak and down to zero"
    )
    learning_rate: float = _setting(1.0, "factor on the paper's formula, or the peak of the linear one")
    warmup: int = _setting(4_000, "steps in which the learning rate rises")
    beta1: float = _setting(0.9, "Adam's memory of the gradient")
    beta2: float = _setting(0.98, "Adam's memory of its square")
    epsilon: float = _setting(1e-9, "Adam's guard against division by zero")
    clip: float = _setting(0.0, "the largest gradient norm; 0 is no limit, as in the paper")
    smoothing: float = _setting(0.1, "label smoothing")
    weight_decay: float = _setting(
        0.0, "share of every matrix that goes at each step, times the learning rate; -1 chooses from the amount of text"
    )
    contrast: float = _setting(
        0.0, "how much the piece counts in which two neighbouring lines part (docs/data.md); 0 looks for none"
    )
    dropout: float = _setting(0.1, "share of numbers dropped, where section 5.4 says")
    validate_every: int = _setting(0, "steps between validations and checkpoints; 0 chooses from the plan")
    average: int = _setting(5, "checkpoints averaged at the end, where that is better on validation")
    patience: int = _setting(0, "stop after so many validations without a better loss; 0 never stops early")
    precision: Literal["float32", "bfloat16"] = _setting("float32", "bfloat16 computes in mixed precision (autocast)")
    device: Literal["auto", "cpu", "cuda", "mps"] = _setting(
        "auto", "where to compute; auto takes a GPU if there is one"
    )
    tensorboard: bool = _setting(False, "also write TensorBoard files (needs the extra regard[tensorboard])")
    seed: int = _setting(1, "all randomness follows from it")

    def __post_init__(self) -> None:
        _check_types(self)
        for name in ("steps", "batch_tokens", "micro_tokens", "average"):
            _at_least(self, name, 1)
        for name in ("warmup", "epsilon", "validate_every", "patience", "clip", "contrast", "seed"):
            _at_least(self, name, 0)
        for name in ("smoothing", "dropout", "beta1", "beta2"):
            if not 0 <= getattr(self, name) < 1:
                raise SettingsError(f"train.{name} must be at least 0 and below 1, got {getattr(self, name)}")
        if self.weight_decay < 0 and self.weight_decay != CHOOSE:
            raise SettingsError(f"train.weight_decay must be at least 0, or {CHOOSE}, got {self.weight_decay}")
        object.__setattr__(self, "micro_tokens", min(self.micro_tokens, self.batch_tokens))
        if self.learning_rate <= 0:
            raise SettingsError(f"train.learning_rate must be above 0, got {self.learning_rate}")


@dataclass(frozen=True, kw_only=True)
class DecodeSettings:
    """How to write (section 6.1). Chosen per call; never stored in a model."""

    beams: int = _setting(4, "hypotheses kept at each step; 1 is greedy")
    alpha: float = _setting(0.6, "strength of the length penalty ((5 + n) / 6)^alpha")
    extra: int = _setting(50, "how many pieces longer than its source a translation may grow")
    best: int = _setting(1, "how many translations to return, best first; at most beams, unless they are drawn")
    shortest: int = _setting(0, "pieces a translation has at least")
    longest: int = _setting(0, "pieces a translation has at most; 0 leaves that to extra and to the model")
    no_repeat: int = _setting(0, "no run of so many pieces comes twice in a translation; 0 lets them come")
    prefix: str = _setting("", "what a translation begins with")
    temperature: float = _setting(
        0.0, "0 searches for the best; else pieces are drawn at random: as probable as they are at 1, sharper below"
    )
    top_k: int = _setting(0, "draw among so many of the likeliest pieces; 0 is among all")
    top_p: float = _setting(1.0, "draw among the likeliest pieces that together have this probability")
    seed: int = _setting(1, "what is drawn follows from it and from the text")
    scores: bool = _setting(True, "also return how probable each text is; without, greedy search is a little quicker")
    log_probabilities: bool = _setting(False, "also return the log-probability of each piece")
    links: bool = _setting(
        False, "also return which source word each word comes from, where the head that aligns is known"
    )

    def __post_init__(self) -> None:
        _check_types(self)
        for name in ("beams", "extra", "best"):
            _at_least(self, name, 1)
        for name in ("shortest", "longest", "no_repeat", "temperature", "top_k", "seed"):
            _at_least(self, name, 0)
        if abs(self.alpha) > _MOST_ALPHA:
            raise SettingsError(f"decode.alpha must be between -{_MOST_ALPHA} and {_MOST_ALPHA}, got {self.alpha}")
        if self.best > self.beams and not self.temperature:
            raise SettingsError(
                f"decode.best ({self.best}) cannot exceed decode.beams ({self.beams}); "
                f"add --set decode.beams={self.best}"
            )
        if 0 < self.longest < self.shortest:
            raise SettingsError(f"decode.shortest ({self.shortest}) cannot exceed decode.longest ({self.longest})")
        if not 0 < self.top_p <= 1:
            raise SettingsError(f"decode.top_p must be above 0 and at most 1, got {self.top_p}")
        if (self.top_k or self.top_p < 1) and not self.temperature:
            raise SettingsError(
                "decode.top_k and decode.top_p say among which pieces to draw, and nothing is drawn; "
                "add --set decode.temperature=1"
            )
        if "\n" in self.prefix:
            raise SettingsError("decode.prefix must be one line, because texts are translated line by line")

    def beside_text(self) -> list[str]:
        """The settings that ask for more than a text of each source."""
        asked = {"best": self.best > 1, "log_probabilities": self.log_probabilities, "links": self.links}
        return [f"decode.{name}" for name, wanted in asked.items() if wanted]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All sections together."""

    model: ModelSettings = field(default_factory=ModelSettings)
    tokenizer: TokenizerSettings = field(default_factory=TokenizerSettings)
    train: TrainSettings = field(default_factory=TrainSettings)
    decode: DecodeSettings = field(default_factory=DecodeSettings)


# The paper leaves the small end open: short training on little data wants pre-norm, a higher learning rate,
# more dropout, matrices that stay small, and a rate that falls to zero within the time given.
_QUICK = {
    "optimizer": "muon", "schedule": "linear", "warmup": 400, "batch_tokens": 2_048, "micro_tokens": 2_048, "clip": 1.0,
    "epsilon": 1e-8, "weight_decay": CHOOSE,
}  # fmt: skip
_PAPER_TOKENIZER = {"kind": "bpe"}

# A fine-tune starts from weights that are already good: smaller steps, fewer of them.
FINE_TUNE: dict[str, dict[str, Any]] = {
    "train": {**_QUICK, "optimizer": "adam", "learning_rate": 5e-4, "warmup": 100, "weight_decay": 0.0, "dropout": 0.2}
}

SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "tiny": {
        "model": {
            "width": 128, "heads": 4, "feedforward": 256, "encoder_layers": 4, "decoder_layers": 4, "norm": "pre",
        },
        "train": {**_QUICK, "learning_rate": 4e-3, "dropout": 0.3},
    },
    "small": {
        "model": {
            "width": 256, "heads": 4, "feedforward": 1024, "encoder_layers": 6, "decoder_layers": 3, "norm": "pre",
        },
        "train": {**_QUICK, "learning_rate": 3e-3, "dropout": 0.2},
    },
    # The paper wrote a checkpoint every ten minutes: so many of its steps.
    "base": {"train": {"validate_every": 1_500}, "tokenizer": _PAPER_TOKENIZER},
    "big": {
        "model": {"width": 1024, "heads": 16, "feedforward": 4096},
        "train": {"dropout": 0.3, "steps": 300_000, "average": 20, "validate_every": 600},
        "tokenizer": _PAPER_TOKENIZER,
    },
}  # fmt: skip


Layer = Mapping[str, Mapping[str, Any]]


def size_layer(size: str) -> Layer:
    """What a size sets."""
    if size not in SIZES:
        raise SettingsError(f"unknown size {size!r}; the sizes are {', '.join(SIZES)}{_nearest(size, SIZES)}")
    return SIZES[size]


def user_layer(overrides: Sequence[str] = (), file: Path | None = None) -> Layer:
    """What the user sets: a TOML file, and `section.name=value` overrides on top of it."""
    merged: dict[str, dict[str, Any]] = {name: {} for name in _SECTIONS}
    for layer in (_read_toml(file) if file else {}, _parse(overrides)):
        for section, values in layer.items():
            merged[section].update(values)
    return {section: values for section, values in merged.items() if values}


def assemble(*layers: Layer) -> Settings:
    """The defaults, then each layer over those before it."""
    merged: dict[str, dict[str, Any]] = {name: {} for name in _SECTIONS}
    for layer in layers:
        for section, values in layer.items():
            merged[section].update(values)
    return Settings(**{name: from_dict(_SECTIONS[name], merged[name]) for name in _SECTIONS})


def decode_settings(overrides: Sequence[str]) -> DecodeSettings:
    """How to write, as `--set` says. What is about a model, or about learning, would have no effect, and is refused."""
    user = user_layer(overrides)
    for section, values in user.items():
        if section != "decode":
            name = next(iter(values))
            names = [field.name for field in dataclasses.fields(DecodeSettings)]
            raise SettingsError(f"{section}.{name} has no effect here{_nearest(name, names, 'decode.')}")
    return assemble(user).decode


T = TypeVar("T", ModelSettings, TokenizerSettings, TrainSettings, DecodeSettings)

_SECTIONS: dict[str, Any] = {
    "model": ModelSettings,
    "tokenizer": TokenizerSettings,
    "train": TrainSettings,
    "decode": DecodeSettings,
}


def from_dict(kind: type[T], values: Mapping[str, Any]) -> T:
    """A section from plain values; an unknown name is refused with the nearest right one."""
    for name in values:
        _known_name(_section_of(kind), name)
    return kind(**values)


def _known_name(section: str, name: str, where: str = "") -> None:
    names = [field.name for field in dataclasses.fields(_SECTIONS[section])]
    if name not in names:
        raise SettingsError(f"{where}unknown setting {section}.{name}{_nearest(name, names, section + '.')}")


def _section_of(kind: type) -> str:
    return next(name for name, section in _SECTIONS.items() if section is kind)


def _read_toml(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such settings file") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}); give a TOML file of settings") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    for section, values in content.items():
        _known_section(section)
        if not isinstance(values, dict):
            raise SettingsError(f"{path}: {section} must be a section, written [{section}]")
        for name in values:
            _known_name(section, name, f"{path}: ")
    return content


def _parse(overrides: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`["train.steps=100"]` as sections of typed values."""
    result: dict[str, dict[str, Any]] = {}
    for override in overrides:
        path, equals, text = override.partition("=")
        section, dot, name = path.partition(".")
        if not (equals and dot):
            raise SettingsError(f"--set {override}: write it as section.name=value, for example train.steps=4000")
        _known_section(section)
        _known_name(section, name)
        hints = get_type_hints(_SECTIONS[section])
        result.setdefault(section, {})[name] = _typed(text, hints[name], f"{section}.{name}")
    return result


def _typed(text: str, wanted: Any, where: str) -> Any:
    if wanted is str:
        return text  # a space may be meant
    text = text.strip()
    if get_origin(wanted) is Literal:
        return text
    if wanted is bool:
        if text not in ("true", "false"):
            raise SettingsError(f"{where} must be true or false, got {text!r}")
        return text == "true"
    try:
        return wanted(text.replace("_", "")) if wanted is int else wanted(text)
    except ValueError:
        raise SettingsError(f"{where} must be {wanted.__name__}, got {text!r}") from None


def _known_section(section: str) -> None:
    if section not in _SECTIONS:
        raise SettingsError(f"unknown section {section!r}; the sections are {', '.join(_SECTIONS)}")


def _nearest(name: str, names: Mapping[str, Any] | Sequence[str], prefix: str = "") -> str:
    close = difflib.get_close_matches(name, list(names), n=1)
    if close:
        return f"; did you mean {prefix}{close[0]}?"
    return "; `regard settings` lists them" if prefix else ""


def _check_types(settings: Any) -> None:
    """Refuse a value of the wrong type, or not among the choices, before any work starts."""
    section = _section_of(type(settings))
    for name, wanted in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        if get_origin(wanted) is Literal:
            if value not in get_args(wanted):
                choices = ", ".join(map(str, get_args(wanted)))
                raise SettingsError(f"{section}.{name} must be one of {choices}, got {value!r}")
        elif wanted is float and type(value) is int:
            object.__setattr__(settings, name, float(value))
        elif type(value) is not wanted:
            raise SettingsError(f"{section}.{name} must be {wanted.__name__}, got {value!r}")
        elif wanted is float and not math.isfinite(value):
            raise SettingsError(f"{section}.{name} must be a finite number, got {value}")


def _at_least(settings: Any, name: str, least: int) -> None:
    if getattr(settings, name) < least:
        section = _section_of(type(settings))
        raise SettingsError(f"{section}.{name} must be at least {least}, got {getattr(settings, name)}")
