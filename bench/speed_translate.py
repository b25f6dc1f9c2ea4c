"""Compare the translation speed of Regard and other systems: raw text to raw text, same parameters, one machine.

Needs the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA), and trained models of the sizes to measure. For a
size without a model it makes one that copies its source (common/copy_model.py), whose outputs have realistic lengths.
Other systems are installed into virtual environments in the user's cache folder. Every measurement is appended to
bench/results/speed_translate.jsonl, and docs/explanation/benchmarks.md is written from the latest result of each, so
that sizes can be measured separately.

    python bench/speed_translate.py --models multi30k
    python bench/speed_translate.py --sizes small base --sentences 1000
    python bench/speed_translate.py --parts            # only writes the page
"""

import argparse
import gzip
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.corpora import MULTI30K
from common.environments import CACHE, ENVIRONMENTS, ROOT, process_times
from common.flops import operations, operations_per_second
from common.results import append, describe, machine
from common.worker_client import Worker, run, running_worker, worker_command
from pages.benchmarks import page
from systems.model_weights import read_shape

from regard.settings.kinds.transformer import SIZES
from regard.settings.sections import assemble
from regard.storage.manifest import sha256

# The environment of each system, and the arguments of its worker after the path of the model.
SYSTEMS: dict[str, tuple[str, list[str]]] = {
    "regard": ("regard", ["float32"]),
    "regard-torch": ("regard", ["torch"]),
    "ctranslate2": ("ctranslate2", []),
    "transformers": ("transformers", []),
    "opennmt": ("opennmt", []),
}
COMPUTE_TYPES = ["float32", "int8", "int16", "bfloat16"]
BEAMS = (4, 1)
TRIAL = {"tiny": 512, "small": 256, "base": 128, "big": 64}  # sentences for trying settings
WARM_UP = 1280  # sentences for Regard, which has no settings to try
HEAD_TO_HEAD_ROUNDS = {"tiny": 15, "small": 9, "base": 5, "big": 3}
COLD_START_ROUNDS = 5
COLD_START_TEXT = "A man in a blue shirt is standing on a ladder cleaning a window."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="*", type=Path, default=[], help="trained model folders, one per size")
    parser.add_argument("--sizes", nargs="*", choices=list(SIZES), default=["tiny", "small", "base"])
    parser.add_argument(
        "--parts",
        nargs="*",
        choices=list(MEASUREMENTS),
        default=list(MEASUREMENTS),
        help="without a part, only write the page",
    )
    parser.add_argument("--only", nargs="*", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="SYSTEM")
    parser.add_argument("--sentences", nargs="*", type=int, default=[1_000, 10_000])
    parser.add_argument("--beams", nargs="*", type=int, choices=BEAMS, default=list(BEAMS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results", metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "explanation" / "benchmarks.md")
    options = parser.parse_args()
    if not MULTI30K.is_dir():
        print(f"there is no corpus in {MULTI30K}; nothing was measured")
        return
    models = {size_of(folder): folder for folder in options.models}
    if options.parts:
        print(machine(), flush=True)
    for size in options.sizes if options.parts else []:
        folder = models.get(size) or copy_model(size)
        for name in options.parts:
            MEASUREMENTS[name](size, folder, options)
    options.out.write_text(page(options.results), "utf-8")
    print(f"wrote {options.out}")


def size_of(folder: Path) -> str:
    """Return the size of a model with this shape."""
    shape = read_shape(folder)
    for size, overrides in SIZES.items():
        if asdict(assemble(overrides).model.with_vocab_size(shape["source_vocab_size"])) == shape:
            return size
    raise SystemExit(f"error: the shape of {folder} is not that of any size: {shape}")


def copy_model(size: str, norm: str = "") -> Path:
    """Return a model of that size that copies its source, made on first use. `norm` overrides the setting."""
    bench = ROOT / "bench"
    key = sha256(bench / "common" / "copy_model.py")[:16]
    out = CACHE / "models" / "-".join(filter(None, ["copy-model", size, norm, key]))
    if not (out / "manifest.json").exists():
        texts = [str(MULTI30K / f"train.{side}.gz") for side in ("en", "de")]
        command = [sys.executable, "-m", "common.copy_model", str(out), size, *texts, *([norm] if norm else [])]
        run(command, folder=bench)
    return out


def read_lines(name: str, count: int | None = None, side: str = "en") -> list[str]:
    with gzip.open(MULTI30K / f"{name}.{side}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for _, line in zip(range(count or sys.maxsize), file, strict=False)]


def test_lines(count: int) -> list[str]:
    """Return lines of the test set, or of the training set if the test set has fewer."""
    test = read_lines("test_2016_flickr")
    return test[:count] if count <= len(test) else read_lines("train", count)


# -- all systems


@dataclass
class System:
    """A worker, its fastest settings, and the target tokens per second of all settings that were tried."""

    worker: Worker
    settings: dict[str, Any]
    tried: list[tuple[dict[str, Any], int]]


def speed(size: str, folder: Path, options: argparse.Namespace) -> None:
    """Compare all systems, each with its fastest settings."""
    with ExitStack() as stack:
        workers = {name: stack.enter_context(start(name, folder)) for name in options.only}
        for name, worker in workers.items():
            print(f"{size}, {name}: {describe(worker.about)}", flush=True)
        for beams in options.beams:
            systems = with_best_settings(workers, size, beams)
            for count in options.sentences:
                lines = test_lines(count)
                print(f"{size}, {len(lines):,} sentences, beams {beams}", flush=True)
                measured = compare(systems, lines, beams, options.rounds)
                minimum = operations(folder, lines, measured[options.only[0]]["pieces"], beams)
                limit = {"operations": minimum, "a second": round(operations_per_second())}
                facts = {
                    "model": describe_model(folder),
                    "distinct": len(set(lines)),
                    "limit": limit,
                    "systems": measured,
                }
                append(
                    options.results / "speed_translate.jsonl",
                    part="speed",
                    size=size,
                    sentences=len(lines),
                    beams=beams,
                    **facts,
                )


def start(name: str, folder: Path) -> AbstractContextManager[Worker]:
    environment, arguments = SYSTEMS[name]
    return running_worker([*worker_command(environment, model_for(name, folder)), *arguments], name)


def model_for(name: str, folder: Path) -> Path:
    """Return the model; for OpenNMT-py, which has no post-norm, a pre-norm model of the same shape that copies too."""
    replace = name == "opennmt" and is_copy_model(folder) and read_shape(folder)["norm"] == "post"
    return copy_model(size_of(folder), "pre") if replace else folder


def with_best_settings(workers: dict[str, Worker], size: str, beams: int) -> dict[str, System]:
    """Find the fastest settings of each system."""
    trial = read_lines("train", 20 * WARM_UP)[::20]
    return {
        name: try_settings(name, worker, trial[: WARM_UP if name == "regard" else TRIAL[size]], beams)
        for name, worker in workers.items()
    }


def try_settings(name: str, worker: Worker, lines: list[str], beams: int) -> System:
    """Try every choice after a short warm-up, and then the three fastest twice more.

    A short disturbance can make any choice look slow. A system without choices is only warmed up.
    """
    choices = worker.choices[str(beams)] if len(worker.choices[str(beams)]) > 1 else []
    rates: list[list[float]] = [[] for _ in choices]
    for trial in range(3):
        fastest = sorted(range(len(choices)), key=lambda at: -statistics.median(rates[at])) if trial else []
        for at in fastest[:3] or range(len(choices)):
            worker.translate(lines[:64], beams, choices[at])
            result = worker.translate(lines, beams, choices[at])
            rates[at].append(result["pieces"] / result["seconds"])
            shown = f"{describe(choices[at])}: {rates[at][-1]:,.0f} tokens per second"
            print(f"  tried {name}, beams {beams}, {shown}", flush=True)
    tried = [(choice, round(statistics.median(measured))) for choice, measured in zip(choices, rates, strict=True)]
    finalists = [choice for choice, measured in zip(tried, rates, strict=True) if len(measured) > 1]
    best = max(finalists, key=lambda choice: choice[1])[0] if finalists else worker.choices[str(beams)][0]
    worker.translate(lines[:128] if tried else lines, beams, best)
    return System(worker, best, tried)


def compare(systems: dict[str, System], lines: list[str], beams: int, rounds: int) -> dict[str, Any]:
    """Measure in rounds in which the systems take turns, each time starting with another system."""
    names = list(systems)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    results: dict[str, dict[str, Any]] = {}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            time.sleep(0.5)  # threads of the previous system may still be spinning
            results[name] = systems[name].worker.translate(lines, beams, systems[name].settings)
            seconds[name].append(round(results[name]["seconds"], 4))
            tokens_per_second = results[name]["pieces"] / seconds[name][-1]
            print(f"  round {number + 1}, {name}: {tokens_per_second:,.0f} tokens per second", flush=True)
    reference = results[names[0]]["texts"]
    measured = {
        name: {
            "seconds": seconds[name],
            "pieces": results[name]["pieces"],
            "same": 1 - count_different(reference, results[name]["texts"]) / len(lines),
            "settings": system.settings,
            "tried": system.tried,
            "about": system.worker.about,
        }
        for name, system in systems.items()
    }
    for name in names[1:]:
        ratio = rate(measured[names[0]]) / rate(measured[name])
        print(f"  {names[0]} / {name}: {ratio:.2f}; same text: {measured[name]['same']:.1%}", flush=True)
    return measured


# -- Regard and CTranslate2


def head_to_head(size: str, folder: Path, options: argparse.Namespace) -> None:
    """Compare Regard and CTranslate2 back to back in many rounds, each with its fastest settings.

    The two are close, and the speed of a machine changes within minutes, so that only consecutive runs are comparable.
    """
    lines = test_lines(1_000)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(start(name, folder)) for name in ("regard", "ctranslate2")}
        for beams in options.beams:
            systems = with_best_settings(workers, size, beams)
            ratios = []
            for number in range(HEAD_TO_HEAD_ROUNDS[size]):
                rates = {}
                for name in list(systems)[:: 1 if number % 2 else -1]:
                    time.sleep(0.5)  # threads of the previous system may still be spinning
                    result = systems[name].worker.translate(lines, beams, systems[name].settings)
                    rates[name] = round(result["pieces"] / result["seconds"], 1)
                ratios.append(round(rates["regard"] / rates["ctranslate2"], 3))
                print(f"{size}, beams {beams}, round {number + 1}: {describe(rates)}, ratio {ratios[-1]}", flush=True)
            facts = {"size": size, "sentences": len(lines), "beams": beams, "ratios": ratios}
            append(
                options.results / "speed_translate.jsonl",
                part="duel",
                settings=systems["ctranslate2"].settings,
                **facts,
            )


def is_copy_model(folder: Path) -> bool:
    return folder.name.startswith("copy-model-")


def describe_model(folder: Path) -> str:
    shape = read_shape(folder)
    kind = "A model that copies its source" if is_copy_model(folder) else "A trained model"
    return (
        f"{kind}, {shape['encoder_layers']}+{shape['decoder_layers']} layers, width {shape['width']}, feed-forward "
        f"{shape['feedforward']}, {shape['heads']} heads, {shape['norm']}-norm, {shape['source_vocab_size']:,} tokens"
    )


# -- cold start


def cold_start(size: str, folder: Path, options: argparse.Namespace) -> None:
    """Time the translation of one sentence in a new process, from the command to the text."""
    commands = {
        "regard translate": [sys.executable, "-m", "regard", "translate", "--model", str(folder), COLD_START_TEXT],
        "import torch": [sys.executable, "-c", "import torch"],
    }
    for name in (name for name in options.only if name in ENVIRONMENTS):
        commands[name] = [*worker_command(name, model_for(name, folder)), "--once", COLD_START_TEXT]
    seconds = process_times(commands, COLD_START_ROUNDS)
    for name, values in seconds.items():
        print(f"{size}, cold start: {name} {statistics.median(values):.2f} s", flush=True)
    append(
        options.results / "speed_translate.jsonl",
        part="cold",
        size=size,
        systems={name: {"seconds": s} for name, s in seconds.items()},
    )


# -- compute types


def compute_types(size: str, folder: Path, options: argparse.Namespace) -> None:
    """Measure speed, BLEU and the texts that depend on their batch, for each supported compute type."""
    import ctranslate2

    if is_copy_model(folder):
        print(f"{size}, compute types: not measured, because a model that copies has no BLEU", flush=True)
        return
    lines, references = test_lines(1_000), read_lines("test_2016_flickr", side="de")
    types = [name for name in COMPUTE_TYPES if name in ctranslate2.get_supported_compute_types("cpu")]
    with ExitStack() as stack:
        command = worker_command("regard", folder)
        workers = {name: stack.enter_context(running_worker([*command, name], name)) for name in types}
        for beams in options.beams:
            print(f"{size}, compute types, beams {beams}", flush=True)
            systems = {name: try_settings(name, worker, lines, beams) for name, worker in workers.items()}
            measured = compare(systems, lines, beams, options.rounds)
            for name, worker in workers.items():
                measured[name] |= batch_effects(worker, lines, references, beams)
                print(f"  {name}: BLEU {measured[name]['bleu']}, {describe(measured[name]['changed'])}", flush=True)
            append(
                options.results / "speed_translate.jsonl",
                part="quantised",
                size=size,
                sentences=len(lines),
                beams=beams,
                systems=measured,
            )


def batch_effects(worker: Worker, lines: list[str], references: list[str], beams: int) -> dict[str, Any]:
    """Return BLEU, and the number of texts that differ when translated alone, in batches of 8, and all at once."""
    import sacrebleu

    def in_groups(size: int) -> list[str]:
        groups = [lines[at : at + size] for at in range(0, len(lines), size)]
        return [text for group in groups for text in worker.translate(group, beams, {})["texts"]]

    alone, eights, together = (in_groups(size) for size in (1, 8, len(lines)))
    return {
        "bleu": round(sacrebleu.corpus_bleu(together, [references]).score, 2),
        "changed": {
            "alone and in eights": count_different(alone, eights),
            "alone and together": count_different(alone, together),
        },
    }


def count_different(first: Sequence[str], second: Sequence[str]) -> int:
    return sum(a != b for a, b in zip(first, second, strict=True))


def rate(system: dict[str, Any]) -> float:
    return system["pieces"] / statistics.median(system["seconds"])


MEASUREMENTS = {"speed": speed, "duel": head_to_head, "cold": cold_start, "quantised": compute_types}

if __name__ == "__main__":
    main()
