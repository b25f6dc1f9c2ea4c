"""The reference of settings lists every setting with its default, type and meaning."""

from dataclasses import fields

import pytest

from regard.errors import SettingsError
from regard.settings.kinds.transformer import SIZES
from regard.settings.parser import user_overrides
from regard.settings.reference import as_markdown, find_settings
from regard.settings.sections import Settings, assemble


def test_every_setting_is_listed_once_with_its_help_text() -> None:
    found = {one.name: (one.default, one.meaning) for one in find_settings()}
    defaults = Settings()
    wanted = {
        f"{section.name}.{field.name}": (field.default, field.metadata["help"])
        for section in fields(Settings)
        for field in fields(getattr(defaults, section.name))
    }
    assert found == wanted
    assert len(find_settings()) == len(wanted)


def test_types_have_readable_names() -> None:
    types = {one.name: one.type for one in find_settings()}
    assert types["model.width"] == "whole number"
    assert types["train.dropout"] == "number"
    assert types["train.tensorboard"] == "true or false"
    assert types["model.kind"] == "transformer"
    assert types["model.norm"] == "post or pre"
    assert types["train.device"] == "auto, cpu, cuda or mps"


def test_a_default_can_be_set_as_it_is_shown() -> None:
    """Each row of the page, given back with --set, changes nothing."""
    before_the_sizes = as_markdown().partition("## Sizes")[0]
    rows = [line.split("|") for line in before_the_sizes.splitlines() if line.startswith("| `")]
    shown = [f"{name.strip(' `')}={default.strip()}" for _, name, default, *_ in rows]
    assert len(shown) == len(find_settings())
    assert assemble(user_overrides(shown)) == Settings()


@pytest.mark.parametrize("word", ["train.dropout", "DropOut", "places section 5.4"])
def test_a_word_is_searched_in_names_and_meanings(word: str) -> None:
    assert [one.name for one in find_settings(word)] == ["train.dropout"]


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(SettingsError) as caught:
        find_settings("beems")
    assert str(caught.value) == "no setting has 'beems' in its name or meaning; `regard settings` lists all settings"


def test_the_table_of_sizes_has_only_the_found_settings() -> None:
    lines = as_markdown("dropout").splitlines()
    assert [line for line in lines if line.startswith("| `")] == [
        "| `train.dropout` | 0.1     | number | dropout rate, at the places section 5.4 names |",
        *(
            f"| `{size}`{' ' * (5 - len(size))} | `train.dropout={layer['train']['dropout']}` |"
            for size, layer in SIZES.items()
            if "dropout" in layer.get("train", {})
        ),
    ]
    assert "## Sizes" not in as_markdown("decode.length_penalty")
