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


def test_the_version() -> None:
    assert call("--version").lines == [f"regard, version {regard.__version__}"]
