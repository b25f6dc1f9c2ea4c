"""docs/looking-inside.md: its commands are commands, its pictures are there, and its script puts in what is printed."""

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from regard.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "looking-inside.md").read_text("utf-8")
SCRIPT: dict[str, Any] = runpy.run_path(str(DOCS / "looking_inside.py"))
BLOCKS: list[tuple[str, str]] = SCRIPT["blocks"](PAGE)


def regard_commands() -> list[list[str]]:
    """The words of every command, without what it is piped into."""
    found = []
    for language, text in BLOCKS:
        for line in text.splitlines() if language == "sh" else ():
            words = shlex.split(line)
            assert words[0] == "regard", line
            found.append(words[1 : words.index("|")] if "|" in words else words[1:])
    return found


@pytest.mark.parametrize("words", regard_commands(), ids=lambda words: " ".join(words[:2]))
def test_a_command_can_be_given(words, monkeypatch):
    monkeypatch.chdir(DOCS)
    command: click.Command = main
    while isinstance(command, click.Group):
        command, words = command.commands[words[0]], words[1:]
    with command.make_context("regard", list(words)) as context:
        assert "en-fr" in map(str, context.params.get("models") or [context.params["model"]])


def test_the_programs_can_be_read():
    programs = [text for language, text in BLOCKS if language == "python"]
    assert len(programs) == 2
    for text in programs:
        compile(text, "looking-inside.md", "exec")


def test_every_picture_is_made_by_a_command_and_comes_with_what_is_printed():
    shown = set(re.findall(r"\]\((pictures/.+?)\)", PAGE))
    assert shown == set(re.findall(r"--svg (\S+)", PAGE))
    assert "```text\n" in PAGE
    assert [name for name in shown if not (DOCS / name).exists()] == []


def test_every_section_says_what_it_is_compared_with_and_what_it_does_not_show():
    sections = [text for text in PAGE.split("\n## ")[1:] if "```" in text]
    for text in sections:
        assert "*Compare with:*" in text and "*Not shown:*" in text, text.splitlines()[0]


def test_what_is_printed_is_put_after_its_block():
    page = "a\n\n```sh\nregard one\n```\n```text\nold\n```\n\nb\n\n```python\nx\n```\nc\n"
    filled = SCRIPT["filled"](page, lambda language, text: f"{language}: {text} \n" if language == "sh" else "")
    assert filled == "a\n\n```sh\nregard one\n```\n```text\nsh: regard one\n\n```\n\nb\n\n```python\nx\n```\nc\n"
    assert SCRIPT["filled"](filled, lambda language, text: "new") != filled
    assert SCRIPT["blocks"](filled) == SCRIPT["blocks"](page)
