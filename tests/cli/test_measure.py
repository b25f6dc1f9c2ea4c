"""`regard measure`: heads, pronouns, probes, alignment."""

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.runner import call, write
from tests.interpret.planted import planted_model

from regard.interpret.selftest.planted_model import planted_sample
from regard.model_folder.folder import HASHED
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_folder
from regard.storage.manifest import write_manifest


def test_heads_are_measured_on_given_pairs(model: Path, folder: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    lines = zip(*((folder / name).read_text("utf-8").splitlines() for name in ("train.en", "train.fr")), strict=True)
    write(pairs, ["\t".join(both) for both in lines])
    page, picture = tmp_path / "heads.html", tmp_path / "heads.svg"
    done = call("measure", "heads", "--model", model, pairs, "--count", 20)
    assert done.code == 0, done.said
    assert done.lines[0] == f"6 heads of {model.name}, measured on 20 pairs of {pairs}"
    assert sum(line.startswith(("encoder.1.", "decoder.1.")) for line in done.lines) == 6
    unmeasured = "Not measured (fewer than 30 cases, or no annotations): adjective → noun"
    assert any(line.startswith(unmeasured) for line in done.lines)
    done = call("measure", "heads", "--model", model, pairs, "--count", 10, "--html", page, "--svg", picture, "--json")
    assert done.code == 0, done.said
    assert f"wrote {page}\nwrote {picture}\n" in done.said
    assert [one["address"] for one in json.loads(done.output)["heads"]][::5] == [
        "encoder.1.self.1",
        "decoder.1.cross.2",
    ]
    assert page.read_text("utf-8").startswith("<!doctype html>") and picture.read_text("utf-8").startswith("<svg")


def test_pronouns_and_probes_are_measured_on_the_synthetic_language(model: Path) -> None:
    done = call("measure", "pronouns", "--model", model, "--count", 10)
    assert done.code == 0, done.said
    assert done.lines[0].startswith("Pronoun experiment: 10 minimal pairs")
    assert json.loads(call("measure", "pronouns", "--model", model, "--count", 10, "--json").output)["verdict"]
    done = call("measure", "probes", "--model", model, "--count", 40)
    assert done.code == 0, done.said
    assert done.lines[-1].startswith("Not tested: discourse and world knowledge")


def test_probes_without_annotations_are_measured_on_given_pairs(model: Path, folder: Path, tmp_path: Path) -> None:
    texts = ((folder / name).read_text("utf-8").splitlines() for name in ("train.en", "train.fr"))
    pairs = write(tmp_path / "pairs.tsv", ["\t".join(both) for both in zip(*texts, strict=True)])
    done = call("measure", "probes", "--model", model, pairs, "--count", 60)
    assert done.code == 0, done.said
    assert f"60 pairs of {pairs}" in done.lines[0]
    assert any(line.startswith("encoder: position (") for line in done.lines)
    assert not any("word class (" in line and "largest lift" in line for line in done.lines)


@pytest.fixture
def planted(tmp_path: Path) -> tuple[Path, Path]:
    """A model that swaps neighbours by a known head, in a folder, and pairs for it."""
    made = planted_model()
    save_folder(
        tmp_path / "planted",
        settings=made.network.settings,
        weights=made.network.state_dict(),
        tokenizer=made.tokenizer,
        languages=("xx", "yy"),
        card="",
    )
    pairs = [f"{item.source}\t{item.target}" for item in planted_sample(made.tokenizer, 30).pairs]
    return tmp_path / "planted", write(tmp_path / "pairs.tsv", pairs)


def test_alignment_stores_the_head_and_prints_a_line_per_pair(planted: tuple[Path, Path]) -> None:
    mine, pairs = planted
    done = call("measure", "alignment", "--model", mine, pairs)
    assert done.code == 0, done.said
    best = "decoder.1.cross.1 aligns a target word best, at the position that predicts it: alignment error 0.000 ["
    assert best in done.said
    assert "stored in the model folder" in done.said
    assert done.lines == ["0-1 1-0 2-3 3-2 4-5 5-4 6-7 7-6"] * 30
    again = call("measure", "alignment", "--model", mine, pairs, "--json")
    source, target = pairs.read_text("utf-8").splitlines()[0].split("\t")
    first = json.loads(again.lines[0])
    assert again.said == "" and list(first) == ["source", "target", "alignment"]
    assert (first["source"], first["target"]) == (source.split(), target.split())
    assert all(first["source"][one] == first["target"][other] for one, other in first["alignment"])
    assert call("translate", "--model", mine, source).lines == [target]
    (found,) = map(json.loads, call("translate", "--model", mine, "--json", source).lines)
    assert [tuple(link) for link in found["alignment"]] == [(at ^ 1, at) for at in range(8)]


def test_a_head_worse_than_a_rule_is_not_stored(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.interpret.measure.alignment_baselines.TRAINING_PAIRS", 20)
    done = call("measure", "alignment", "--model", model, "--count", 20)
    assert done.code == 0, done.said
    assert done.lines[-1] == "not stored: no head of this model aligns better than a rule that knows only positions"
    assert open_folder(model).alignment is None


@pytest.mark.parametrize("command", ["heads", "pronouns", "probes", "alignment"])
def test_measure_refuses_other_languages(model: Path, tmp_path: Path, command: str) -> None:
    mine = tmp_path / "model"
    shutil.copytree(model, mine)
    facts = json.loads((mine / "settings.json").read_text("utf-8"))
    (mine / "settings.json").write_text(json.dumps({**facts, "directions": [["en", "de"]]}), "utf-8")
    write_manifest(mine, HASHED)
    done = call("measure", command, "--model", mine)
    assert done.code == 2
    reason = {
        "heads": "the synthetic language is English to French; measure on your own pairs: give files, such as test.tsv",
        "pronouns": "pronouns are measured for English to French only, on the synthetic language",
    }
    expected = reason.get(command, reason["heads"])
    assert done.said.endswith(f"error: this model translates from en to de, but {expected}\n")
