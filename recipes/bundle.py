"""Turn a trained model into a bundled one: half precision, the alignment head, and a card with its scores.

    python recipes/bundle.py RUN_FOLDER... NAME     # writes src/regard/model_folder/bundled/NAME

A fine-tuned model has several runs: give them in their order. All scores are those of the written folder. Takes a few
minutes.
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
from corpora import TATOEBA, TextPair, tatoeba
from pronoun_history import pronoun_history, stage_of

from regard.data.synthetic import Pair
from regard.data.synthetic.generator import minimal_pairs, pairs
from regard.evaluation.evaluator import Evaluation, evaluate
from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.interpret.annotated_pairs import reversed_synthetic_sample, synthetic_sample
from regard.interpret.measure.alignment_heads import choose_head
from regard.interpret.measure.pronoun_baselines import frames_of
from regard.interpret.measure.pronoun_experiment import pronouns_correct
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

DECODE = DecodeSettings()  # the defaults
SEED = 7  # not the seed of the sentences that the alignment head was chosen on
SENTENCES = 2000
MINIMAL_PAIRS = {  # by split; pairs of the last split are rare and slow to sample
    "test": ("unseen sentences", 1000),
    "noun-pairs": ("two nouns unseen together", 1000),
    "noun-words": ("a noun unseen with the cue", 200),
}
SCORES = """\
| test | sentences | BLEU | chrF |
|---|---|---|---|
{rows}

{right:,} of the {sentences:,} sentences of the synthetic language equal the reference word for word. The parameters
were rounded to half precision before the scores were measured; {same:,} of the {sources:,} distinct sources of Tatoeba
have the same translation as before. Beam size {decode.beam_size}, length penalty {decode.length_penalty}. Signatures of
sacreBLEU: `{scores.bleu_signature}`, `{scores.chrf_signature}`; against all references, `nrefs:var`."""
PRONOUNS = """\
The two sentences of a minimal pair differ in one word, the cue, which decides what “it” refers to, and therefore
between “il” and “elle”. A system that always chooses the same noun gets 0 % of the pairs.

| sentences | pairs | both pronouns correct | both sentences word for word |
|---|---|---|---|
{rows}

95 % confidence intervals in brackets, with the frame as the cluster. Beam size {decode.beam_size}, length penalty
{decode.length_penalty}."""
COMMANDS = """\
These commands ran in the folder that `python recipes/corpora.py` wrote for {name}; `python recipes/bundle.py` made this
model from the last run:

    {commands}"""
CURVE = """\
Scores on the validation pairs of each run; BLEU and chrF on 200 of them, with greedy search. The validation pairs of a
run are those of all its files together, so BLEU depends on their mixture: compare it within a run only.

| run | step | minutes of training | loss | BLEU | chrF |
|---|---|---|---|---|---|
{rows}"""
LIMITS = """\
The model was trained on short everyday sentences and on sentences of a grammar, and works best on such sentences. It
often mistranslates long, technical or literary text, names, numbers and slang, and its scores do not warn you. It
translates each sentence separately, so it cannot find the antecedent of a pronoun in the previous sentence. Where the
source leaves a gender open, it chooses the more frequent one of Tatoeba. Have a person check anything that matters."""
TO_FRENCH = """
"You" may become "tu" or "vous". The model learned to resolve "it" from the synthetic language only: in sentences of
another structure, "il" or "elle" is a guess."""
LICENCE = """\
CC BY 2.0 FR (https://creativecommons.org/licenses/by/2.0/fr/), like the training sentences from https://tatoeba.org,
obtained from https://www.manythings.org/anki/. NOTICE has the names of their authors and the changes. The built-in
language is part of Regard, under the MIT licence."""


def main() -> None:
    runs, name = [Path(word) for word in sys.argv[1:-1]], sys.argv[-1]
    run = runs[-1]
    opened = open_folder(run)
    assert opened.languages == tuple(name.split("-")), f"{run} translates {opened.languages}"
    folder = bundled.HERE / name
    write_half_precision(opened, folder)
    store_alignment_head(folder)
    card = (run / "card.md").read_text("utf-8").partition("## Licence")[0]
    sections = [*measure(name, load_translator(folder), load_translator(run)), *training_history(runs, name)]
    sections += [("Limits", LIMITS + (TO_FRENCH if name == "en-fr" else "")), ("Licence", LICENCE)]
    write_atomically(folder / "card.md", card + "\n\n".join(f"## {title}\n{text}" for title, text in sections) + "\n")
    print(f"{folder}: {sum(file.stat().st_size for file in folder.iterdir()):,} bytes")


def write_half_precision(opened: ModelFolder, folder: Path) -> None:
    """Write the model in half precision."""
    weights = {name: tensor.half() for name, tensor in opened.build().state_dict().items()}
    for name, tensor in weights.items():
        assert bool(torch.isfinite(tensor).all()), f"{name} exceeds the range of half precision"
    save_folder(
        folder,
        settings=opened.settings,
        weights=weights,
        tokenizer=opened.tokenizer,
        languages=opened.languages,
        card="",
    )
    (folder / "alignment.json").unlink(missing_ok=True)


def store_alignment_head(folder: Path) -> None:
    """Choose and store the alignment head, as `regard measure alignment` does for folders that are not bundled."""
    opened = open_folder(folder)
    sample = synthetic_sample if opened.languages == ("en", "fr") else reversed_synthetic_sample
    result = run_to_end(choose_head(opened.build(), sample(opened.tokenizer, 500)))
    assert result.usable, f"no head aligns better than a rule that knows only positions: {result}"
    save_alignment_head(folder, result.chosen)
    print(f"alignment head {result.chosen}, error {result.error.value:.3f}")


def measure(name: str, rounded: Translator, original: Translator) -> Iterator[tuple[str, str]]:
    """Yield the scores on the test sets, and the pronoun accuracy of English to French."""
    direction = 1 if name == "en-fr" else -1
    test = [pair[::direction] for pair in tatoeba(TATOEBA / "test.tsv.gz")]
    one_reference, all_references = (score_pairs(rounded, test, by_source=by_source) for by_source in (False, True))
    sampled = islice(pairs(SEED, "test"), SENTENCES)
    synthetic = score_pairs(rounded, [(pair.source, pair.target)[::direction] for pair in sampled])
    before = original.translate(all_references.sources, DECODE)
    tests = {
        "Tatoeba, against one reference": one_reference,
        "Tatoeba, against all references of a source": all_references,
        "the synthetic language, test split": synthetic,
    }
    text = SCORES.format(
        rows="\n".join(row(label, evaluation) for label, evaluation in tests.items()),
        right=sum(text == refs[0] for text, refs in zip(synthetic.translations, synthetic.references, strict=True)),
        sentences=len(synthetic.sources),
        same=sum(old.text == new for old, new in zip(before, all_references.translations, strict=True)),
        sources=len(all_references.sources),
        decode=DECODE,
        scores=one_reference.scores,
    )
    yield "Scores on test sets", text
    if name == "en-fr":
        yield pronoun_section(rounded)


def pronoun_section(translator: Translator) -> tuple[str, str]:
    """Return the title and the text of the section about the pronouns of held-out minimal pairs."""
    rows = "\n".join(
        f"| {label} ({split}) | {pronoun_accuracy(translator, list(islice(minimal_pairs(SEED, split), count)))} |"
        for split, (label, count) in MINIMAL_PAIRS.items()
    )
    return "What “it” stands for", PRONOUNS.format(rows=rows, decode=DECODE)


def score_pairs(translator: Translator, test: Iterable[TextPair], *, by_source: bool = False) -> Evaluation:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test.tsv"
        file.write_text("".join("\t".join(pair) + "\n" for pair in test), "utf-8")
        return evaluate(translator, [file], DECODE, by_source=by_source)


def row(label: str, evaluation: Evaluation) -> str:
    scores = evaluation.scores
    return f"| {label} | {len(evaluation.sources):,} | {scores.bleu:.1f} | {scores.chrf:.1f} |"


def pronoun_accuracy(translator: Translator, pairs: Sequence[tuple[Pair, Pair]]) -> str:
    """Return the number of minimal pairs, and the proportions with two correct pronouns and two exact sentences."""
    translations: dict[str, str] = {}

    def translate(texts: Iterable[str]) -> Iterator[str]:
        for translation in translator.translate_iterable(texts, DECODE):
            translations[translation.source] = translation.text
            yield translation.text

    correct = pronouns_correct(pairs, translate)
    exact = [float(all(translations[pair.source] == pair.target for pair in members)) for members in pairs]
    frames = frames_of(pairs)
    return " | ".join([f"{len(pairs):,}", *(show_proportion(each, frames) for each in (correct, np.array(exact)))])


def show_proportion(values: Array, clusters: Sequence[str]) -> str:
    estimate = proportion(values, np.ones(len(values)), clusters=clusters)
    assert estimate is not None
    return f"{100 * estimate.value:.1f} % [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def training_history(runs: Sequence[Path], name: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of all runs, each fine-tuning the previous one, and the validation scores."""
    commands = [shlex.join(training_command(run, parent)) for run, parent in zip(runs, (None, *runs), strict=False)]
    yield "How it was made", COMMANDS.format(name=name, commands="\n    ".join(commands))
    if name == "en-fr":
        yield "How it came to follow “it”", pronoun_history([stage_of(run) for run in runs])
    yield "Learning curve", CURVE.format(rows="\n".join(curve_rows(runs)))


def curve_rows(runs: Sequence[Path]) -> Iterator[str]:
    """Yield the validation scores of runs that follow each other, with the minutes since the start of the first."""
    before = 0.0
    for run in runs:
        seconds: dict[int, float] = {}  # by step: a step that was repeated after an interruption counts once
        for entry in map(json.loads, (run / "run" / "log.jsonl").read_text("utf-8").splitlines()):
            if "seconds" in entry:
                seconds[entry["step"]] = entry["seconds"]
            elif "bleu" in entry:
                minutes = (before + sum(seconds.values())) / 60
                scores = f"{entry['validation_loss']:.3f} | {entry['bleu']:.1f} | {entry['chrf']:.1f}"
                yield f"| {run.name} | {entry['step']:,} | {minutes:.0f} | {scores} |"
        before += sum(seconds.values())


def training_command(run: Path, parent: Path | None) -> list[str]:
    """Return the command of a run, from its plan."""
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
