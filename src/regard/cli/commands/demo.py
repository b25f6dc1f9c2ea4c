"""`regard demo`: translates with the bundled model, trains a small model, and shows what both attend to for "it"."""

import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regard.cli.main import main
from regard.cli.training_display import Stop, watch
from regard.console import follow, say, show_work
from regard.errors import UserError
from regard.machine.process import tune_for_training
from regard.model_folder import bundled

if TYPE_CHECKING:
    from regard.api import Model
    from regard.data.synthetic import Pair
    from regard.interpret.measure.pronoun_experiment import PronounExperiment

STEPS = 880  # default number of training steps

PAIRS_PER_STEP = 130  # approximate number of sentence pairs in a training step; the model sees each pair only once

# With 3,000 tokens, most words are one token. The model sees each pair only once, so it needs no dropout, no weight
# decay and no average of checkpoints. The pronoun in a minimal pair has 20 times the loss weight of other tokens,
# because it is the hardest to learn.
SETTINGS = (
    "tokenizer.vocab_size=3000", "train.learning_rate=5e-3", "train.dropout=0", "train.weight_decay=0",
    "train.label_smoothing=0", "train.minimal_pair_weight=20", "train.average=1", "decode.beam_size=1",
)  # fmt: skip

VALID = 200  # number of validation pairs

BUSY = 0.5  # the demo warns if the load of other programs on each core is above this

MINIMAL_PAIRS = 200  # number of held-out minimal pairs on which pronouns are tested

# The finding of bench/coreference_campaign.py about models that are trained almost like that of the demo.
TAUGHT = (
    "Both learned it from minimal pairs. Three small models that were taught so for 800 steps chose the right pronoun "
    "more often than chance, but not clearly so where the words alone do not tell it (docs/explanation/coreference.md)."
)

SENTENCES = (
    "I am a student.",
    "Where did you put my keys?",
    "The cat sat on the mat.",
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
)


@main.command()
@click.option("--quick", is_flag=True, help="Use the bundled model only: no training, about a minute.")
@click.option(
    "-o", "--out", default="demo-model", show_default=True, type=click.Path(path_type=Path), help="Where to train."
)
@click.option("--steps", default=STEPS, show_default=True, type=click.IntRange(min=1), help="How many steps to train.")
def demo(quick: bool, out: Path, steps: int) -> None:
    """Translate, train a small model, and see what "it" attends to.

    The model is trained in a few minutes, from English to French, on the synthetic language. At the end, the head that
    follows "it" in the bundled model is shown beside that of the new model. The same command resumes an interrupted
    demo.
    """
    from regard.training.run import check_out

    if not quick:
        check_out(out)  # report a wrong --out before the work starts
        _warn_if_busy()
        tune_for_training()
    if not bundled.available():
        if quick:
            raise UserError("this copy of Regard has no bundled model; leave --quick out to train one")
        say("this copy of Regard has no bundled model, so the demo starts with training")
    else:
        _translate()
    from regard.api import load

    if not quick:
        _train(out, steps)
    found = []
    if bundled.available():
        found.append(_look(load(), "The bundled model"))
    if not quick:
        found.append(_look(load(out), "The new model"))
    click.echo("\n".join([*found, *([] if quick else [TAUGHT])]) + "\n")
    _what_next("" if quick else f"--model {out} ")


def _warn_if_busy() -> None:
    """Say how long the demo may take if other programs use the processor."""
    import psutil

    from regard.machine.cpu import cpu_count

    load, cores = psutil.getloadavg()[0], cpu_count()
    if load > BUSY * cores:
        say(
            f"other programs use this machine (load {load:.1f}, {cores} cores), so the demo may take much longer than "
            "six minutes; `regard demo --quick` takes about one, without training"
        )


def _translate() -> None:
    """Translate a few sentences with the bundled model."""
    from regard.inference.translator_loader import load_translator

    click.echo("The bundled model, English to French:\n")
    for translation in load_translator().translate(SENTENCES):
        click.echo(f"  {translation.source}\n    {translation.text}")
    click.echo()


def _train(out: Path, steps: int) -> None:
    """Train the demo model on the synthetic language, or resume an interrupted run."""
    from regard.cli.pronoun_notes import with_pronouns
    from regard.data.synthetic.generator import minimal_pairs, pairs
    from regard.data.synthetic.tsv_files import format_pair, write_files
    from regard.training.run import iter_train

    data, valid = out / "run" / "language.tsv", out / "run" / "valid.tsv"
    data.parent.mkdir(parents=True, exist_ok=True)
    for file, sentences, count in (
        (valid, pairs(1, "valid"), VALID),
        (data, _training_pairs(), steps * PAIRS_PER_STEP),
    ):
        if not file.exists():
            write_files(file, map(format_pair, follow(islice(sentences, count), "pairs", count)))
    held_out = list(islice(minimal_pairs(1, "valid"), MINIMAL_PAIRS))
    say(
        f"A new model is trained on {steps * PAIRS_PER_STEP:,} pairs of the synthetic language; three in four have "
        "“it”.\nIt is tested on minimal pairs it is not trained on: sentences that differ in the cue, the word that "
        "decides what “it” refers to:\n" + "\n".join(f"    {pair.source} → {pair.target}" for pair in held_out[0])
    )
    stop = Stop()
    settings = (*SETTINGS, f"train.warmup_steps={max(1, steps // 8)}", f"train.validate_every={max(20, steps // 8)}")
    events = iter_train(
        [data],
        out=out,
        valid=[valid],
        size="tiny",
        steps=steps,
        languages=("en", "fr"),
        overrides=settings,
        stop=stop,
    )
    watch(with_pronouns(events, out, held_out), stop)


def _training_pairs() -> "Iterator[Pair]":
    """Yield sentence pairs without end: two of any kind, then two minimal pairs (four sentence pairs), and so on."""
    from regard.data.synthetic.generator import minimal_pairs, pairs

    any_kind, ambiguous = pairs(1), minimal_pairs(1, "train")
    while True:
        yield from islice(any_kind, 2)
        yield from next(ambiguous)
        yield from next(ambiguous)


def _look(model: "Model", name: str) -> str:
    """Print the pronoun accuracy and what "it" attends to in two sentences; return the finding in one sentence."""
    from regard.data.synthetic import FAMOUS
    from regard.interpret.measure.famous_sentences import famous_word
    from regard.interpret.report.pronoun_report import baseline_lines
    from regard.interpret.report.sentence_text import show_row
    from regard.render.terminal import terminal_style

    experiment = show_work(model.iter_measure_pronouns(MINIMAL_PAIRS)).experiment
    style = terminal_style(os.environ, sys.stdout.isatty())
    lines = [style.strong(f"{name}: accuracy on “it”, on held-out minimal pairs"), "", *baseline_lines(experiment)]
    for source, _ in FAMOUS[:2]:
        view = model.look(source)
        lines += ["", style.strong(source), view.text]
        if experiment.best_encoder_head is not None:
            place, head = experiment.best_encoder_head
            words = view.trace.source.words
            for word in dict.fromkeys(famous_word(one, words) for one in ("it", place)):
                lines += show_row(view.attention(head), words.index(word), style)
    click.echo("\n".join([*lines, "", *experiment.famous[2:], experiment.verdict.text, ""]))
    return _finding(name, experiment)


def _finding(name: str, experiment: "PronounExperiment") -> str:
    """Say in one sentence how well a model chooses the pronoun, and which head follows "it"."""
    right = experiment.baselines[0].pair_accuracy.value
    sentence = f"{name} prefers the correct pronoun in both sentences of {right:.0%} of the minimal pairs"
    if experiment.best_encoder_head is None or not experiment.interventions:
        return f"{sentence}; no head of its encoder follows the cue."
    return f"{sentence}; the head that follows the cue best is {experiment.best_encoder_head[1]}."


def _what_next(model: str) -> None:
    click.echo(
        f"""\
What next:
  regard translate {model}"My sister opened the old door."
  regard look {model}"{SENTENCES[-1]}" --html look.html
  regard measure pronouns{f" {model}".rstrip()}
  regard train train.en train.fr --out my-model       # your own sentences, line by line"""
    )
