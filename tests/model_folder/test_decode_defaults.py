"""Decode settings that are stored with a model: used by default, changed one by one by a call."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.runner import call

import regard
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.settings.decode import DecodeSettings

STORED = DecodeSettings(beam_size=2, max_length_offset=3, length_penalty=1.5)
TEXTS = ["the cat sees", "a red house"]


@pytest.fixture
def folders(make_model: Any, tmp_path: Path) -> tuple[Path, Path]:
    """The same model without and with stored decode settings."""
    plain = make_model(1)
    opened = open_folder(plain)
    save_folder(
        tmp_path / "stored",
        settings=opened.settings,
        weights=opened.build().state_dict(),
        tokenizer=opened.tokenizer,
        languages=opened.languages,
        card="",
        decode=DecodeSettings(**{**vars(STORED), "n_best": 2, "alignment": True}),
    )
    return plain, tmp_path / "stored"


def test_only_settings_that_change_the_text_are_stored(folders: tuple[Path, Path]) -> None:
    contents = json.loads((folders[1] / "settings.json").read_text())
    assert contents["decode"] == {"beam_size": 2, "max_length_offset": 3, "length_penalty": 1.5}
    assert open_folder(folders[1]).decode == STORED
    assert open_folder(folders[0]).decode == DecodeSettings()


def test_a_call_without_decode_settings_uses_the_stored_ones(folders: tuple[Path, Path]) -> None:
    plain, stored = (regard.load(folder, backend="torch") for folder in folders)
    assert stored.translate(TEXTS) == plain.translate(TEXTS, STORED) != plain.translate(TEXTS)
    assert stored.translate(TEXTS, DecodeSettings()) == plain.translate(TEXTS)
    assert list(stored.translate_iterable(TEXTS)) == plain.translate(TEXTS, STORED)
    assert stored.look(TEXTS[0]).text == plain.look(TEXTS[0], STORED).text
    pair = (TEXTS[0], TEXTS[1])
    assert [one.score for one in stored.score([pair])] == [one.score for one in plain.score([pair], STORED)]


def test_an_option_changes_one_of_the_stored_settings(folders: tuple[Path, Path]) -> None:
    plain, stored = folders
    expected = call("translate", "-m", plain, *TEXTS, "--json", "--beam-size", "1", *_options()[2:])
    done = call("translate", "-m", stored, *TEXTS, "--json", "--beam-size", "1")
    assert (done.code, done.output) == (0, expected.output)
    assert call("translate", "-m", stored, *TEXTS).output == call("translate", "-m", plain, *TEXTS, *_options()).output


def _options() -> list[str]:
    pairs = ("beam_size=2", "max_length_offset=3", "length_penalty=1.5")
    return [word for pair in pairs for word in ("--set", f"decode.{pair}")]
