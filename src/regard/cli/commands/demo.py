"""`regard demo`: the bundled model at work, a model that learns the built-in language, and where both look."""

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.commands.synthetic import _write
from regard.cli.main import main
from regard.cli.training_display import Stop, watch
from regard.console import follow, say, show_work
from regard.errors import UserError
from regard.model_folder import bundled

if TYPE_CHECKING:
    from regard.api import Model
    from regard.data.synthetic import Pair

STEPS = 880

PAIRS_PER_STEP = 130  # about what a step reads: each pair is seen once

# One piece for most words; no dropout, no decay, because nothing is seen twice; the last weights are the best of such a
# schedule. The pronoun of a flip counts twenty times: it is the hardest piece, and one of many.
SETTINGS = (
    "tokenizer.vocab_size=3000", "train.learning_rate=5e-3", "train.dropout=0", "train.weight_decay=0",
    "train.label_smoothing=0", "train.minimal_pair_weight=20", "train.average=1", "decode.beam_size=1",
)  # fmt: skip

VALID = 200  # pairs; and flips, for the pronouns

FLIPS = 200

SENTENCES = (
    "I am a student.",
    "Where did you put my keys?",
    "The cat sat on the mat.",
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
)


@main.command()
@click.option("--quick", is_flag=True, help="Only the bundled model: no training, about a minute.")
@click.option("--out", default="demo-model", show_default=True, type=click.Path(path_type=Path), help="Where to train.")
@click.option("--steps", default=STEPS, show_default=True, type=click.IntRange(min=1), help="How many steps to train.")
@click.option("--write", type=click.Path(path_type=Path), help="Only write pairs of the built-in language to this TSV.")
@click.option("--count", default=100_000, show_default=True, type=click.IntRange(min=1), help="How many to write.")
@click.option("--seed", default=1, show_default=True, help="Which to write.")
@click.option(
    "--split", default="train", show_default=True, help="train, valid, test, noun-pairs, noun-words or longer."
)
@click.option("--truth", is_flag=True, help="Write what is known of each pair beside it, as lines of JSON.")
def demo(
    quick: bool, out: Path, steps: int, write: Path | None, count: int, seed: int, split: str, truth: bool
) -> None:
    """Translate, watch a model learn English to French, and see where "it" looks.

    It learns the built-in language, in a few minutes; interrupted, the same command goes on. With --write, write pairs
    of that language instead, any number of them.
    """
    if write is not None:
        _write(write, count, seed, split, truth=truth)
        return
    from regard.training.run import check_out

    if not quick:
        check_out(out)  # a mistake comes before any work
    if not bundled.available():
        if quick:
            raise UserError("this copy of Regard has no bundled model; leave --quick out, and one is trained")
        say("this copy of Regard has no bundled model, so the demo begins with training")
    else:
        _translate()
    if not quick:
        _train(out, steps)
    from regard.api import load

    _look(load() if quick else load(out))
    _what_next("" if quick else f"--model {out} ")


def _translate() -> None:
    """A few sentences, by the bundled model."""
    from regard.inference.translator_loader import load_translator

    click.echo("The bundled model, English to French:\n")
    for found in load_translator().translate_all(SENTENCES):
        click.echo(f"  {found.source}\n    {found.text}")
    click.echo()


def _train(out: Path, steps: int) -> None:
    """Train on the built-in language, or go on with it."""
    from regard.cli.pronoun_notes import with_pronouns
    from regard.data.synthetic.generator import minimal_pairs, pairs
    from regard.data.synthetic.tsv_files import export, lines
    from regard.training.run import train

    data, valid = out / "run" / "language.tsv", out / "run" / "valid.tsv"
    data.parent.mkdir(parents=True, exist_ok=True)
    for file, found, count in ((valid, pairs(1, "valid"), VALID), (data, _lessons(), steps * PAIRS_PER_STEP)):
        if not file.exists():
            export(file, map(lines, follow(islice(found, count), "pairs", count)))
    asked = list(islice(minimal_pairs(1, "valid"), VALID))
    say(
        f"A new model learns the built-in language from {steps * PAIRS_PER_STEP:,} pairs, three in four with "
        "“it”.\nIt is asked for flips it never sees: sentences that differ in the word that decides what “it” is, as\n"
        + "\n".join(f"    {pair.source} → {pair.target}" for pair in asked[0])
    )
    stop = Stop()
    settings = (*SETTINGS, f"train.warmup_steps={max(1, steps // 8)}", f"train.validate_every={max(20, steps // 8)}")
    events = train(
        [data],
        out=out,
        valid=[valid],
        size="tiny",
        steps=steps,
        languages=("en", "fr"),
        overrides=settings,
        stop=stop,
    )
    watch(with_pronouns(events, out, asked), stop)


def _lessons() -> "Iterator[Pair]":
    """By twos: any two sentences, then, twice, two that differ in the word that decides what "it" is."""
    from regard.data.synthetic.generator import minimal_pairs, pairs

    every, those_with_it = pairs(1), minimal_pairs(1, "train")
    while True:
        yield from islice(every, 2)
        yield from next(those_with_it)
        yield from next(those_with_it)


def _look(model: "Model") -> None:
    """Where "it" looks in the famous sentence, through the head that follows it best, and what that proves."""
    from regard.data.synthetic import FAMOUS
    from regard.interpret.measure.pronoun_experiment import famous_word
    from regard.interpret.report.pronoun_report import baseline_lines
    from regard.interpret.report.sentence_text import show_row
    from regard.render.terminal import terminal_style

    found = show_work(model.iter_measure_pronouns(FLIPS)).experiment
    paper = terminal_style(os.environ, sys.stdout.isatty())
    lines = [f"What it knows of “it”, on {FLIPS} flips that no model learns from:", "", *baseline_lines(found)]
    for source, _ in FAMOUS[:2]:
        view = model.look(source)
        lines += ["", paper.strong(source), view.text]
        if found.looks is not None:
            place, head = found.looks
            words = view.trace.source.words
            for word in dict.fromkeys(famous_word(one, words) for one in ("it", place)):
                lines += show_row(view.attention(head), words.index(word), paper)
    click.echo("\n".join([*lines, "", *found.famous[2:], found.verdict]))


def _what_next(model: str) -> None:
    click.echo(
        f"""
What next:
  regard translate {model}"My sister opened the old door."
  regard look {model}"{SENTENCES[-1]}" --html look.html
  regard measure it{f" {model}".rstrip()}
  regard train train.en train.fr --out my-model       # your own sentences, line by line"""
    )
