"""`regard translate`: translates texts, a file, or standard input."""

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from regard.cli.bundled_direction import choose_direction, identify_language, is_direction_open
from regard.cli.line_input import ready_lines
from regard.cli.main import main
from regard.cli.options import (
    BACKEND,
    BEAM_SIZE,
    COMPUTE_TYPE,
    CONFIG,
    GLOSSARY,
    LANGUAGES,
    MODELS,
    N_BEST,
    SET,
    read_glossary,
)
from regard.cli.warning_counts import WarningCounts
from regard.console import follow, say, standard_output
from regard.errors import SettingsError, UserError
from regard.settings.parser import decode_overrides, extra_outputs

if TYPE_CHECKING:
    from regard.inference.result import Translation
    from regard.language_id import Identification


@main.command()
@MODELS
@LANGUAGES
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--file", type=click.Path(path_type=Path), help="Translate the lines of this file (plain, gzip or zstd).")
@GLOSSARY
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="A JSON object per line: text, scores, tokens, alignment, alternatives, warnings, spans.",
)
@BEAM_SIZE
@N_BEST
@COMPUTE_TYPE
@BACKEND
@CONFIG
@SET
def translate(
    models: tuple[Path, ...],
    texts: tuple[str, ...],
    file: Path | None,
    glossary: Path | None,
    as_json: bool,
    compute_type: str,
    backend: str,
    config: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Translate texts, the lines of a file, or standard input.

    Put a sentence in quotes, so that it is one TEXT. Without TEXT and --file, or with -, standard input is translated.
    Without --model and --languages, the language of the text chooses between the bundled models.
    """
    changes = _decode_changes(overrides, config, as_json=as_json)
    for text in texts:
        if os.path.isfile(text):  # noqa: PTH113 (Path.is_file raises an error for a text too long for a file name)
            raise UserError(f"{text} is a file; to translate its lines: regard translate --file {text}")
    if file is not None and texts:
        raise UserError("give texts or --file, not both")
    if texts == ("-",):
        texts = ()  # standard input
    if not texts and file is None and sys.stdin.isatty():
        say("type a line to translate it; Ctrl-D ends")
    inputs, total = _inputs(texts, file, keep_carriage_returns=not as_json)
    is_markdown = file is not None and file.suffix.lower() == ".md"
    if is_markdown:
        inputs = map(_join_code, inputs)
    detected = None
    if is_direction_open():
        detected, inputs = identify_language(inputs)
    if detected is not None:
        model, message = choose_direction(detected)
        models = (model,)
        say(message)
    from regard.inference.translator_loader import load_translator

    terms = read_glossary(glossary)
    translator = load_translator(*models, compute_type=compute_type, backend=backend)
    decode = replace(translator.decode, **changes)  # raises an error if the changes do not fit the model's settings
    with standard_output() as output:

        def translations() -> "Iterator[Translation]":
            for lines in inputs:
                yield from translator.translate_iterable(lines, decode, glossary=terms)
                output.flush()  # a program may wait for these translations before it writes more input

        # On a terminal, the translations themselves show the progress, so no counter is needed.
        seen = WarningCounts()
        shown = translations() if sys.stdout.isatty() else follow(translations(), "lines", total)
        try:
            for one in shown:
                seen.add(one)
                # Each input line gives exactly one output line.
                text = _json(one, detected) if as_json else one.text if is_markdown else one.text.replace("\n", " ")
                output.write(text + "\n")
        except BrokenPipeError:
            # The program that reads the output has closed the pipe. Redirect standard output to the null device,
            # because otherwise flushing it at exit would fail as well.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
    for line in seen.lines(as_json=as_json):
        say(line)


def _json(translation: "Translation", detected: "Identification | None") -> str:
    """Return a translation as JSON, with the language that was detected, or null if the user chose the direction."""
    found = {"language": detected.language, "confidence": round(detected.confidence, 4)} if detected else None
    return json.dumps({**translation.to_dict(), "detected": found}, ensure_ascii=False)


def _decode_changes(overrides: tuple[str, ...], config: Path | None, *, as_json: bool) -> dict[str, Any]:
    """Return the decode settings to change; with JSON, scores and alignment are computed unless the user says no."""
    users = decode_overrides(overrides, config)
    if (extra := extra_outputs(users)) and not as_json:
        raise SettingsError(f"the result of {', '.join(extra)} is shown with --json only; add --json")
    return {"scores": as_json, "alignment": as_json, **users}


def _inputs(
    texts: tuple[str, ...], file: Path | None, *, keep_carriage_returns: bool
) -> tuple[Iterable[Iterator[str]], int | None]:
    """Return the input in groups of lines, and the total number of lines if it is known.

    Each group is translated before the next group is read.
    """
    if texts:
        return [iter(texts)], len(texts)
    if file is not None and file != Path("-"):
        from regard.data.formats.lines import Lines

        return [iter(Lines(file, keep_carriage_returns=keep_carriage_returns))], None
    lines = ready_lines(sys.stdin.buffer, keep_carriage_returns=keep_carriage_returns)
    return lines, _count_lines(sys.stdin.buffer)


def _join_code(lines: Iterator[str]) -> Iterator[str]:
    """Yield each line, and each block of code as one text, which is not translated."""
    from regard.inference.line_structure import mark_code

    for is_code, group in groupby(mark_code(lines), key=itemgetter(1)):
        texts = map(itemgetter(0), group)
        if is_code:
            yield "\n".join(texts)
        else:
            yield from texts


def _count_lines(stream: IO[bytes]) -> int | None:
    """Return the number of lines on standard input if it is a regular file, or None if it is a pipe or a terminal."""
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return None
    start = stream.tell()
    blocks = iter(lambda: stream.read(1 << 20), b"")
    count = sum(block.count(b"\n") for block in blocks)
    stream.seek(start)
    return count
