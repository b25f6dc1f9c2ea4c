"""`regard look`: what it shows for which options."""

import json
from pathlib import Path

import pytest
from tests.cli.runner import call


def test_look_shows_an_overview(model: Path) -> None:
    done = call("look", "--model", model, "a bo cat")
    assert (done.code, done.said) == (0, "")
    assert done.lines[0] == "source  a bo cat"
    assert "mean of the 2 heads of decoder.1.cross: target attends to source" in done.lines
    assert any(line.startswith("encoder.1.self.2: ") for line in done.lines)
    assert "\x1b" not in done.output.decode()


def test_look_and_translate_give_the_same_text(model: Path) -> None:
    words = call("translate", "--model", model, "a bo cat").lines[0].split()
    found = json.loads(call("look", "--model", model, "--json", "a bo cat").output)
    assert found["text"].split() == words
    assert found["torch_text"] is None
    assert "encoder.1.self.2.weight" in found["numbers"]


def test_look_says_that_it_does_not_protect_spans(model: Path) -> None:
    done = call("look", "--model", model, "a {name} cat")
    assert "`regard translate` puts a stand-in in the place of {name}" in done.said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--word", "bo"], "encoder.1.self, mean of 2 heads: bo"),
        (
            ["--word", "bo", "--trace", "encoder.1.self.2"],
            "1. Input: the vector of this token, 16 numbers",
        ),
        (["--word", "bo", "--trace", "encoder"], "encoder.1.self.output: output of self-attention"),
        (["--trace", "search"], "Finished hypotheses, best score first"),
        (
            ["--trace", "encoder.self.rollout", "--tokens"],
            "rollout through 1 layers (mean of heads, half for the residual)",
        ),
        (["--target", "cat a"], "(given target)"),
        (["--without", "positions"], "Without positions, the order of the words has no effect."),
        (["--without", "scaling"], "without scaling"),
    ],
)
def test_look_shows_what_the_options_ask_for(model: Path, words: list[str], said: str) -> None:
    done = call("look", "--model", model, "a bo cat", *words)
    assert done.code == 0, done.said
    assert said in done.output.decode()


def test_look_draws_the_model(model: Path, tmp_path: Path) -> None:
    done = call("look", "--model", model, "--svg", tmp_path / "model.svg")
    assert done.code == 0, done.said
    assert done.lines[1].startswith("encoder, 1 layers, each with: self-attention, 2 heads of 8")
    assert (tmp_path / "model.svg").read_text("utf-8").startswith("<svg")


def test_look_writes_a_page_and_a_picture(model: Path, tmp_path: Path) -> None:
    page, picture = tmp_path / "a.html", tmp_path / "a.svg"
    done = call("look", "--model", model, "a bo", "--html", page, "--svg", picture, "--trace", "encoder.1.self.1")
    assert (done.code, done.output) == (0, b"")
    assert done.said.splitlines() == [
        f"wrote {page}, a page that needs no other file",
        f"{picture} shows encoder.1.self.1: source attends to source",
    ]
    assert page.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a bo", "--word", "dog"], "there is no word 'dog' here; the words are: a, bo, </s>; "),
        (
            ["a bo", "--trace", "encoder.2.self.1"],
            "there is no attention 'encoder.2.self'; this model has 1 encoder and 1 decoder layers",
        ),
        (["  "], "the text is blank; give a text to look at"),
        (["--word", "bo"], "--word needs a TEXT; without TEXT, `regard look` draws the model\n"),
        (["--json"], "--json needs a TEXT; without TEXT, `regard look` draws the model\n"),
        (
            ["a bo", "--set", "decode.n_best=3", "--set", "decode.alignment=true"],
            "decode.n_best, decode.alignment has no effect on `regard look`; leave it out\n",
        ),
        (["a bo", "--html", "page.txt"], "page.txt: a view is saved as .html or .json"),
        (["a bo", "--svg", "a.svg"], "--svg draws one map; name it"),
        (["a bo", "--html", "nowhere/a.html"], "nowhere/a.html: the folder nowhere does not exist; create it first"),
        (["a bo", "--svg", "."], ". is a folder; give the name of a file"),
        (
            ["a bo", "--word", "bo", "--html", "a.html"],
            "--word is for the terminal; --html and --json contain every word",
        ),
        (
            ["a bo", "--tokens", "--json"],
            "--tokens is for the terminal and --svg; --html shows both, --json has tokens",
        ),
    ],
)
def test_bad_options_of_look_are_refused(model: Path, words: list[str], message: str) -> None:
    done = call("look", "--model", model, *words)
    assert (done.code, done.output) == (2, b"")
    assert done.said.startswith(f"error: {message}")
