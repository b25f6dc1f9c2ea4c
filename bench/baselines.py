"""Train recurrent models and a Transformer on Multi30k for the same time, and compare their translations.

Every model has about as many parameters as the Transformer of the size `tiny`. `--plan` measures how many steps of it
fit in 20 minutes on a quiet machine, which takes a quarter of a minute for each model. The runs are counted in these
steps, so they can follow beside other work, or on another machine:

- `rates`: a quarter of the steps from German to English with three learning rates: half the default of the size, the
  default, and twice the default. If the best rate is the highest or the lowest, the next one is tried too, until it is
  not. The best rate is used in both directions.
- `budget`: all steps, with the best rate.
- `long`: three times the steps from German to English, with the same rate. The parameters of the best validation are
  kept.

A run that is interrupted continues with the same command. Every finished run is appended to
bench/results/baselines.jsonl with its translations of the test set, and docs/explanation/baselines.md is written from
the latest of each.

    python bench/baselines.py --out runs --plan                   # on a quiet machine
    python bench/baselines.py --out runs                          # all runs
    python bench/baselines.py --out runs --models lstm --directions de-en --stages rates budget
    python bench/baselines.py                                     # only writes the page

With OMP_NUM_THREADS=1, two commands with different `--models` use two cores better than one command does.

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA).
"""

import argparse
import gzip
from pathlib import Path
from typing import Any

import sacrebleu
from common.corpora import MULTI30K
from common.environments import ROOT
from common.results import Record, append, latest
from pages.baselines import write_page

import regard
from regard.models.build import count_parameters
from regard.settings.sizes import size_overrides
from regard.training.planning.choices import parse_duration
from regard.training.planning.plan import load_plan
from regard.training.run import iter_train
from regard.training.step import Step
from regard.training.tracking.events import Finished, Planned

RESULTS = ROOT / "bench" / "results" / "baselines.jsonl"

# Each model: its kind, and the settings that differ from its size `tiny`.
MODELS: dict[str, tuple[str, list[str]]] = {
    "lstm-vector": ("lstm", ["model.attention=none"]),
    "gru": ("gru", []),
    "lstm": ("lstm", []),
    "transformer": ("transformer", []),
}
FACTORS = (0.5, 1.0, 2.0)  # of the default learning rate
FIRST_DIRECTION = "de-en"  # the only one of the stages `rates` and `long`
STAGES = {"rates": 0.25, "budget": 1.0, "long": 3.0}  # of the steps that fit in the budget
BUDGET = "20m"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--out", type=Path, help="folder of the runs")
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--directions", nargs="*", choices=["de-en", "en-de"], default=["de-en", "en-de"])
    parser.add_argument("--stages", nargs="*", choices=list(STAGES), default=list(STAGES))
    parser.add_argument("--plan", action="store_true", help="only fix the number of steps of each model")
    options = parser.parse_args()
    if options.out is not None and not MULTI30K.is_dir():
        parser.error(f"there is no corpus in {MULTI30K}")
    for stage in ("rates",) if options.plan else options.stages:
        for direction in options.directions if options.out is not None else ():
            for model in options.models:
                run_stage(options, stage, model, direction)
    if RESULTS.exists():
        write_page(RESULTS, ROOT / "docs" / "explanation" / "baselines.md")


def run_stage(options: argparse.Namespace, stage: str, model: str, direction: str) -> None:
    """Run a stage of one model in one direction, or with `--plan`, only fix its number of steps."""
    planned = planned_run(options.out, model, direction)
    if options.plan:
        return
    if stage != "budget" and direction != FIRST_DIRECTION:
        return
    if stage == "rates":
        try_rates(options.out, planned, model)
    elif factors(model):
        run(options.out, planned, stage, model, direction, best_factor(model))
    else:
        raise SystemExit(f"no learning rate was tried for {model}: run the stage `rates` from German to English first")


def try_rates(out: Path, planned: Record, model: str) -> None:
    for factor in FACTORS:
        run(out, planned, "rates", model, FIRST_DIRECTION, factor)
    while (best := best_factor(model)) in (min(tried := factors(model)), max(tried)):
        run(out, planned, "rates", model, FIRST_DIRECTION, best / 2 if best == min(tried) else best * 2)


def factors(model: str) -> dict[float, float]:
    """Return the validation loss of each learning rate that was tried, from German to English."""
    key = {"model": model, "direction": FIRST_DIRECTION, "stage": "rates"}
    records = latest(RESULTS, *key, "factor")
    return {record["factor"]: record["validation_loss"] for record in records if key.items() <= record.items()}


def best_factor(model: str) -> float:
    tried = factors(model)
    return min(tried, key=tried.__getitem__)


def planned_run(out: Path, model: str, direction: str) -> Record:
    """Return the number of steps that fit in the budget, with their time; they are measured when first needed."""
    key = {"model": model, "direction": direction, "stage": "plan"}
    for record in latest(RESULTS, *key):
        if key.items() <= record.items():
            return record
    folder = out / f"{model}-{direction}-plan"
    arguments = run_arguments(model, direction, 1.0) | {"budget": parse_duration(BUDGET), "out": folder}
    for event in iter_train(**arguments, stop=lambda: True):
        if isinstance(event, Planned):
            train, seconds = event.plan.settings.train, event.plan.seconds_per_step
            print(f"{folder.name}: {train.steps:,} steps", flush=True)
            append(
                RESULTS, **key, steps=train.steps, seconds_per_step=seconds, validate_every=event.plan.validate_every
            )
    return planned_run(out, model, direction)


def run(out: Path, planned: Record, stage: str, model: str, direction: str, factor: float) -> None:
    """Start or continue a run, and append its result when it ends; a run with a result is left out."""
    key = {"model": model, "direction": direction, "stage": stage, "factor": factor}
    if any(key.items() <= record.items() for record in latest(RESULTS, *key)):
        return
    folder = out / f"{model}-{direction}-{stage}-{factor:g}"
    arguments = run_arguments(model, direction, factor)
    # The interval between validations would be chosen from the speed, which other work on the machine changes.
    interval = round(planned["validate_every"] * STAGES[stage])
    arguments["overrides"].append(f"train.validate_every={interval}")
    for event in iter_train(**arguments, steps=round(planned["steps"] * STAGES[stage]), out=folder):
        match event:
            case Step() if event.step % 200 == 0:
                print(f"{folder.name}: step {event.step:,}, loss {event.loss:.3f}", flush=True)
            case Finished() if event.scores is not None:
                measured = {"validation_loss": event.scores.loss, "validation_bleu": event.scores.bleu}
                append(RESULTS, **key, **measured, **result(folder, direction, planned["seconds_per_step"]))


def run_arguments(model: str, direction: str, factor: float) -> dict[str, Any]:
    kind, changes = MODELS[model]
    rate = factor * size_overrides("tiny", kind)["train"]["learning_rate"]
    return {
        "paths": corpus("train", direction),
        "valid": corpus("val", direction),
        "languages": tuple(direction.split("-")),
        "kind": kind,
        "size": "tiny",
        "overrides": [*changes, f"train.learning_rate={rate:g}"],
    }


def corpus(split: str, direction: str) -> list[Path]:
    return [MULTI30K / f"{split}.{side}.gz" for side in direction.split("-")]


def result(folder: Path, direction: str, seconds_per_step: float) -> dict[str, Any]:
    """Return the scores of a trained model on the test set, with its translations."""
    sources, references = (lines(path) for path in corpus("test_2016_flickr", direction))
    settings = load_plan(folder / "run" / "plan.json").settings
    translations = [translation.text for translation in regard.load(folder).translate(sources)]
    count = count_parameters(settings.model)
    return {
        "bleu": sacrebleu.corpus_bleu(translations, [references]).score,
        "chrf": sacrebleu.corpus_chrf(translations, [references]).score,
        "learning_rate": settings.train.learning_rate,
        "steps": settings.train.steps,
        "seconds_per_step": seconds_per_step,  # on the quiet machine
        "batch_tokens": settings.train.batch_tokens,
        "parameters": count.total,
        "parameters_without_embeddings": count.without_embeddings,
        "translations": translations,
    }


def lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


if __name__ == "__main__":
    main()
