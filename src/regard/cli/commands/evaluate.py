"""`regard evaluate`: computes BLEU, chrF and TER of a model on a test set."""

import json
from pathlib import Path

import click

from regard.cli.main import main
from regard.cli.options import (
    BACKEND,
    BEAM_SIZE,
    COMPUTE_TYPE,
    CONFIG,
    GLOSSARY,
    LANGUAGES,
    MODELS,
    NEW_FILE,
    SET,
    read_glossary,
)
from regard.console import show_lines, show_work
from regard.errors import SettingsError, UserError
from regard.settings.parser import decode_overrides, extra_outputs


@main.command()
@MODELS
@LANGUAGES
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--by-source", is_flag=True, help="Score each distinct source once, against all its references.")
@click.option("--tokenize", default="13a", show_default=True, help="sacreBLEU's tokenizer for BLEU.")
@GLOSSARY
@click.option("--against", type=click.Path(path_type=Path), help="Another model folder to compare with.")
@click.option("--json", "as_json", is_flag=True, help="Scores, tables and every sentence that differs, as JSON.")
@click.option("-o", "--out", type=NEW_FILE, help="Also write the translations to this file, one per line.")
@BEAM_SIZE
@COMPUTE_TYPE
@BACKEND
@CONFIG
@SET
def evaluate(
    models: tuple[Path, ...],
    files: tuple[Path, ...],
    by_source: bool,
    tokenize: str,
    glossary: Path | None,
    against: Path | None,
    as_json: bool,
    out: Path | None,
    compute_type: str,
    backend: str,
    config: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Compute BLEU, chrF and TER of a model on a test set.

    FILES are a TSV (source, tab, one or more references), or a source file and one or more reference files. Scores are
    printed for the whole test set, and by sentence length and word rarity. --against compares the model with another
    one: is the difference significant, and on which sentences do the two models differ?
    """
    changes = decode_overrides(overrides, config)
    if extra := extra_outputs(changes):
        raise SettingsError(f"{', '.join(extra)} has no effect on scores; leave it out")
    if out is not None and out.resolve() in {file.resolve() for file in files}:
        raise UserError(f"--out {out} is a file of the test set and would be overwritten; give another name")
    from regard.api import load
    from regard.evaluation.evaluator import iter_evaluate
    from regard.evaluation.summary import evaluation_lines, facts, system_names

    terms = read_glossary(glossary)
    model = load(*models, compute_type=compute_type, backend=backend)
    evaluation = show_work(
        iter_evaluate(
            model,
            files,
            changes=changes,
            by_source=by_source,
            tokenize=tokenize,
            against=load(against, compute_type=compute_type, backend=backend) if against is not None else None,
            trained_in=models[0],
            glossary=terms,
        )
    )
    names = system_names(models, against)
    lines = evaluation_lines(evaluation, *names)
    show_lines([json.dumps(facts(evaluation, *names), ensure_ascii=False)] if as_json else lines)
    if out is not None:  # written after the scores are shown, so that they are not lost if the disk is full
        out.write_text("".join(text.replace("\n", " ") + "\n" for text in evaluation.translations), "utf-8")
