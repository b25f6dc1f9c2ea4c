"""The reference of settings lists every setting with its default, type and meaning."""

import re
from dataclasses import fields
from typing import Any

import pytest

from regard.errors import SettingsError
from regard.server.config import read_configuration
from regard.settings.kinds import KINDS
from regard.settings.parser import user_overrides
from regard.settings.reference import as_markdown, find_settings
from regard.settings.sections import SECTIONS, Settings, assemble, section_class
from regard.settings.serve import ServeSettings


def test_every_setting_is_listed_once_with_its_help_text() -> None:
    found = [(one.name, one.default, one.meaning) for one in find_settings()]
    classes: set[tuple[str, Any]] = {(name, section_class(name, kind)) for name in SECTIONS for kind in KINDS}
    classes.add(("serve", ServeSettings))
    wanted = {
        (f"{section}.{field.name}", field.default, field.metadata["help"])
        for section, settings_class in classes
        for field in fields(settings_class)
    }
    assert set(found) == wanted
    assert len(found) == len(wanted)


def test_types_have_readable_names() -> None:
    types = {one.name: one.type for one in find_settings()}
    assert types["model.width"] == "whole number"
    assert types["train.dropout"] == "number"
    assert types["train.tensorboard"] == "true or false"
    assert types["model.norm"] == "post or pre"
    assert types["train.device"] == "auto, cpu, cuda or mps"


def test_a_default_can_be_set_as_it_is_shown() -> None:
    """Each row of the page, given back with --set, changes nothing."""
    *tables, serve = re.split("^## ", as_markdown().partition("## Sizes")[0], flags=re.MULTILINE)[1:]
    assert read_configuration({}, _rows(serve), None, {}).settings == ServeSettings()
    models = [table for table in tables if table.startswith("model")]
    for model in models:
        shown = _rows(model, *tables[len(models) :])
        kind = next(one.removeprefix("model.kind=") for one in shown if one.startswith("model.kind="))
        assert assemble(user_overrides(shown)) == Settings(model=section_class("model", kind)())


def _rows(*tables: str) -> list[str]:
    """Return the settings of tables with their defaults, as they are given to --set."""
    rows = [line.split("|") for table in tables for line in table.splitlines()]
    return [f"{row[1].strip(' `')}={row[2].strip()}" for row in rows if len(row) > 2 and row[1].startswith(" `")]


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
            f"| `{size}`{' ' * (5 - len(size))} | `train.dropout={changes['train']['dropout']}` |"
            for kind in KINDS.values()
            for size, changes in kind.sizes.items()
            if "dropout" in changes.get("train", {})
        ),
    ]
    assert "## Sizes" not in as_markdown("decode.length_penalty")
