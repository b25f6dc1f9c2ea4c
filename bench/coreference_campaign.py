"""Does coreference emerge by itself? Train small models with and without a lesson, and measure how they follow "it".

Two corpora: `language` is the synthetic language, and `text` is Tatoeba with the pairs of parallel-en-fr. Without the
lesson, a model trains on the corpus alone. With the lesson, two of three of its pairs are from minimal pairs of the
synthetic language, whose pronoun has twenty times the loss weight of other tokens. Everything else is the same: shape,
tokens per step, number of steps, seeds.

At every validation, the model chooses the pronouns of held-out minimal pairs, and the search for antecedent heads of
`regard measure pronouns` runs on them. Finished models are measured by all four `regard measure` commands, except that
models of `text` are only measured on pronouns. Every finished part is appended to
bench/results/coreference_campaign.jsonl, and docs/explanation/coreference.md is written from the latest of each. A part
that has a result is left out, and a run that was interrupted continues with the same command, so a campaign can
continue elsewhere.

    OMP_NUM_THREADS=1 nice -n 19 python bench/coreference_campaign.py --out runs
    python bench/coreference_campaign.py --out runs --corpora text --steps 20000 --seeds 1
    python bench/coreference_campaign.py                    # only writes the page
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from common.corpora import DATA
from common.results import append, latest
from pages.coreference import CAMPAIGN, write_page

import regard
from regard.data.synthetic.generator import balanced_minimal_pairs, minimal_pairs, pairs
from regard.data.synthetic.tsv_files import write_files
from regard.interpret.interventions import without_positions
from regard.interpret.measure.antecedent_heads import directions, noun_weights, p_values, rank, right_direction
from regard.interpret.measure.pronoun_baselines import frames_of, pronoun_accuracy
from regard.interpret.measure.pronoun_task import PronounTask, contrast
from regard.models.build import build_model
from regard.models.interface import AutoregressiveModel, as_autoregressive
from regard.progress import run_to_end
from regard.statistics.multiplicity import SIGNIFICANCE_LEVEL
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.checkpoints import Checkpoints
from regard.training.planning.plan import load_plan
from regard.training.run import iter_train
from regard.training.tracking.events import Planned
from regard.training.validation import Validation

STEPS = {"language": 800, "text": 1600}
VALIDATIONS = 8
PAIRS_PER_STEP = 130  # at most; every pair of the synthetic language is seen about once
VALID = 200
HELD_OUT = 460  # minimal pairs of the curve: 20 of each frame

SETTINGS = (
    "model.encoder_layers=4", "model.decoder_layers=2", "tokenizer.vocab_size=3000", "train.batch_tokens=2048",
    "train.learning_rate=5e-3", "train.dropout=0", "train.weight_decay=0", "train.label_smoothing=0", "train.average=1",
    "decode.beam_size=1",
)  # fmt: skip
LESSON_NAMES = {True: "lesson", False: "plain"}
LESSON = "train.minimal_pair_weight=20"

# What is measured of a finished model: the number of pairs, and the models of which corpora.
MEASUREMENTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "accuracy": (1150, ("language", "text")),  # 50 of each frame
    "pronouns": (690, ("language", "text")),  # 30 of each frame
    "alignment": (200, ("language",)),
    "probes": (200, ("language",)),
    "heads": (60, ("language",)),
}


@dataclass(frozen=True)
class Run:
    """One training run of the campaign."""

    corpus: str
    lesson: bool
    seed: int
    steps: int

    @property
    def name(self) -> str:
        return f"{self.corpus}-{LESSON_NAMES[self.lesson]}-{self.seed}-{self.steps}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--out", type=Path, help="folder of the runs")
    parser.add_argument("--corpora", nargs="*", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--steps", type=int, help="training steps of each run")
    parser.add_argument("--parts", nargs="*", choices=["training", *MEASUREMENTS], default=["training", *MEASUREMENTS])
    parser.add_argument("--results", type=Path, default=CAMPAIGN, help="file to append results to")
    options = parser.parse_args()
    for corpus in options.corpora if options.out is not None else ():
        runs = [
            Run(corpus, lesson, seed, options.steps or STEPS[corpus])
            for seed in options.seeds
            for lesson in (True, False)
        ]
        for part in options.parts:
            for run in runs:
                if not has_result(options.results, run, part):
                    result = train(run, options.out) if part == "training" else measure(options.out / run.name, part)
                    append(options.results, part=part, **asdict(run), **result)
    write_page()


def has_result(results: Path, run: Run, part: str) -> bool:
    """Return whether a part of a run is finished, or not asked for."""
    if part in MEASUREMENTS and run.corpus not in MEASUREMENTS[part][1]:
        return True
    key = {**asdict(run), "part": part}
    return any(key.items() <= record.items() for record in latest(results, *key))


def train(run: Run, out: Path) -> dict[str, Any]:
    """Train a model, or continue; return what it knew about "it" at each validation, and its last scores."""
    out.mkdir(parents=True, exist_ok=True)
    folder, curve = out / run.name, Curve(out / run.name)
    interval = run.steps // VALIDATIONS
    overrides = [*SETTINGS, f"train.warmup_steps={interval}", f"train.validate_every={interval}"]
    events = iter_train(
        [write_pairs(out / f"{run.corpus}-{LESSON_NAMES[run.lesson]}-{run.steps}.tsv", training_pairs(run))],
        valid=[write_pairs(out / f"{run.corpus}-valid.tsv", islice(validation_pairs(run.corpus), VALID))],
        out=folder,
        size="tiny",
        steps=run.steps,
        languages=("en", "fr"),
        overrides=[*overrides, f"train.seed={run.seed}", *([LESSON] if run.lesson else [])],
    )
    for event in events:
        if isinstance(event, Planned | Validation):
            curve.update()
    with (folder / "run" / "log.jsonl").open(encoding="utf-8") as log:
        scores = [record for record in map(json.loads, log) if "validation_loss" in record]
    return {"curve": curve.points(), "validations": scores}


def training_pairs(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the training pairs of a run, which are the same for all seeds."""
    corpus = language_pairs("train") if run.corpus == "language" else text_pairs("train")
    if not run.lesson:
        yield from islice(corpus, run.steps * PAIRS_PER_STEP)
        return
    lesson = minimal_pairs(1, "train")
    for _ in range(run.steps * PAIRS_PER_STEP // 6):  # minimal pairs must be lines 1 and 2, 3 and 4, ...
        yield from islice(corpus, 2)
        yield from ((pair.source, pair.target) for both in islice(lesson, 2) for pair in both)


def validation_pairs(corpus: str) -> Iterator[tuple[str, str]]:
    return language_pairs("valid") if corpus == "language" else text_pairs("val")


def language_pairs(split: str) -> Iterator[tuple[str, str]]:
    return ((pair.source, pair.target) for pair in pairs(1, split))


def text_pairs(split: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of Tatoeba and, for training, of parallel-en-fr, in random order without end."""
    files = [DATA / "tatoeba" / "en-fr" / f"{split}.tsv.gz"]
    files += sorted((DATA / "parallel-en-fr").glob("*.tsv.gz")) if split == "train" else []
    lines = [line for file in files for line in gzip.decompress(file.read_bytes()).decode().splitlines()]
    shuffled = random.Random(1)
    while True:
        shuffled.shuffle(lines)
        for line in lines:
            source, target = line.split("\t")[:2]
            yield source, target


def write_pairs(file: Path, texts: Iterable[tuple[str, str]]) -> Path:
    """Write pairs as a TSV file, unless it exists, and return it."""
    if not file.exists():
        write_files(file, ((f"{source}\t{target}\n",) for source, target in texts))
    return file


class Curve:
    """The pronoun accuracy and the antecedent heads of a run at each of its checkpoints, kept beside the run."""

    def __init__(self, folder: Path) -> None:
        self._run = folder / "run"
        self._file = folder.with_suffix(".curve.jsonl")
        self._pairs = list(islice(balanced_minimal_pairs(1, "valid"), HELD_OUT))

    def points(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._file.read_text("utf-8").splitlines()] if self._file.exists() else []

    def update(self) -> None:
        """Measure the checkpoints that have not been measured."""
        checkpoints, measured = Checkpoints(self._run / "checkpoints"), {point["step"] for point in self.points()}
        for step in (step for step in checkpoints.steps() if step not in measured):
            model = as_autoregressive(build_model(load_plan(self._run / "plan.json").settings.model))
            model.load_state_dict(checkpoints.weights(step) or {})
            point = {"step": step, **self._measure(model.eval())}
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(point) + "\n")
            print(f"{self._file.stem}: {point}", flush=True)

    def _measure(self, model: AutoregressiveModel) -> dict[str, Any]:
        tokenizer = SentencePieceTokenizer.load(self._run / "tokenizer" / "tokenizer.model")
        contrasts = [(contrast(first, tokenizer), contrast(second, tokenizer)) for first, second in self._pairs]
        task = PronounTask(model, [sentence for both in contrasts for sentence in both])
        scores = pronoun_accuracy("", task.preference() > 0, self._pairs)
        frames = frames_of(self._pairs)
        weights = run_to_end(noun_weights(model, contrasts, "recording attention"))
        p = p_values(weights, frames)
        best = rank(p)[0]
        right = right_direction(directions(weights[best]), frames)
        return {
            "accuracy": asdict(scores.accuracy),
            "pair_accuracy": asdict(scores.pair_accuracy),
            "heads": len({head for (_, head), value in p.items() if value <= SIGNIFICANCE_LEVEL}),
            "best": {"query": best[0], "head": best[1], "p": p[best], "right": right and asdict(right)},
        }


def accuracies(folder: Path, count: int) -> dict[str, Any]:
    """Return the pronoun accuracy of a finished model, and that of the same model without positions."""
    model = regard.load(folder, backend="torch")
    pairs = list(islice(balanced_minimal_pairs(1, "test"), count))
    contrasts = [contrast(sentence, model.tokenizer) for both in pairs for sentence in both]
    networks = {"model": model.network, "without positions": without_positions(model.network)}
    return {
        name: asdict(pronoun_accuracy(name, PronounTask(network, contrasts).preference() > 0, pairs))
        for name, network in networks.items()
    }


def measure(folder: Path, part: str) -> dict[str, Any]:
    """Return the result of one measurement of a finished model, without what the page does not need."""
    if part == "accuracy":
        return {"result": accuracies(folder, MEASUREMENTS[part][0])}
    method = getattr(regard.load(folder, backend="torch"), f"measure_{part}")
    found = method(count=MEASUREMENTS[part][0]).to_dict()
    if part == "heads":
        found["heads"] = [
            {"address": head["address"], "role": head["role"], "loss": head["ablation_effect"]["zeroed"]["loss"]}
            for head in found["heads"]
        ]
    if part == "probes":
        kept = ("task", "stack", "labels", "lift", "expected_layer")
        found["tasks"] = [{name: task[name] for name in kept} for task in found["tasks"]]
    return {"result": {name: value for name, value in found.items() if name not in ("selection_errors", "famous")}}


if __name__ == "__main__":
    main()
