"""Train recurrent models and a Transformer on Multi30k for the same time, and compare their translations.

Every model has about as many parameters as the Transformer of the size `tiny`. It gets three learning rates: half the
default of its size, the default, and twice the default. All rates of a model take the same number of steps: those that
fit in the budget on a quiet machine. `--plan` only fixes these numbers, which takes half a minute for each model; the
runs can follow later beside other work. A run that is interrupted continues with the same command. Every finished run
is appended to bench/results/baselines.jsonl with its translations of the test set, and docs/baselines.md is written
from the latest of each.

    python bench/baselines.py --out runs --plan                   # on a quiet machine
    python bench/baselines.py --out runs                          # all runs of the budget
    python bench/baselines.py --out runs --models lstm --directions de-en --rates 1 --budget 60m
    python bench/baselines.py                                     # only writes the page

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA).
"""

import argparse
import gzip
from pathlib import Path
from typing import Any

import sacrebleu
from common.corpora import MULTI30K
from common.environments import ROOT
from common.results import append, latest
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--out", type=Path, help="folder of the runs")
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--directions", nargs="*", choices=["de-en", "en-de"], default=["de-en", "en-de"])
    parser.add_argument("--rates", nargs="*", type=float, default=FACTORS, help="factors on the default learning rate")
    parser.add_argument("--budget", default="20m", help="training time")
    parser.add_argument("--plan", action="store_true", help="only fix the number of steps of each model")
    options = parser.parse_args()
    if options.out is not None and not MULTI30K.is_dir():
        parser.error(f"there is no corpus in {MULTI30K}")
    for direction in options.directions if options.out is not None else ():
        for model in options.models:
            for factor in (1.0,) if options.plan else options.rates:
                run(options, model, direction, factor)
    if RESULTS.exists():
        write_page(RESULTS, ROOT / "docs" / "baselines.md")


def run(options: argparse.Namespace, model: str, direction: str, factor: float) -> None:
    """Plan, start or continue a run, and append its result when it ends; a run with a result is left out."""
    key = {"model": model, "direction": direction, "factor": factor, "budget": options.budget}
    if any(key.items() <= record.items() for record in latest(RESULTS, *key)):
        return
    arguments = run_arguments(options, model, direction, factor)
    name = arguments["out"].name
    for event in iter_train(**arguments, stop=lambda: bool(options.plan)):
        match event:
            case Planned():
                print(f"{name}: {event.plan.settings.train.steps:,} steps", flush=True)
            case Step() if event.step % 200 == 0:
                print(f"{name}: step {event.step:,}, loss {event.loss:.3f}", flush=True)
            case Finished():
                append(RESULTS, **key, **result(arguments["out"], direction))


def run_arguments(options: argparse.Namespace, model: str, direction: str, factor: float) -> dict[str, Any]:
    kind, changes = MODELS[model]
    rate = factor * size_overrides("tiny", kind)["train"]["learning_rate"]
    overrides = [*changes, f"train.learning_rate={rate:g}"]

    def folder(factor: float) -> Path:
        out: Path = options.out / f"{model}-{direction}-{options.budget}-{factor:g}"
        return out

    arguments: dict[str, Any] = {
        "paths": corpus("train", direction),
        "valid": corpus("val", direction),
        "languages": tuple(direction.split("-")),
        "kind": kind,
        "size": "tiny",
        "out": folder(factor),
    }
    if factor == 1:
        return arguments | {"budget": parse_duration(options.budget), "overrides": overrides}
    planned = load_plan(folder(1) / "run" / "plan.json")
    # The interval between validations is chosen from the speed, which other work on the machine would change.
    interval = f"train.validate_every={planned.validate_every}"
    return arguments | {"steps": planned.settings.train.steps, "overrides": [*overrides, interval]}


def corpus(split: str, direction: str) -> list[Path]:
    return [MULTI30K / f"{split}.{side}.gz" for side in direction.split("-")]


def result(folder: Path, direction: str) -> dict[str, Any]:
    """Return the scores of a trained model on the test set, with its translations."""
    sources, references = (lines(path) for path in corpus("test_2016_flickr", direction))
    settings = (plan := load_plan(folder / "run" / "plan.json")).settings
    translations = [translation.text for translation in regard.load(folder).translate(sources)]
    count = count_parameters(settings.model)
    return {
        "bleu": sacrebleu.corpus_bleu(translations, [references]).score,
        "chrf": sacrebleu.corpus_chrf(translations, [references]).score,
        "learning_rate": settings.train.learning_rate,
        "steps": settings.train.steps,
        "seconds_per_step": plan.seconds_per_step,
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
