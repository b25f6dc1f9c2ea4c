"""From a trained model to a bundled one: half precision, the head that aligns words, and a card of what it can do.

    python recipes/bundle.py RUN_FOLDER... NAME     # writes src/regard/model_folder/bundled/NAME

A model that was fine-tuned has several runs: name them in their order.

Every figure is of the folder that was written. It takes some minutes.
"""

import json
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from corpora import TATOEBA, Sides, tatoeba

from regard.data.synthetic import Pair
from regard.data.synthetic.generator import minimal_pairs, pairs
from regard.evaluation.evaluator import Evaluation, evaluate
from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.interpret.annotated_pairs import reversed_synthetic_sample, synthetic_sample
from regard.interpret.measure.alignment_heads import choose_head
from regard.interpret.measure.pronoun_experiment import pronouns_right
from regard.interpret.trace import Array
from regard.model_folder import bundled
from regard.model_folder.folder import ModelFolder
from regard.model_folder.loader import open_folder
from regard.model_folder.writer import save_alignment_head, save_folder
from regard.progress import run_to_end
from regard.settings.decode import DecodeSettings
from regard.statistics.intervals import proportion
from regard.storage.atomic_files import write_atomically
from regard.storage.json_files import read_json
from regard.storage.manifest import sha256

DECODE = DecodeSettings()  # beam 4, as for everyone who sets nothing
SEED = 7  # other sentences than the alignment head was chosen on
SENTENCES = 2000
FLIPS = {  # by split; the last kind is rare, and takes long to find
    "test": ("sentences never seen", 1000),
    "noun-pairs": ("two nouns never seen together", 1000),
    "noun-words": ("a noun never seen with the word that decides", 200),
}
SCORES = """\
| test | sentences | BLEU | chrF |
|---|---|---|---|
{rows}

Word for word as the grammar has them are {right:,} of the {sentences:,} sentences of the built-in language.
The weights were rounded to half precision, and that is what was measured; {same:,} of the {sources:,} sources of
Tatoeba are translated as before. Beam {decode.beam_size}, length penalty {decode.length_penalty}.
sacreBLEU's signatures: `{scores.bleu_signature}`, `{scores.chrf_signature}`; against all references, `nrefs:var`."""
IT = """\
Two sentences of the built-in language differ in one word, which decides which noun “it” is, and so between “il” and
“elle”. Who always takes the same noun has both right in no pair.

| sentences | pairs | both pronouns right | both sentences word for word |
|---|---|---|---|
{rows}

In brackets, 95 % confidence. Beam {decode.beam_size}, length penalty {decode.length_penalty}."""
MADE = """\
In the folder that `python recipes/corpora.py` wrote for {name}; `python recipes/bundle.py` made the last into this:

    {commands}"""
CURVE = """\
Along the way, on validation pairs, which the commands name; BLEU and chrF on 200 of them, with greedy search:

| run | step | minutes of learning | loss | BLEU | chrF |
|---|---|---|---|---|---|
{rows}"""
LIMITS = """\
It learnt from short everyday sentences and from those of a grammar, and does best on such. Of long, technical or
literary text, names, numbers and slang it often makes bad sentences, and they look no less sure. It sees one sentence
at a time: what a pronoun stands for cannot come from the one before. Where a text leaves a gender open, it writes what
Tatoeba's authors wrote more often. Nothing that matters should hang on it unread."""
TO_FRENCH = """
"You" may become "tu" or "vous". Which of two nouns "it" is, it learnt from the built-in language alone: in sentences of
another build, "il" or "elle" is a guess."""
LICENCE = """\
CC BY 2.0 FR (https://creativecommons.org/licenses/by/2.0/fr/), as the sentences of https://tatoeba.org, by way of
https://www.manythings.org/anki/, that it learnt from. NOTICE has the names of their authors, and what was changed. The
built-in language is part of Regard, under the MIT licence."""


def main() -> None:
    runs, name = [Path(word) for word in sys.argv[1:-1]], sys.argv[-1]
    run = runs[-1]
    opened = open_folder(run)
    assert opened.languages == tuple(name.split("-")), f"{run} translates {opened.languages}"
    folder = bundled.HERE / name
    halve(opened, folder)
    align(folder)
    card = (run / "card.md").read_text("utf-8").partition("## Licence")[0]
    parts = [*measured(name, load_translator(folder), load_translator(run)), *made(runs, name)]
    parts += [("Limits", LIMITS + (TO_FRENCH if name == "en-fr" else "")), ("Licence", LICENCE)]
    write_atomically(folder / "card.md", card + "\n\n".join(f"## {title}\n{text}" for title, text in parts) + "\n")
    print(f"{folder}: {sum(file.stat().st_size for file in folder.iterdir()):,} bytes")


def halve(opened: ModelFolder, folder: Path) -> None:
    """The same model in half precision."""
    weights = {name: tensor.half() for name, tensor in opened.build().state_dict().items()}
    for name, tensor in weights.items():
        assert bool(torch.isfinite(tensor).all()), f"{name} is beyond what half precision holds"
    save_folder(
        folder,
        settings=opened.settings,
        weights=weights,
        tokenizer=opened.tokenizer,
        languages=opened.languages,
        card="",
    )
    (folder / "alignment.json").unlink(missing_ok=True)


def align(folder: Path) -> None:
    """Find and store the head, as `regard measure alignment` does in folders that are not bundled."""
    opened = open_folder(folder)
    sample = synthetic_sample if opened.languages == ("en", "fr") else reversed_synthetic_sample
    found = run_to_end(choose_head(opened.build(), sample(opened.tokenizer, 500)))
    assert found.usable, f"no head aligns better than a fixed offset does: {found}"
    save_alignment_head(folder, found.chosen)
    print(f"{found.chosen} aligns, error {found.error.value:.3f}")


def measured(name: str, ours: Translator, single: Translator) -> Iterator[tuple[str, str]]:
    """What the model does on test sets, and what the rounding changed."""
    turn = 1 if name == "en-fr" else -1
    test = [sides[::turn] for sides in tatoeba(TATOEBA / "test.tsv.gz")]
    one, every = (scored(ours, test, by_source=by_source) for by_source in (False, True))
    made = islice(pairs(SEED, "test"), SENTENCES)
    language = scored(ours, [(pair.source, pair.target)[::turn] for pair in made])
    before = single.translate_all(every.sources, DECODE)
    tests = {
        "Tatoeba, against one reference": one,
        "Tatoeba, against all references of a source": every,
        "the built-in language, test split": language,
    }
    text = SCORES.format(
        rows="\n".join(row(said, found) for said, found in tests.items()),
        right=sum(text == found[0] for text, found in zip(language.translations, language.references, strict=True)),
        sentences=len(language.sources),
        same=sum(found.text == text for found, text in zip(before, every.translations, strict=True)),
        sources=len(every.sources),
        decode=DECODE,
        scores=one.scores,
    )
    yield "Scores on test sets", text
    if name == "en-fr":
        rows = "\n".join(
            f"| {said} ({split}) | {it(ours, list(islice(minimal_pairs(SEED, split), count)))} |"
            for split, (said, count) in FLIPS.items()
        )
        yield "What “it” stands for", IT.format(rows=rows, decode=DECODE)


def scored(translator: Translator, test: Iterable[Sides], *, by_source: bool = False) -> Evaluation:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test.tsv"
        file.write_text("".join("\t".join(sides) + "\n" for sides in test), "utf-8")
        return evaluate(translator, [file], DECODE, by_source=by_source)


def row(name: str, found: Evaluation) -> str:
    return f"| {name} | {len(found.sources):,} | {found.scores.bleu:.1f} | {found.scores.chrf:.1f} |"


def it(translator: Translator, both: Sequence[tuple[Pair, Pair]]) -> str:
    """Pairs of sentences that differ in the deciding word alone: how many, and in how many both are right."""
    written: dict[str, str] = {}

    def translate(texts: Iterable[str]) -> Iterator[str]:
        for found in translator.translate_iterable(texts, DECODE):
            written[found.source] = found.text
            yield found.text

    right = pronouns_right(both, translate)
    exact = np.array([float(all(written[pair.source] == pair.target for pair in two)) for two in both])
    return " | ".join([f"{len(both):,}", figure(right), figure(exact)])


def figure(each: Array) -> str:
    found = proportion(each, np.ones(len(each)))
    assert found is not None
    return f"{100 * found.value:.1f} % [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def made(runs: Sequence[Path], name: str) -> Iterator[tuple[str, str]]:
    """The commands, each going on from the one before, and how the model got better."""
    commands = [shlex.join(command(run, parent)) for run, parent in zip(runs, (None, *runs), strict=False)]
    yield "How it was made", MADE.format(name=name, commands="\n    ".join(commands))
    rows, before = [], 0.0
    for run in runs:
        took: dict[int, float] = {}  # by step: one that was taken again after a stop counts once
        for entry in map(json.loads, (run / "run" / "log.jsonl").read_text("utf-8").splitlines()):
            if "seconds" in entry:
                took[entry["step"]] = entry["seconds"]
            elif "bleu" in entry:
                minutes = (before + sum(took.values())) / 60
                scores = f"{entry['validation_loss']:.3f} | {entry['bleu']:.1f} | {entry['chrf']:.1f}"
                rows.append(f"| {run.name} | {entry['step']:,} | {minutes:.0f} | {scores} |")
        before += sum(took.values())
    yield "Learning curve", CURVE.format(rows="\n".join(rows))


def command(run: Path, parent: Path | None) -> list[str]:
    """What started a run, from its plan."""
    plan = read_json(run / "run" / "plan.json")
    request = plan["request"]
    assert request["from"] == (sha256(parent / "manifest.json") if parent else None), f"{run} is not from {parent}"
    weights = request.get("weights", [1] * len(request["training data"]))
    words = ["regard", "train"]
    for corpus, weight in zip(request["training data"], weights, strict=True):
        words += [file["name"] + (f"={weight:g}" if weight != 1 else "") for file in corpus]
    words += [word for corpus in request["validation data"] for file in corpus for word in ("--valid", file["name"])]
    words += ["--languages", *request["languages"], "--out", run.name]
    words += ["--from", parent.name] if parent else []
    words += ["--size", request["size"]] if request["size"] else []
    words += ["--steps", str(plan["settings"]["train"]["steps"])] if "train.steps" not in request["settings"] else []
    return words + [word for setting, value in request["settings"].items() for word in ("--set", f"{setting}={value}")]


if __name__ == "__main__":
    main()
