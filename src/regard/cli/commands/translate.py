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

from regard.cli.group import FAST, LANGUAGES, MODELS, NEW_FILE, SET, main
from regard.cli.standard_input import turns
from regard.console import follow, say, show_lines, show_scores, show_work, standard_output
from regard.errors import SettingsError, UserError
from regard.settings import decode_settings

if TYPE_CHECKING:
    from regard.decoding.translation import Translation


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
    if not as_json and (more := decode.beside_text()):
        raise SettingsError(f"what {', '.join(more)} asks for is shown with --json only; add it")
    decode = replace(decode, links=as_json, scores=as_json)
    for text in texts:
        if os.path.isfile(text):  # noqa: PTH113 (a Path complains of a text too long for a name)
            raise UserError(f"{text} is a file; to translate its lines: regard translate --model {models[0]} < {text}")
    if not texts and sys.stdin.isatty():
        say("type a line to translate it; Ctrl-D ends")
    from regard.decoding.load import load

    translator = load(*models, fast=fast)
    with standard_output() as output:

        def answers() -> "Iterator[Translation]":
            for turn in [iter(texts)] if texts else turns(sys.stdin.buffer):
                yield from translator.stream(turn, decode)
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


@main.command()
@MODELS
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--scores", is_flag=True, help="Translate nothing: give each reference's log-probability, a line each.")
@click.option("--by-source", is_flag=True, help="Score each distinct source once, against all its references.")
@click.option("--tokenize", default="13a", show_default=True, help="sacreBLEU's tokenizer for BLEU.")
@click.option("--against", type=click.Path(path_type=Path), help="Another model folder to compare with.")
@click.option("--json", "as_json", is_flag=True, help="Scores, tables and every sentence that differs, as JSON.")
@click.option("--out", type=NEW_FILE, help="Also write the translations here, a line each.")
@FAST
@SET
def evaluate(
    models: tuple[Path, ...],
    files: tuple[Path, ...],
    scores: bool,
    by_source: bool,
    tokenize: str,
    against: Path | None,
    as_json: bool,
    out: Path | None,
    fast: str,
    overrides: tuple[str, ...],
) -> None:
    """Score a model on a test set: a TSV (source, tab, one or more references) or a source and reference files.

    BLEU, chrF and TER, of the whole and by length and rarity; with --against, whether two models differ by more than
    chance, and on which sentences.
    """
    decode = decode_settings(overrides)
    if more := decode.beside_text():
        raise SettingsError(f"{', '.join(more)} has no effect on scores; leave it out")
    if out is not None and out.resolve() in {file.resolve() for file in files}:
        raise UserError(f"--out {out} is part of the test set, and would be written over; give another name")
    if scores and (by_source or out is not None or against is not None):
        raise UserError("--scores translates nothing; leave --by-source, --against and --out out")
    from regard.decoding.load import load
    from regard.evaluation.evaluate import evaluating, score_references
    from regard.evaluation.shown import evaluation_lines, facts, names_of

    translator = load(*models, fast=fast)
    if scores:
        show_scores(follow(score_references(translator, files, decode), "pairs"), as_json=as_json)
        return
    work = evaluating(
        translator,
        files,
        decode,
        by_source=by_source,
        tokenize=tokenize,
        against=load(against, fast=fast) if against is not None else None,
        trained_in=models[0],
    )
    found = show_work(work)
    names = names_of(models, against)
    show_lines([json.dumps(facts(found, *names), ensure_ascii=False)] if as_json else evaluation_lines(found, *names))
    if out is not None:  # last, so that a full disk does not take the scores along
        out.write_text("".join(text.replace("\n", " ") + "\n" for text in found.translations), "utf-8")
