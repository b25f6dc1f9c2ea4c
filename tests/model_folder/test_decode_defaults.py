"""Decode settings that are stored with a model: used by default, changed one by one by a call."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.runner import call

import regard
from regard.inference.translator import Translator
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.settings.decode import DecodeSettings

STORED = DecodeSettings(beam_size=2, max_length_offset=3, length_penalty=1.5)
TEXTS = ["the cat sees", "a red house"]


@pytest.fixture
def folders(make_model: Any, tmp_path: Path) -> tuple[Path, Path]:
    """The same model without and with stored decode settings."""
    plain = make_model(1)
    decode = DecodeSettings(**{**vars(STORED), "n_best": 2, "alignment": True})
    return plain, with_stored(plain, tmp_path / "stored", decode)


def with_stored(plain: Path, folder: Path, decode: DecodeSettings) -> Path:
    """Write a copy of a model that stores these decode settings."""
    opened = open_folder(plain)
    save_folder(
        folder,
        settings=opened.settings,
        weights=opened.build().state_dict(),
        tokenizer=opened.tokenizer,
        languages=opened.languages,
        card="",
        decode=decode,
    )
    return folder


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


def test_a_change_is_checked_against_the_stored_settings(make_model: Any, tmp_path: Path) -> None:
    plain = make_model(1)
    wide = with_stored(plain, tmp_path / "wide", DecodeSettings(beam_size=8))
    done = call("translate", "-m", wide, TEXTS[0], "--json", "--n-best", "6")
    assert done.code == 0, done.said
    assert len(json.loads(done.output)["alternatives"]) == 5
    sampling = with_stored(plain, tmp_path / "sampling", DecodeSettings(temperature=1.0))
    (tmp_path / "test.tsv").write_text("".join(f"{text}\t{text}\n" for text in TEXTS))
    commands = (("translate", TEXTS[0]), ("evaluate", tmp_path / "test.tsv"), ("look", TEXTS[0]))
    for command, *arguments in commands:
        done = call(command, "-m", sampling, *arguments, "--set", "decode.top_k=5")
        assert done.code == 0, done.said
    narrow = with_stored(plain, tmp_path / "narrow", DecodeSettings(beam_size=2))
    done = call("translate", "-m", narrow, TEXTS[0], "--json", "--n-best", "3")
    said = "error: decode.n_best (3) cannot exceed decode.beam_size (2); increase the beam size to 3\n"
    assert (done.code, done.said.splitlines(keepends=True)[-1]) == (2, said)
    for command, *arguments in commands:
        done = call(command, "-m", plain, *arguments, "--set", "decode.top_k=5")
        assert (done.code, "decode.temperature is 0" in done.said) == (2, True)


def test_evaluate_uses_the_stored_settings_of_each_model(folders: tuple[Path, Path], tmp_path: Path) -> None:
    """The settings of the user change those of both models; the other settings of the models stay different."""
    sources = [*TEXTS, "the red cat sees a house", "house"]
    (tmp_path / "source").write_text("".join(text + "\n" for text in sources))
    files = (tmp_path / "source", tmp_path / "source")
    models = [regard.load(folder, backend="torch") for folder in folders]
    expected = [[one.text for one in each.translate(sources, replace(each.decode, beam_size=3))] for each in models]
    assert expected[0] != expected[1]
    for mine, other in ((0, 1), (1, 0)):
        out = tmp_path / "out"
        words = ("-m", folders[mine], "--against", folders[other], *files, "--beam-size", 3, "--json", "--out", out)
        done = call("evaluate", *words)
        assert done.code == 0, done.said
        assert out.read_text().splitlines() == expected[mine]
        found = {one["source"]: one["against"] for one in json.loads(done.output)["against"]["differences"]}
        theirs = dict(zip(sources, expected[other], strict=True))
        assert found == {source: theirs[source] for source in found} != {}


def test_settings_that_do_not_fit_the_other_model_are_refused_at_once(
    folders: tuple[Path, Path], make_model: Any, tmp_path: Path
) -> None:
    long = with_stored(make_model(1), tmp_path / "long", DecodeSettings(min_length=9))
    (tmp_path / "test.tsv").write_text("a\tb\n")
    done = call("evaluate", "-m", folders[0], "--against", long, tmp_path / "test.tsv", "--set", "decode.max_length=5")
    said = "error: decode.min_length (9) cannot exceed decode.max_length (5)"
    assert (done.code, done.output, done.said.splitlines()[-1]) == (2, b"", said)
    assert not any(line.startswith("translating") for line in done.said.splitlines())


def test_score_uses_the_stored_length_penalty(folders: tuple[Path, Path], tmp_path: Path) -> None:
    plain, stored = folders
    (tmp_path / "test.tsv").write_text(f"{TEXTS[0]}\t{TEXTS[1]}\n")

    def output(folder: Path, *options: str) -> bytes:
        done = call("score", "-m", folder, tmp_path / "test.tsv", "--json", *options)
        assert done.code == 0, done.said
        return done.output

    assert output(stored) == output(plain, "--set", "decode.length_penalty=1.5") != output(plain)
    assert output(stored, "--set", "decode.length_penalty=0.6") == output(plain)


def test_bench_translate_measures_the_stored_settings(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.benchmark.translation_speed._SECONDS", 0.01)
    monkeypatch.setattr("regard.benchmark.translation_speed._COLD_STARTS", 1)
    used: list[DecodeSettings] = []
    translate = Translator.translate

    def recorded(self: Translator, text: Any, decode: DecodeSettings) -> Any:
        used.append(decode)
        return translate(self, text, decode)

    monkeypatch.setattr(Translator, "translate", recorded)
    done = call("bench", "translate", "-m", folders[1], "--set", "decode.max_length=7", typed=b"the cat\n")
    assert done.code == 0, done.said
    assert set(used) == {replace(STORED, max_length=7, scores=False)}


def _options() -> list[str]:
    pairs = ("beam_size=2", "max_length_offset=3", "length_penalty=1.5")
    return [word for pair in pairs for word in ("--set", f"decode.{pair}")]
