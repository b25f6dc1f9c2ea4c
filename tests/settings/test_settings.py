"""Settings are strict: sizes are those of the paper, later overrides win, and every mistake is named with its fix."""

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, asdict, fields
from pathlib import Path
from typing import Any, cast

import pytest

from regard.errors import SettingsError
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import SIZES, TransformerSettings
from regard.settings.parser import decode_overrides, extra_outputs, user_overrides
from regard.settings.recipes import FINE_TUNE
from regard.settings.sections import Settings, assemble, from_dict
from regard.settings.sizes import size_overrides
from regard.settings.tokenizer import TokenizerSettings
from regard.settings.train import TrainSettings

SECTIONS = (TransformerSettings, TokenizerSettings, TrainSettings, DecodeSettings)


def sized(size: str) -> Settings:
    return assemble(size_overrides(size))


def refused(*overrides: str) -> str:
    """Return the error message for these overrides."""
    with pytest.raises(SettingsError) as caught:
        assemble(user_overrides(overrides))
    return str(caught.value)


# The sizes


@pytest.mark.parametrize(
    ("size", "layers", "width", "feedforward", "heads", "norm"),
    [
        ("tiny", (4, 4), 128, 256, 4, "pre"),
        ("small", (6, 3), 256, 1024, 4, "pre"),
        ("base", (6, 6), 512, 2048, 8, "post"),
        ("big", (6, 6), 1024, 4096, 16, "post"),
    ],
)
def test_each_size_has_its_shape(
    size: str, layers: tuple[int, int], width: int, feedforward: int, heads: int, norm: str
) -> None:
    model = cast(TransformerSettings, sized(size).model)
    assert (model.encoder_layers, model.decoder_layers) == layers
    assert (model.width, model.feedforward, model.heads, model.norm) == (width, feedforward, heads, norm)
    assert model.positions == "sinusoid"


def test_there_are_four_sizes_that_set_existing_settings() -> None:
    assert list(SIZES) == ["tiny", "small", "base", "big"]
    for size in SIZES:
        assemble(size_overrides(size))
    assemble(FINE_TUNE)


@pytest.mark.parametrize(
    ("size", "dropout", "steps", "average"), [("base", 0.1, 100_000, 5), ("big", 0.3, 300_000, 20)]
)
def test_the_recipe_of_the_paper(size: str, dropout: float, steps: int, average: int) -> None:
    """Sections 5.1 to 5.4 and 6.1, and the rows base and big of Table 3."""
    settings = sized(size)
    train = settings.train
    assert (train.dropout, train.steps, train.average) == (dropout, steps, average)
    assert (train.label_smoothing, train.batch_tokens, train.max_grad_norm) == (0.1, 25_000, 0.0)
    assert (train.schedule, train.warmup_steps, train.learning_rate) == ("paper", 4_000, 1.0)
    assert (train.beta1, train.beta2, train.epsilon) == (0.9, 0.98, 1e-9)
    assert settings.tokenizer.kind == "bpe"
    assert (settings.decode.beam_size, settings.decode.length_penalty, settings.decode.max_length_offset) == (
        4,
        0.6,
        50,
    )


def test_base_is_the_default() -> None:
    assert sized("base").model == TransformerSettings()
    assert sized("base").train == TrainSettings(validate_every=1_500)


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_small_sizes_have_a_recipe_for_short_training(size: str) -> None:
    train = sized(size).train
    assert (train.schedule, train.warmup_steps, train.max_grad_norm) == ("linear", 400, 1.0)


def test_an_unknown_size_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError) as caught:
        size_overrides("tinny")
    assert str(caught.value) == (
        "unknown size 'tinny'; the sizes of transformer models are tiny, small, base, big; did you mean tiny?"
    )


# Layers


def test_overrides_win_over_the_file_and_the_file_over_the_size(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[model]\nwidth = 64\nfeedforward = 96\n[decode]\nlength_penalty = 1\n", "utf-8")
    settings = assemble(size_overrides("tiny"), user_overrides(["model.width=32", "train.steps=7"], file))
    model = cast(TransformerSettings, settings.model)
    assert model.width == 32  # override
    assert model.feedforward == 96  # file
    assert model.encoder_layers == 4  # size
    assert model.max_positions == 1024  # default
    assert settings.decode.length_penalty == 1.0
    assert settings.train.steps == 7


def test_of_two_equal_overrides_the_last_wins() -> None:
    assert assemble(user_overrides(["train.steps=1", "train.steps=2"])).train.steps == 2


def test_user_overrides_contain_only_what_the_user_set() -> None:
    assert user_overrides() == {}
    assert user_overrides(["train.steps=9"]) == {"train": {"steps": 9}}


def test_a_micro_batch_is_no_larger_than_a_batch() -> None:
    assert assemble(user_overrides(["train.batch_tokens=100"])).train.micro_batch_tokens == 100
    assert assemble(size_overrides("tiny"), user_overrides(["train.batch_tokens=99"])).train.micro_batch_tokens == 99


@pytest.mark.parametrize(
    ("size", "values", "batch"),
    [
        ("tiny", ["train.micro_batch_tokens=2049"], "2,048"),
        ("base", ["train.micro_batch_tokens=25001"], "25,000"),
        ("base", ["train.batch_tokens=100", "train.micro_batch_tokens=101"], "100"),
    ],
)
def test_a_micro_batch_above_the_batch_is_refused(size: str, values: list[str], batch: str) -> None:
    with pytest.raises(SettingsError, match=f"micro_batch_tokens is .*, but a step has only {batch} tokens"):
        assemble(size_overrides(size), user_overrides(values))
    equal = [*values, f"train.micro_batch_tokens={batch.replace(',', '')}"]
    assert assemble(size_overrides(size), user_overrides(equal)).train.micro_batch_tokens == int(batch.replace(",", ""))


def test_no_overrides_give_the_defaults() -> None:
    assert assemble() == Settings()


def test_settings_are_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().model.width = 3  # type: ignore[misc]


def test_a_section_made_from_its_own_values_is_the_same() -> None:
    model = TransformerSettings(width=64, heads=2)
    assert from_dict(TransformerSettings, asdict(model)) == model


def test_every_setting_has_a_help_text() -> None:
    assert [field.name for kind in SECTIONS for field in fields(kind) if not field.metadata.get("help")] == []


# Values as they are typed


@pytest.mark.parametrize(
    ("override", "section", "name", "value"),
    [
        ("train.steps=4000", "train", "steps", 4000),
        ("train.steps=4_000", "train", "steps", 4000),
        ("train.steps= 12 ", "train", "steps", 12),
        ("train.dropout=0.25", "train", "dropout", 0.25),
        ("train.max_grad_norm=1", "train", "max_grad_norm", 1.0),
        ("train.epsilon=1e-8", "train", "epsilon", 1e-8),
        ("train.tensorboard=true", "train", "tensorboard", True),
        ("train.tensorboard=false", "train", "tensorboard", False),
        ("model.norm=pre", "model", "norm", "pre"),
        ("tokenizer.kind=bpe", "tokenizer", "kind", "bpe"),
        ("decode.length_penalty=-0.5", "decode", "length_penalty", -0.5),
        ("decode.prefix= Je ", "decode", "prefix", " Je "),
    ],
)
def test_a_value_gets_the_type_of_its_setting(override: str, section: str, name: str, value: Any) -> None:
    found = getattr(getattr(assemble(user_overrides([override])), section), name)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.stepz=5", "unknown setting train.stepz; did you mean train.steps?"),
        ("model.zzz=5", "unknown setting model.zzz; `regard settings` lists all settings"),
        ("modle.width=5", "unknown section 'modle'; the sections are model, tokenizer, train, decode"),
        ("train.steps", "--set train.steps: write it as section.name=value, for example train.steps=4000"),
        ("steps=5", "--set steps=5: write it as train.steps=5"),
        ("seed=5", "--set seed=5: write it as section.name=value, for example train.steps=4000"),
        ("train.steps=many", "train.steps must be a whole number, got 'many'"),
        ("train.steps=1.5", "train.steps must be a whole number, got '1.5'"),
        ("train.dropout=lots", "train.dropout must be a number, got 'lots'"),
        ("train.tensorboard=yes", "train.tensorboard must be true or false, got 'yes'"),
        ("model.norm=both", "model.norm must be one of post, pre, got 'both'"),
        ("train.precision=float16", "train.precision must be one of float32, bfloat16, got 'float16'"),
        ("model.heads=7", "model.width (512) must be a multiple of model.heads (7)"),
        ("model.width=0", "model.width must be at least 1, got 0"),
        ("model.max_positions=7", "model.max_positions must be at least 8, got 7"),
        ("train.steps=0", "train.steps must be at least 1, got 0"),
        ("train.seed=-1", "train.seed must be at least 0, got -1"),
        ("train.epsilon=-1", "train.epsilon must be at least 0, got -1.0"),
        ("train.dropout=1", "train.dropout must be at least 0 and below 1, got 1.0"),
        ("train.label_smoothing=-0.1", "train.label_smoothing must be at least 0 and below 1, got -0.1"),
        ("train.learning_rate=0", "train.learning_rate must be above 0, got 0.0"),
        ("tokenizer.vocab_size=100", "tokenizer.vocab_size must be 0 or at least 300 (256 tokens are bytes), got 100"),
        ("decode.beam_size=0", "decode.beam_size must be at least 1, got 0"),
        (
            "decode.n_best=5",
            "decode.n_best (5) cannot exceed decode.beam_size (4); increase the beam size to 5",
        ),
    ],
)
def test_every_mistake_is_named(override: str, message: str) -> None:
    assert refused(override) == message


def test_sinusoids_need_an_even_width() -> None:
    assert refused("model.width=5", "model.heads=1") == "model.width (5) must be even: sinusoids come in pairs"
    assert assemble(user_overrides(["model.width=5", "model.heads=1", "model.positions=learned"])).model.width == 5


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "name", ["train.learning_rate", "train.max_grad_norm", "train.epsilon", "train.dropout", "decode.length_penalty"]
)
def test_a_number_must_be_finite(name: str, text: str) -> None:
    assert refused(f"{name}={text}") == f"{name} must be a finite number, got {text}"


# TOML


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[train]\nstepz = 5\n", "{file}: unknown setting train.stepz; did you mean train.steps?"),
        (b"[train]\nsteps = 'many'\n", "train.steps must be a whole number, got 'many'"),
        (b"[train]\nsteps = true\n", "train.steps must be a whole number, got True"),
        (b"[train]\nsteps = 1.0\n", "train.steps must be a whole number, got 1.0"),
        (b"[train]\ntensorboard = 1\n", "train.tensorboard must be true or false, got 1"),
        (b"[trian]\nsteps = 5\n", "unknown section 'trian'; the sections are model, tokenizer, train, decode"),
        (b"train = 5\n", "{file}: train must be a section, written [train]"),
    ],
)
def test_every_mistake_in_a_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    assert in_file(tmp_path, content) == message.replace("{file}", str(tmp_path / "settings.toml"))


@pytest.mark.parametrize("content", [b"[train\n", b"steps = \n", b"[train]\nsteps = 1\nsteps = 2\n", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    assert in_file(tmp_path, content).startswith(f"{tmp_path / 'settings.toml'}: not valid TOML: ")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        user_overrides([], tmp_path / "none.toml")
    assert str(caught.value) == f"{tmp_path / 'none.toml'}: no such settings file"


def test_a_folder_is_refused_as_a_settings_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        user_overrides([], tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}: cannot be read (")
    assert str(caught.value).endswith("; give a TOML file of settings")


def in_file(folder: Path, content: bytes, overrides: Sequence[str] = ()) -> str:
    """Return the error message for a settings file with this content."""
    (folder / "settings.toml").write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        assemble(user_overrides(overrides, folder / "settings.toml"))
    return str(caught.value)


# How to write


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["decode.temperature=-1"], "decode.temperature must be at least 0, got -1.0"),
        (["decode.temperature=nan"], "decode.temperature must be a finite number, got nan"),
        (["decode.no_repeat_ngram_size=-1"], "decode.no_repeat_ngram_size must be at least 0, got -1"),
        (["decode.min_length=5", "decode.max_length=4"], "decode.min_length (5) cannot exceed decode.max_length (4)"),
        (["decode.top_p=0", "decode.temperature=1"], "decode.top_p must be above 0 and at most 1, got 0.0"),
        (["decode.top_p=1.5"], "decode.top_p must be above 0 and at most 1, got 1.5"),
        *(
            (
                [override],
                "decode.top_k and decode.top_p apply to sampling, and decode.temperature is 0; "
                "add --set decode.temperature=1",
            )
            for override in ("decode.top_k=5", "decode.top_p=0.5")
        ),
        (["decode.prefix=a\nb"], "decode.prefix must be a single line, because texts are translated line by line"),
        (
            ["decode.n_best=5"],
            "decode.n_best (5) cannot exceed decode.beam_size (4); increase the beam size to 5",
        ),
        (["decode.beam_size=1025"], "decode.beam_size must be at most 1,024, got 1,025"),
        (["decode.length_penalty=1000"], "decode.length_penalty must be between -10 and 10, got 1000.0"),
        (["decode.length_penalty=-1000"], "decode.length_penalty must be between -10 and 10, got -1000.0"),
    ],
)
def test_impossible_decode_settings_are_refused(overrides: list[str], message: str) -> None:
    assert refused(*overrides) == message


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.max_positions=12", "model.max_positions has no effect here; `regard settings` lists all settings"),
        ("train.seed=7", "train.seed has no effect here; did you mean decode.seed?"),
        ("tokenizer.kind=bpe", "tokenizer.kind has no effect here; `regard settings` lists all settings"),
    ],
)
def test_settings_of_other_sections_are_refused_for_decoding(override: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        decode_overrides(["decode.beam_size=2", override])
    assert str(caught.value) == message
    assert decode_overrides(["decode.beam_size=2"]) == {"beam_size": 2}


def test_decode_settings_that_may_fit_the_settings_of_a_model_are_accepted() -> None:
    overrides = ["decode.n_best=6", "decode.top_k=5", "decode.min_length=9"]
    assert decode_overrides(overrides) == {"n_best": 6, "top_k": 5, "min_length": 9}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("beam_size = 2.5", "decode.beam_size must be a whole number, got 2.5"),
        ('length_penalty = "1"', "decode.length_penalty must be a number, got '1'"),
        ("temperature = inf", "decode.temperature must be a finite number, got inf"),
        ("scores = 1", "decode.scores must be true or false, got 1"),
    ],
)
def test_decode_settings_of_the_wrong_type_are_refused_before_a_model_is_loaded(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "settings.toml").write_text(f"[decode]\n{content}\n")
    with pytest.raises(SettingsError) as caught:
        decode_overrides([], tmp_path / "settings.toml")
    assert str(caught.value) == message


def test_extra_outputs_are_those_that_the_user_asks_for() -> None:
    assert extra_outputs({"n_best": 1, "scores": False, "alignment": False, "beam_size": 9}) == []
    asked = {"n_best": 2, "scores": True, "alignment": True, "log_probabilities": True}
    assert extra_outputs(asked) == [f"decode.{name}" for name in ("n_best", "scores", "log_probabilities", "alignment")]


def test_sampling_may_return_more_texts_than_beam_size() -> None:
    assert assemble(user_overrides(["decode.n_best=9", "decode.temperature=0.5"])).decode.n_best == 9


@pytest.mark.parametrize("name", ["vocab_size", "vocabulary"])
def test_the_old_names_of_the_vocabulary_size_lead_to_a_setting_that_works(name: str) -> None:
    with pytest.raises(SettingsError, match=f"^model.{name} is now tokenizer.vocab_size$"):
        user_overrides([f"model.{name}=300"])
    assert user_overrides(["tokenizer.vocab_size=300"]) == {"tokenizer": {"vocab_size": 300}}


def test_two_kinds_contradict_each_other() -> None:
    with pytest.raises(SettingsError) as caught:
        user_overrides(["model.kind=transformer", "train.steps=1", "model.kind=toy"])
    assert str(caught.value) == "the kind of model is given as transformer and as toy; give it once, with --kind"
    twice = user_overrides(["model.kind=transformer", "model.kind= transformer"])
    assert twice == {"model": {"kind": "transformer"}}
