"""`regard translate` without a model chooses the bundled direction from the text."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.cli.runner import call

from regard.cli.bundled_direction import identify_language
from regard.inference.result import Translation
from regard.model_folder import bundled
from regard.model_folder.language_profiles import PROFILES_FILE, read_bundled_profiles, write_profiles
from regard.settings.decode import DecodeSettings
from regard.storage.manifest import write_manifest

FRENCH, ENGLISH, GERMAN = "Où est la gare ?", "Where is the station?", "Die Kinder spielen im Garten und singen dabei."
TO_ENGLISH = "French text: translating to English (fr-en); choose with --languages\n"
TO_FRENCH = "English text: translating to French (en-fr); choose with --languages\n"
UNKNOWN = "unknown language: translating from English to French (en-fr); choose with --languages\n"


class FakeTranslator:
    """A translator that writes the name of its model before each line."""

    decode = DecodeSettings()

    def __init__(self, model: Path, **_: object) -> None:
        self._model = model

    def translate_iterable(self, lines: Iterator[str], _: DecodeSettings, **__: object) -> Iterator[Translation]:
        for line in lines:
            yield Translation(line, f"{self._model}: {line}", None, None, ())


@pytest.fixture(autouse=True)
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders with the real language profiles in place of the bundled models, which are not loaded."""
    profiles = read_bundled_profiles()
    for name in ("en-fr", "fr-en"):
        (tmp_path / "bundle" / name).mkdir(parents=True)
        write_profiles(tmp_path / "bundle" / name, profiles)
        write_manifest(tmp_path / "bundle" / name, [PROFILES_FILE])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(bundled, "HERE", tmp_path / "bundle")
    monkeypatch.setattr("regard.inference.translator_loader.load_translator", FakeTranslator)
    return tmp_path / "bundle"


@pytest.mark.parametrize(
    ("lines", "model", "message"),
    [
        ([FRENCH], "fr-en", TO_ENGLISH),
        ([ENGLISH], "en-fr", TO_FRENCH),
        ([GERMAN], "en-fr", UNKNOWN),
        (["12"], "en-fr", UNKNOWN),
        (["12", FRENCH, ENGLISH, FRENCH, FRENCH], "fr-en", TO_ENGLISH),
        ([FRENCH] * 100 + [ENGLISH] * 900, "fr-en", TO_ENGLISH),
    ],
)
def test_the_text_chooses_the_direction_of_all_lines(lines: list[str], model: str, message: str) -> None:
    typed = "".join(line + "\n" for line in lines).encode()
    Path("file.txt").write_bytes(typed)
    expected = call("translate", "-m", model, typed=typed)
    assert (expected.code, expected.said) == (0, "")
    for done in (
        call("translate", typed=typed),
        call("translate", "--file", "file.txt"),
        *([call("translate", *lines)] if len(lines) < 10 else []),
    ):
        assert (done.code, done.said) == (0, message)
        assert done.output == expected.output


def test_a_chosen_direction_is_kept() -> None:
    for words in (["--languages", "en", "fr"], ["-m", "en-fr"]):
        assert call("translate", *words, FRENCH).said == ""


def test_json_has_the_detected_language() -> None:
    detected = [json.loads(call("translate", "--json", text).output)["detected"] for text in (FRENCH, GERMAN)]
    assert detected[0]["language"] == "fr" and 0.9 < detected[0]["confidence"] <= 1
    assert detected[1] == {"language": None, "confidence": 0.0}
    assert json.loads(call("translate", "-m", "fr-en", "--json", FRENCH).output)["detected"] is None


def test_without_input_or_profiles_nothing_is_said(bundle: Path) -> None:
    assert call("translate", typed=b"") == call("translate", "-m", "en-fr", typed=b"")
    for name in ("en-fr", "fr-en"):
        write_manifest(bundle / name, [])
    assert call("translate", FRENCH) == call("translate", "-m", "en-fr", FRENCH)


def test_an_invalid_line_is_reported_after_the_lines_before_it() -> None:
    typed = f"{FRENCH}\n".encode() + b"\xff\n"
    done, expected = call("translate", typed=typed), call("translate", "-m", "fr-en", typed=typed)
    assert (done.code, done.output) == (expected.code, expected.output)
    assert done.said == TO_ENGLISH + expected.said


def test_a_local_folder_hides_the_bundled_model_of_its_name(bundle: Path) -> None:
    assert call("translate", FRENCH).lines == [f"fr-en: {FRENCH}"]
    Path("fr-en").mkdir()
    assert call("translate", FRENCH).lines == [f"{bundle / 'fr-en'}: {FRENCH}"]


def test_only_the_first_group_is_read_and_at_most_a_hundred_lines_of_it() -> None:
    read: list[int] = []

    def lines(number: int) -> Iterator[str]:
        for line in range(1000):
            read.append(number)
            yield f"{number} {line}"

    found, groups = identify_language(lines(number) for number in count())
    assert found is not None and found.language is None
    assert read == [0] * 100
    again = iter(groups)
    assert [list(next(again)) for _ in range(2)] == [
        [f"{number} {line}" for line in range(1000)] for number in range(2)
    ]
