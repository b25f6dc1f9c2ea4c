"""The commands and pictures of docs/explanation/looking-inside.md exist, and its script inserts the outputs."""

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from regard.cli import main

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
PAGE = (DOCS / "looking-inside.md").read_text("utf-8")
SCRIPT: dict[str, Any] = runpy.run_path(str(DOCS / "looking_inside.py"))
BLOCKS: list[tuple[str, str]] = SCRIPT["blocks"](PAGE)


def regard_commands() -> list[list[str]]:
    """Return the arguments of every command, without the pipes that follow."""
    commands = []
    for language, text in BLOCKS:
        for line in text.splitlines() if language == "sh" else ():
            words = shlex.split(line)
            assert words[0] == "regard", line
            commands.append(words[1 : words.index("|")] if "|" in words else words[1:])
    return commands


@pytest.mark.parametrize("words", regard_commands(), ids=lambda words: " ".join(words[:2]))
def test_a_command_parses(words, monkeypatch):
    monkeypatch.chdir(DOCS)
    command: click.Command = main
    while isinstance(command, click.Group):
        command, words = command.commands[words[0]], words[1:]
    with command.make_context("regard", list(words)) as context:
        assert "en-fr" in map(str, context.params.get("models") or [context.params["model"]])


def test_the_programs_compile():
    programs = [text for language, text in BLOCKS if language == "python"]
    assert len(programs) == 2
    for text in programs:
        compile(text, "looking-inside.md", "exec")


def test_every_picture_exists_and_is_written_by_a_command():
    shown = set(re.findall(r"\]\((pictures/.+?)\)", PAGE))
    assert shown == set(re.findall(r"--svg (\S+)", PAGE))
    assert "```text\n" in PAGE
    assert [name for name in shown if not (DOCS / name).exists()] == []


def test_every_section_states_its_comparison_and_its_limits():
    sections = [text for text in PAGE.split("\n## ")[1:] if "```" in text]
    for text in sections:
        assert "*Compare with:*" in text and "*Not shown:*" in text, text.splitlines()[0]


def test_outputs_are_inserted_after_their_blocks():
    page = "a\n\n```sh\nregard one\n```\n```text\nold\n```\n\nb\n\n```python\nx\n```\nc\n"
    filled = SCRIPT["insert_outputs"](page, lambda language, text: f"{language}: {text} \n" if language == "sh" else "")
    assert filled == "a\n\n```sh\nregard one\n```\n```text\nsh: regard one\n\n```\n\nb\n\n```python\nx\n```\nc\n"
    assert SCRIPT["insert_outputs"](filled, lambda language, text: "new") != filled
    assert SCRIPT["blocks"](filled) == SCRIPT["blocks"](page)
