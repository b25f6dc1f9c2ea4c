"""The commands. Each is one function call plus printing; what is heavy is imported by the command that needs it."""

import json
import os
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from regard import __version__
from regard.console import (
    fail,
    follow,
    say,
    show_lines,
    show_pace,
    show_report,
    show_scores,
    show_speed,
    show_training,
    show_work,
    standard_output,
)
from regard.data import numbers
from regard.errors import SettingsError, UserError
from regard.listing import as_markdown, listed
from regard.settings import SIZES, assemble, user_layer

if TYPE_CHECKING:
    from regard.folder import ModelFolder
    from regard.inside.aligning import Aligning
    from regard.inside.sample import Sample
    from regard.training.events import Event

SET = click.option(
    "--set", "overrides", multiple=True, metavar="SECTION.NAME=VALUE", help="Change any setting, e.g. decode.beams=1."
)
FAST = click.option(
    "--fast",
    type=click.Choice(["float32", "int8", "int16", "bfloat16"]),
    default="float32",
    show_default=True,
    help="How to compute; less precise is quicker.",
)
MODEL = click.option("--model", required=True, type=click.Path(path_type=Path), help="A model folder.")
MODELS = click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path),
    help="A model folder; given several times, the models decide together.",
)


class _Commands(click.Group):
    """Turns errors that a user can mend into one line and exit code 2."""

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except UserError as error:
            fail(str(error))
            context.exit(2)
        except KeyboardInterrupt:
            context.exit(130)
        except OSError as error:
            # A full disk, a folder that may not be written: nothing of ours is wrong, and nothing is half done.
            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
            context.exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="regard")
def main() -> None:
    """Regard: two text files in, a translator out.

    \b
    regard check train.en train.fr
    regard train train.en train.fr --out my-model
    regard translate --model my-model "I am a student."
    regard evaluate --model my-model test.tsv
    regard look --model my-model "I am a student."
    """


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The model folder to write.")
@click.option(
    "--valid",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A validation file; for two: --valid val.en --valid val.fr. Else some pairs are held out.",
)
@click.option("--size", type=click.Choice(list(SIZES)), help="Else chosen from the data and the machine.")
@click.option("--budget", metavar="TIME", help="How long to train, e.g. 20m or 1h30m.")
@click.option("--steps", type=click.IntRange(min=1), help="How many steps to train.")
@click.option("--from", "parent", type=click.Path(path_type=Path), help="Start from this model: fine-tune it.")
@click.option("--average", is_flag=True, help="FILES are model folders: write the mean of their weights.")
@click.option("--languages", nargs=2, metavar="SOURCE TARGET", help="Else from the file names.")
@click.option("--settings", "settings_file", type=click.Path(path_type=Path), help="A TOML file of settings.")
@SET
def train(
    files: tuple[Path, ...],
    out: Path,
    valid: tuple[Path, ...],
    size: str | None,
    budget: str | None,
    steps: int | None,
    parent: Path | None,
    average: bool,
    languages: tuple[str, str] | None,
    settings_file: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Train a translator on FILES.

    FILES are two line-aligned texts (train.en train.fr), or one file of both sides: TSV with a tab between source and
    target, JSON lines, TMX, gettext's PO or MO; plain, gzip or zstd; - is a TSV from standard input. Several corpora
    may follow each other, each perhaps with a weight (web.tsv=0.3: draw three pairs in ten each epoch). The same
    command goes on where an interrupted one was.
    """
    if average:
        _average(files, out, valid, size, budget, steps, parent, languages, settings_file, overrides)
        return
    user_layer(overrides, settings_file)
    from regard.training.plan import parse_duration
    from regard.training.run import train as run

    stop = _Stop()
    _watch(
        run(
            files,
            out=out,
            valid=valid,
            size=size,
            budget=parse_duration(budget) if budget is not None else None,
            steps=steps,
            parent=parent,
            languages=languages,
            overrides=overrides,
            settings_file=settings_file,
            stop=stop,
        ),
        stop,
    )


def _average(folders: tuple[Path, ...], out: Path, *others: object) -> None:
    """Write the mean of models."""
    if any(others):
        raise UserError("--average makes a model of others as they are; give it their folders and --out, and no more")
    from regard.training.average import average

    average(folders, out=out)
    say(f"the mean of {len(folders)} models is in {out}; its card is {out / 'card.md'}")


class _Stop:
    """Asked to stop while learning, finish the step and save; asked twice, or before, go at once: nothing is lost."""

    def __init__(self) -> None:
        self.signal = 0
        self.learning = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._heard)

    def __call__(self) -> bool:
        return self.signal != 0

    def _heard(self, number: int, frame: object) -> None:
        if self.signal or not self.learning:
            say("stopped; the same command goes on with what is done")
            sys.exit(128 + number)
        self.signal = number
        say("stopping after this step; once more stops at once")


def _watch(events: "Iterator[Event]", stop: _Stop) -> None:
    """Show a run; exit as a signal demands if it was stopped by one."""
    from regard.training.events import Planned, Stopped
    from regard.training.loop import Step
    from regard.training.validation import Validation

    def noting() -> "Iterator[Event]":
        for event in events:
            stop.learning = isinstance(event, Planned | Step | Validation)
            yield event

    if isinstance(show_training(noting()), Stopped):
        sys.exit(128 + stop.signal)


@main.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--valid", multiple=True, type=click.Path(path_type=Path), help="A validation file, as for train.")
@click.option("--test", multiple=True, type=click.Path(path_type=Path), help="A test file; for two: give it twice.")
@click.option("--languages", nargs=2, metavar="SOURCE TARGET", help="Which to read where a file has several.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@SET
def check(
    files: tuple[Path, ...],
    valid: tuple[Path, ...],
    test: tuple[Path, ...],
    languages: tuple[str, str] | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Report on FILES before anyone trains on them: what is odd, what would be left out, how long it would take."""
    user = user_layer(overrides)
    from regard.data.check import check as look
    from regard.data.pairs import check_direction, corpora
    from regard.data.standard_input import keep_stream, reads_standard_input
    from regard.training.forecast import forecast

    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "standard-input.tsv"
        if reads_standard_input(files):
            keep_stream(sys.stdin.buffer, kept)
        train, *others = (
            corpora(paths, languages=languages, standard_input=kept if paths is files else None)
            for paths in (files, valid, test)
        )
        if languages is None:
            check_direction([*train, *others[0], *others[1]])
        report = show_work(look(train, *others))
        expected = show_work(forecast(train, report, user))
    if as_json:
        click.echo(json.dumps({**asdict(report), "forecast": asdict(expected)}, ensure_ascii=False, indent=2))
    else:
        show_report(report, expected)


@main.command()
@MODELS
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line: text, scores, pieces, alternatives.")
@FAST
@SET
def translate(
    models: tuple[Path, ...], texts: tuple[str, ...], as_json: bool, fast: str, overrides: tuple[str, ...]
) -> None:
    """Translate each TEXT (put a sentence in quotes), or standard input line by line."""
    decode = assemble(user_layer(overrides)).decode
    if decode.best > 1 and not as_json:
        raise SettingsError("several translations of a text (decode.best) are shown with --json only; add it")
    if decode.log_probabilities and not as_json:
        raise SettingsError("log-probabilities of pieces (decode.log_probabilities) are shown with --json only; add it")
    for text in texts:
        if os.path.isfile(text):  # noqa: PTH113 (a Path complains of a text too long for a name)
            raise UserError(f"{text} is a file; to translate its lines: regard translate --model {models[0]} < {text}")
    if not texts and sys.stdin.isatty():
        say("type a line to translate it; Ctrl-D ends")
    from regard.decoding.load import load

    translator = load(*models, fast=fast)
    lines: Iterator[str] = iter(texts) if texts else _lines(sys.stdin.buffer)
    # A person who types wants an answer after each line; a file goes quicker in large windows.
    window = 1 if not texts and sys.stdin.isatty() else 2048
    translations = translator.stream(lines, decode, window=window)
    with standard_output() as output:
        try:
            # On a terminal the translations themselves show the progress.
            if not sys.stdout.isatty():
                translations = follow(translations, "lines", len(texts) or _count_lines(sys.stdin.buffer))
            for found in translations:
                # A line in is a line out, whatever the model wrote.
                text = json.dumps(asdict(found), ensure_ascii=False) if as_json else found.text.replace("\n", " ")
                output.write(text + "\n")
                if window == 1:
                    output.flush()
            output.flush()
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


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """Lines of standard input, read as corpora are."""
    from regard.data.lines import decode_line

    return (decode_line(line, "standard input", number) for number, line in enumerate(stream, start=1))


@main.command()
@MODELS
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--scores", is_flag=True, help="Translate nothing: give each reference's log-probability, a line each.")
@click.option("--by-source", is_flag=True, help="Score each distinct source once, against all its references.")
@click.option("--tokenize", default="13a", show_default=True, help="sacreBLEU's tokenizer for BLEU.")
@click.option("--against", type=click.Path(path_type=Path), help="Another model folder to compare with.")
@click.option("--json", "as_json", is_flag=True, help="Scores, tables and every sentence that differs, as JSON.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the translations here, a line each.")
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
    decode = assemble(user_layer(overrides)).decode
    if out is not None and not out.parent.is_dir():
        raise UserError(f"--out {out}: there is no folder {out.parent}; make it first")
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
    if out is not None:
        out.write_text("".join(text.replace("\n", " ") + "\n" for text in found.translations), "utf-8")
    names = names_of(models[0], against)
    show_lines([json.dumps(facts(found, *names), ensure_ascii=False)] if as_json else evaluation_lines(found, *names))


@main.group()
def bench() -> None:
    """Measure a model on this machine."""


@bench.command("translate")
@MODEL
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@FAST
@SET
def bench_translate(model: Path, as_json: bool, fast: str, overrides: tuple[str, ...]) -> None:
    """Measure how fast a model translates lines of standard input; it takes about a minute."""
    decode = assemble(user_layer(overrides)).decode
    if sys.stdin.isatty():
        raise UserError(f"give it lines to translate: regard bench translate --model {model} < lines.txt")
    from regard.decoding.speed import Speed, measure

    for found in measure(model, list(_lines(sys.stdin.buffer)), decode, fast=fast):
        if not isinstance(found, Speed):
            say(f"measuring: {found}")
        elif as_json:
            click.echo(json.dumps(asdict(found)))
        else:
            show_speed(found)


@bench.command("train")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--size", type=click.Choice(list(SIZES)), help="Instead of the size chosen by the data.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
@SET
def bench_train(files: tuple[Path, ...], size: str | None, as_json: bool, overrides: tuple[str, ...]) -> None:
    """Measure how fast this machine learns from FILES; it takes about a minute, and keeps nothing."""
    user = user_layer(overrides)
    from regard.data.check import check as look
    from regard.data.pairs import corpora
    from regard.training.pace import measure

    train = corpora(files)
    found = show_work(measure(train, show_work(look(train)), size, user))
    if as_json:
        click.echo(json.dumps(asdict(found)))
    else:
        show_pace(found)


@main.command()
@MODEL
@click.argument("text", required=False)
@click.option("--word", help="Where this word looks; the second such word is word:2.")
@click.option(
    "--trace",
    multiple=True,
    metavar="ADDRESS",
    help="One head (encoder.2.self.5), with --word its arithmetic; a map over heads (decoder.cross.mean, .max, "
    ".rollout); search; or encoder or decoder, to follow --word through it.",
)
@click.option("--target", help="Look at this translation instead of the model's own.")
@click.option("--without", metavar="PART", help="Without positions, scaling, or a head (encoder.2.self.5).")
@click.option("--pieces", is_flag=True, help="Pieces instead of words.")
@click.option("--html", type=click.Path(path_type=Path), help="Write one self-contained page.")
@click.option("--svg", type=click.Path(path_type=Path), help="Write the map of --trace as a picture.")
@click.option("--json", "as_json", is_flag=True, help="The numbers as JSON; all numbers of the heads of --trace.")
@SET
def look(
    model: Path,
    text: str | None,
    word: str | None,
    trace: tuple[str, ...],
    target: str | None,
    without: str | None,
    pieces: bool,
    html: Path | None,
    svg: Path | None,
    as_json: bool,
    overrides: tuple[str, ...],
) -> None:
    """Look inside: every number of translating TEXT. Without TEXT, draw the model."""
    decode = assemble(user_layer(overrides)).decode
    from regard.inside.model import load
    from regard.inside.shown import model_lines, paper_of, save_svg, view_lines

    loaded = load(model)
    paper = paper_of(os.environ, sys.stdout.isatty())
    if text is None:
        if word or trace or target or without or html or as_json:
            raise UserError("give a text to look at; without one, the model is drawn")
        show_lines(model_lines(loaded, svg, paper))
        return
    view = loaded.look(text, decode, target=target, without=without)
    if html is not None:
        view.save(html, trace)
        say(f"the page is in {html}; it needs nothing else")
    if svg is not None:
        say(save_svg(view, trace, svg, pieces=pieces))
    if as_json:
        show_lines([view.json(trace).rstrip("\n")])
    elif html is None and svg is None:
        # All of it first: an error should not come after half an answer.
        show_lines(list(view_lines(loaded, view, trace, word, paper, pieces=pieces)))


@main.group()
def measure() -> None:
    """Measure what heads and layers do, and what they are worth."""


COUNT = click.option("--count", default=500, show_default=True, type=click.IntRange(min=10), help="How many pairs.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
HTML = click.option("--html", type=click.Path(path_type=Path), help="Write one self-contained page.")
SVG = click.option("--svg", type=click.Path(path_type=Path), help="Write the picture.")


@measure.command("heads")
@MODEL
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@COUNT
@HTML
@SVG
@AS_JSON
def measure_heads(
    model: Path, files: tuple[Path, ...], count: int, html: Path | None, svg: Path | None, as_json: bool
) -> None:
    """Measure every head: where it looks, its role, and what is lost without it.

    On pairs of FILES, or, without any, of the built-in language, where also the truth is known.
    """
    from regard.folder import open_folder
    from regard.inside.measured import measure as run

    opened = open_folder(model)
    sample = _sample(opened, files, count)
    found = show_work(run(opened.build(), opened.tokenizer, sample, name=str(model)))
    _show_measured(found, html, svg, as_json)


@measure.command("it")
@MODEL
@COUNT
@AS_JSON
def measure_it(model: Path, count: int, as_json: bool) -> None:
    """The "it" laboratory: do heads follow what "it" stands for, and does the French pronoun depend on them?

    On COUNT pairs of sentences of the built-in language that differ in the deciding word alone.
    """
    from regard.data.language import flips
    from regard.folder import open_folder
    from regard.inside.findings import laboratory_lines
    from regard.inside.laboratory import measure_it as run
    from regard.inside.model import load
    from regard.inside.sample import SEED, SPLIT, check_languages
    from regard.inside.shown import paper_of

    check_languages(open_folder(model).languages)
    loaded = load(model)
    pairs = list(follow(islice(flips(SEED, SPLIT), count), "pairs", count))
    found = show_work(run(loaded.torch, loaded.pieces, pairs, lambda texts: (one.text for one in loaded.stream(texts))))
    if as_json:
        click.echo(json.dumps({**asdict(found), "verdict": found.verdict}, ensure_ascii=False))
    else:
        show_lines(list(laboratory_lines(found, paper_of(os.environ, sys.stdout.isatty()))))


@measure.command("layers")
@MODEL
@COUNT
@HTML
@SVG
@AS_JSON
def measure_layers(model: Path, count: int, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """Measure what each layer of the encoder knows about words and sentences of the built-in language."""
    from regard.folder import open_folder
    from regard.inside.layerplot import Layers
    from regard.inside.probes import measure_layers as run

    opened = open_folder(model)
    sample = _sample(opened, (), count)
    found = Layers(str(model), len(sample), sample.name, show_work(run(opened.build(), sample)))
    _show_measured(found, html, svg, as_json)


@measure.command("alignment")
@MODEL
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@COUNT
@AS_JSON
def measure_alignment(model: Path, files: tuple[Path, ...], count: int, as_json: bool) -> None:
    """Find the head that aligns words best, and store it in the model folder; align the pairs of FILES by it.

    The head is found on the built-in language. A model of other languages finds it on FILES, by words that stand once
    on both sides.
    """
    from regard.folder import open_folder
    from regard.inside.aligning import align_files
    from regard.inside.findings import alignment_lines, link_line

    opened = open_folder(model)
    chosen = opened.alignment
    if chosen is None or not files:
        found = _choose_head(opened, files, count)
        chosen = found.chosen
        if files:
            say("\n".join(alignment_lines(found)))
        elif as_json:
            click.echo(json.dumps(asdict(found)))
        else:
            show_lines(alignment_lines(found))
    if files:
        pairs = follow(align_files(opened.build(), opened.tokenizer, files, chosen), "pairs")
        show_lines(link_line(item, links, as_json=as_json) for item, links in pairs)


def _choose_head(opened: "ModelFolder", files: tuple[Path, ...], count: int) -> "Aligning":
    """Find the head, and store it if it is any good."""
    from regard.decoding.convert import make_fast
    from regard.folder import store_alignment
    from regard.inside.aligning import choose_head

    found = show_work(choose_head(opened.build(), _sample(opened, files, count)))
    if found.usable:
        store_alignment(opened.path, found.chosen)
        make_fast(opened.path)
    return found


def _sample(opened: "ModelFolder", files: tuple[Path, ...], count: int) -> "Sample":
    """Pairs of the user's, or of the built-in language."""
    from regard.inside.sample import check_languages, files_sample, language_sample

    if files:
        return files_sample(opened.tokenizer, files, count, opened.settings.longest)
    check_languages(opened.languages)
    return language_sample(opened.tokenizer, count)


def _show_measured(found: Any, html: Path | None, svg: Path | None, as_json: bool) -> None:
    """A measurement that has a page, a picture, JSON and lines."""
    from regard.files import write_atomically
    from regard.inside.shown import paper_of

    for path, text in ((html, found.html), (svg, found.svg)):
        if path is not None:
            write_atomically(path, text())
            say(f"wrote {path}")
    if as_json:
        click.echo(json.dumps(found.json(), ensure_ascii=False))
    elif html is None and svg is None:
        show_lines(list(found.lines(paper_of(os.environ, sys.stdout.isatty()))))


@main.command()
@click.argument("word", default="")
@click.option("--json", "as_json", is_flag=True, help="The settings as JSON.")
def settings(word: str, as_json: bool) -> None:
    """List every setting, or those about WORD: default, type, meaning, and what each size changes."""
    if as_json:
        click.echo(json.dumps([asdict(one) for one in listed(word)], indent=2))
    else:
        click.echo(as_markdown(word), nl=False)


@main.command()
@click.option("--views", is_flag=True, help="Check the views and measures on heads planted into a model instead.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
def doctor(views: bool, as_json: bool) -> None:
    """See whether all works here: versions, devices, paths, and a model trained for ten steps and used."""
    if views:
        _check_views(as_json)
        return
    from regard.doctor.examine import examine
    from regard.doctor.findings import Report

    for found in examine():
        if not isinstance(found, Report):
            say(f"looking at {found}")
            continue
        show_lines([json.dumps(found.facts(), indent=2)] if as_json else found.lines())
        if found.wrong:
            fail(f"not all is well: {', '.join(found.wrong)}")
            sys.exit(1)


def _check_views(as_json: bool) -> None:
    from regard.inside.checked import check_views

    found = check_views()
    lines = [f"{'right' if one.passed else 'WRONG':6} {one.name}: {one.found}" for one in found]
    show_lines([json.dumps([asdict(one) for one in found], indent=2)] if as_json else lines)
    if wrong := [one.name for one in found if not one.passed]:
        fail(f"views tell what is not so: {', '.join(wrong)}")
        sys.exit(1)


@main.command()
@click.option("--out", default="demo-model", show_default=True, type=click.Path(path_type=Path), help="Where to train.")
@click.option("--steps", default=numbers.STEPS, show_default=True, help="How many steps to train.")
@click.option("--write", type=click.Path(path_type=Path), help="Only write pairs of the built-in language to this TSV.")
@click.option("--count", default=100_000, show_default=True, type=click.IntRange(min=1), help="How many to write.")
@click.option("--seed", default=1, show_default=True, help="Which to write.")
@click.option(
    "--split", default="train", show_default=True, help="train, valid, test, noun-pairs, noun-words or longer."
)
@click.option("--truth", is_flag=True, help="Write what is known of each pair beside it, as lines of JSON.")
def demo(out: Path, steps: int, write: Path | None, count: int, seed: int, split: str, truth: bool) -> None:
    """Watch a model learn to spell numbers, then try it on numbers it never saw.

    With --write, write English-French pairs of the built-in language instead, any number of them.
    """
    if write is not None:
        _write_language(write, count, seed, split, truth)
        return
    from regard.decoding.load import load
    from regard.training.run import train as run

    learnt, unseen = numbers.split(20_000, 500, seed=1)
    files = [out / "run" / "numbers.digits", out / "run" / "numbers.words"]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    for file, side in zip(files, (0, 1), strict=True):
        file.write_text("".join(pair[side] + "\n" for pair in learnt), "utf-8")
    say(f"learning to spell numbers from {len(learnt):,} examples such as {learnt[-1][0]} → {learnt[-1][1]}")
    stop = _Stop()
    _watch(run(files, out=out, size="tiny", steps=steps, overrides=numbers.SETTINGS, stop=stop), stop)
    translator = load(out)
    translations = translator.translate_all([digits for digits, _ in unseen])
    right = sum(found.text == words for found, (_, words) in zip(translations, unseen, strict=True))
    click.echo(f"\nNumbers it never saw, {right} of {len(unseen)} right:\n")
    for found in translations[:10]:
        click.echo(f"  {found.source:>7}  {found.text}")
    click.echo(f'\nTry your own: regard translate --model {out} "90210"')


def _write_language(path: Path, count: int, seed: int, split: str, truth: bool) -> None:
    """Write pairs of the built-in language."""
    from regard.data.language import pairs
    from regard.data.language.export import export

    found = follow(islice(pairs(seed, split), count), "pairs", count)
    for file in export(path, found, truth=truth):
        say(f"wrote {file}: {count:,} lines")
