"""`regard translate` and `regard evaluate`: a model at work."""

import json
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from regard.cli.line_input import ready_lines
from regard.cli.main import main
from regard.cli.options import FAST, LANGUAGES, MODELS, SET
from regard.console import follow, say, standard_output
from regard.errors import SettingsError, UserError
from regard.settings.parser import decode_settings

if TYPE_CHECKING:
    from regard.inference.result import Translation


@main.command()
@MODELS
@LANGUAGES
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--json", "as_json", is_flag=True, help="A JSON object per line: text, scores, pieces, links, alternatives."
)
@FAST
@SET
def translate(
    models: tuple[Path, ...], texts: tuple[str, ...], as_json: bool, fast: str, overrides: tuple[str, ...]
) -> None:
    """Translate each TEXT (put a sentence in quotes), or standard input line by line."""
    decode = decode_settings(overrides)
    if not as_json and (more := decode.extra_outputs()):
        raise SettingsError(f"what {', '.join(more)} asks for is shown with --json only; add it")
    decode = replace(decode, alignment=as_json, scores=as_json)
    for text in texts:
        if os.path.isfile(text):  # noqa: PTH113 (a Path complains of a text too long for a name)
            raise UserError(f"{text} is a file; to translate its lines: regard translate --model {models[0]} < {text}")
    if not texts and sys.stdin.isatty():
        say("type a line to translate it; Ctrl-D ends")
    from regard.inference.translator_loader import load_translator

    translator = load_translator(*models, fast=fast)
    with standard_output() as output:

        def answers() -> "Iterator[Translation]":
            for turn in [iter(texts)] if texts else ready_lines(sys.stdin.buffer):
                yield from translator.translate_iterable(turn, decode)
                output.flush()  # somebody may be waiting for the answer

        translations = answers()
        try:
            # On a terminal the translations themselves show the progress.
            if not sys.stdout.isatty():
                translations = follow(translations, "lines", len(texts) or _count_lines(sys.stdin.buffer))
            for found in translations:
                # A line in is a line out, whatever the model wrote.
                text = json.dumps(asdict(found), ensure_ascii=False) if as_json else found.text.replace("\n", " ")
                output.write(text + "\n")
        except BrokenPipeError:
            # Whoever read us has enough. Nothing more can be written, not even at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _count_lines(stream: IO[bytes]) -> int | None:
    """How many lines a file fed to us has, to tell the time left; a pipe does not say."""
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return None
    start = stream.tell()
    blocks = iter(lambda: stream.read(1 << 20), b"")
    count = sum(block.count(b"\n") for block in blocks)
    stream.seek(start)
    return count
