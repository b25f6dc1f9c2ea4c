"""`regard evaluate`: BLEU, chrF and TER of a model on a test set."""

import json
from pathlib import Path

import click

from regard.cli.commands.score import show_scores
from regard.cli.main import main
from regard.cli.options import FAST, MODELS, NEW_FILE, SET
from regard.console import follow, show_lines, show_work
from regard.errors import SettingsError, UserError
from regard.settings.parser import decode_settings


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
    if more := decode.extra_outputs():
        raise SettingsError(f"{', '.join(more)} has no effect on scores; leave it out")
    if out is not None and out.resolve() in {file.resolve() for file in files}:
        raise UserError(f"--out {out} is part of the test set, and would be written over; give another name")
    if scores and (by_source or out is not None or against is not None):
        raise UserError("--scores translates nothing; leave --by-source, --against and --out out")
    from regard.evaluation.evaluator import iter_evaluate, score_references
    from regard.evaluation.summary import evaluation_lines, facts, names_of
    from regard.inference.translator_loader import load_translator

    translator = load_translator(*models, fast=fast)
    if scores:
        show_scores(follow(score_references(translator, files, decode), "pairs"), as_json=as_json)
        return
    work = iter_evaluate(
        translator,
        files,
        decode,
        by_source=by_source,
        tokenize=tokenize,
        against=load_translator(against, fast=fast) if against is not None else None,
        trained_in=models[0],
    )
    found = show_work(work)
    names = names_of(models, against)
    show_lines([json.dumps(facts(found, *names), ensure_ascii=False)] if as_json else evaluation_lines(found, *names))
    if out is not None:  # last, so that a full disk does not take the scores along
        out.write_text("".join(text.replace("\n", " ") + "\n" for text in found.translations), "utf-8")
