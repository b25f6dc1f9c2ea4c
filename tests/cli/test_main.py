"""The command `regard` itself: help and version."""

import click
import pytest
from tests.cli.runner import call

import regard
from regard.cli import main
from regard.cli.commands.bench.group import bench
from regard.cli.commands.measure import measure


def test_every_flag_has_help() -> None:
    for name, command in (*main.commands.items(), *bench.commands.items(), *measure.commands.items()):
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (name, parameter.name)


@pytest.mark.parametrize(
    "words", [["--help"], ["-h"], ["train", "-h"], ["translate", "--help"], ["evaluate", "-h"], ["check", "-h"]]
)
def test_help(words: list[str]) -> None:
    done = call(*words)
    assert done.code == 0
    assert done.output.startswith(b"Usage: ")
    assert done.said == ""


@pytest.mark.parametrize("words", [[], ["measure"], ["bench"]])
def test_no_summary_of_a_command_is_cut(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in call(*words, "--help").output.decode().partition("Commands:")[2]


@pytest.mark.parametrize(("command", "example"), [("train", "train.dropout=0.1"), ("look", "decode.length_penalty=1")])
def test_the_help_of_set_gives_a_setting_of_the_command(command: str, example: str) -> None:
    assert f"Change a setting, e.g. {example}." in " ".join(call(command, "--help").output.decode().split())


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["look", "x", "--without", "positions", "--without", "scaling"], "--without"),
        (["look", "x", "-m", "a", "--model", "b"], "--model"),
        (["bench", "translate", "-m", "a", "-m", "b"], "--model"),
        (["measure", "heads", "--count", "10", "--count=20"], "--count"),
        (["train", "x", "-o", "a", "--languages", "a", "b", "--languages", "c", "d"], "--languages"),
    ],
)
def test_an_option_given_twice_is_refused(words: list[str], option: str) -> None:
    done = call(*words)
    assert (done.code, done.output) == (2, b"")
    assert done.said.endswith(f"Error: {option} was given twice; give it once\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["translate", "--alpha", "1", "x"], "--alpha: use --set decode.length_penalty=VALUE"),
        (["evaluate", "--length-penalty=1", "x"], "--length-penalty: use --set decode.length_penalty=VALUE"),
        (["translate", "--best", "2", "x"], "--best: use --n-best"),
        (["bench", "translate", "--beams", "2"], "--beams: use --beam-size"),
        (["train", "x", "--warmup", "2"], "--warmup: use --set train.warmup_steps=VALUE"),
        (["bench", "train", "x", "--vocab-size", "2"], "--vocab-size: use --set tokenizer.vocab_size=VALUE"),
        (["translate", "--dropout", "2"], "No such option '--dropout'."),
        (["measure", "heads", "--seed", "2"], "No such option '--seed'."),
        (["look", "--pieces", "x"], "--pieces is now --tokens"),
    ],
)
def test_a_setting_written_as_an_option_is_named(words: list[str], message: str) -> None:
    done = call(*words)
    assert (done.code, done.output) == (2, b"")
    assert done.said.endswith(f"Error: {message}\n")


def test_the_version() -> None:
    assert call("--version").lines == [f"regard, version {regard.__version__}"]
