"""A new kind of model trains, resumes, translates, is evaluated, averaged and inspected like the Transformer."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.cli.runner import call
from tests.toy_kind import ToyModel, toy_kind

import regard
from regard.errors import SettingsError
from regard.model_folder.loader import open_folder
from regard.settings.decode import DecodeSettings
from regard.training.run import iter_train
from regard.training.step import Step

PAIRS = [(f"{a} {b}", f"{b.upper()} {a.upper()}") for a in "abcde" for b in "vwxyz"]
SETTINGS = ["train.batch_tokens=64", "train.micro_batch_tokens=64", "tokenizer.vocab_size=300"]


@pytest.fixture(autouse=True)
def kind() -> Iterator[None]:
    with toy_kind():
        yield


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS * 4), "utf-8")
    return path


def options(corpus: Path, steps: int = 30) -> dict[str, Any]:
    return {"paths": [corpus], "valid": [corpus], "kind": "toy", "steps": steps, "overrides": SETTINGS}


@pytest.fixture
def folder(corpus: Path, tmp_path: Path) -> Path:
    """A trained model of the toy kind."""
    regard.train(**options(corpus), out=tmp_path / "model")
    return tmp_path / "model"


def test_it_is_saved_and_loaded(folder: Path) -> None:
    opened = open_folder(folder)
    assert opened.settings.kind == "toy" and isinstance(opened.build(), ToyModel)
    assert not (folder / "ctranslate2").exists()  # CTranslate2 has no such models
    assert "Toy, width 16, tanh" in (folder / "card.md").read_text()


def test_an_interrupted_run_resumes_to_the_same_parameters(corpus: Path, folder: Path, tmp_path: Path) -> None:
    arguments = {**options(corpus), "out": tmp_path / "resumed"}
    taken: list[Step] = []
    taken += (event for event in iter_train(**arguments, stop=lambda: len(taken) == 11) if isinstance(event, Step))
    assert not (tmp_path / "resumed" / "manifest.json").exists()
    regard.train(**arguments)
    expected = open_folder(folder).build().state_dict()
    for name, tensor in open_folder(tmp_path / "resumed").build().state_dict().items():
        assert torch.equal(tensor, expected[name]), name


def test_it_translates_and_scores_the_same_in_a_batch_and_alone(folder: Path) -> None:
    model = regard.load(folder)
    texts = [source for source, _ in islice(PAIRS, 9)] + ["a b c d e v w x y z"]
    together = model.translate(texts)
    assert [one.text for one in together] == [model.translate(text).text for text in texts]
    (scored,) = model.score([(texts[0], together[0].text)])
    assert scored.log_probability == pytest.approx(together[0].log_probability, abs=1e-4)


def test_it_is_inspected(folder: Path) -> None:
    model = regard.load(folder)
    view = model.look("a v", DecodeSettings(beam_size=2))
    assert view.heads == ("decoder.1.cross.1",)
    weights = np.asarray(view.attention("decoder.1.cross.1", tokens=True))
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)
    key = view.arithmetic("decoder.1.cross.1", view.trace.written.words[0].text).keys[0]
    assert key.score == pytest.approx(float(key.products.sum()), abs=1e-4)
    assert "decoder.1.cross.1" in view.html()
    for options_ in ([], ["--word", "a"], ["--trace", "encoder", "--word", "a"], ["--trace", "decoder.cross.max"]):
        done = call("look", "--model", folder, "a v", *options_)
        assert done.code == 0, done.said
    done = call("look", "--model", folder, "a v", "--without", "positions")
    assert "cannot look at a sentence without 'positions'; choose nothing or a head such as" in done.said


def test_its_heads_are_measured(folder: Path, corpus: Path) -> None:
    report = regard.load(folder).measure_heads(PAIRS, count=10)
    assert [profile.address for profile in report.measurement.profiles] == ["decoder.1.cross.1"]


def test_it_is_averaged_and_joins_an_ensemble(folder: Path, tmp_path: Path) -> None:
    averaged = regard.average([folder, folder], out=tmp_path / "average")
    alone = regard.load(folder)
    assert averaged.translate("a v").text == alone.translate("a v").text
    assert regard.load(folder, folder).translate("a v").text == alone.translate("a v").text


def test_it_is_fine_tuned(folder: Path, corpus: Path, tmp_path: Path) -> None:
    arguments = {**options(corpus, steps=3), "kind": None, "overrides": SETTINGS[:2]}
    regard.train(**arguments, parent=folder, out=tmp_path / "tuned")
    assert open_folder(tmp_path / "tuned").settings == open_folder(folder).settings


def test_check_and_bench_use_the_kind(corpus: Path) -> None:
    done = call("bench", "train", corpus, "--set", "model.kind=toy", "--json", "--set", "tokenizer.vocab_size=300")
    assert (done.code, json.loads(done.output)["size"]) == (0, "tiny"), done.said
    done = call("check", corpus, "--set", "model.kind=toy", "--json", "--set", "tokenizer.vocab_size=300")
    assert [size["size"] for size in json.loads(done.output)["forecast"]["expected"]] == ["tiny"], done.said


def test_settings_of_another_kind_are_refused(corpus: Path, tmp_path: Path) -> None:
    arguments = {**options(corpus), "out": tmp_path / "model", "overrides": ["model.heads=4"]}
    with pytest.raises(SettingsError, match=r"model\.heads is a setting of .*transformer.* models only"):
        regard.train(**arguments)
