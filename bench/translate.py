"""How fast Regard translates beside its peers: raw text in, raw text out, the same weights, one machine, one run.

Needs trained models of the sizes to measure, and the corpus in ../shared/data/multi30k (or $REGARD_SHARED_DATA). A size
without a model gets a copier (see peers/copier.py), whose texts are as long as real ones. Peers are installed into
environments of their own in the user's cache folder. Every measurement is added to bench/results/translate.jsonl, and
the page is written from the newest of each, so that sizes can be measured apart.

    python bench/translate.py --models multi30k
    python bench/translate.py --sizes small base --sentences 1000
    python bench/translate.py --parts            # writes the page only
"""

import argparse
import gzip
import json
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from multi30k import DATA
from peers.arithmetic import operations, operations_a_second
from peers.driver import Worker, command_of, run, working
from peers.environment import CACHE, HERE, PEERS, ROOT, start_ups
from peers.page import page
from peers.results import append, machine, plain

from regard.settings.sections import assemble
from regard.settings.sizes import SIZES
from regard.storage.manifest import sha256

# What is measured: the name, its environment, what its worker is told besides where the files are.
SYSTEMS: dict[str, tuple[str, list[str]]] = {
    "regard": ("regard", ["float32"]),
    "regard-torch": ("regard", ["torch"]),
    "ctranslate2": ("ctranslate2", []),
    "transformers": ("transformers", []),
    "opennmt": ("opennmt", []),
}
TYPES = ["float32", "int8", "int16", "bfloat16"]
BEAMS = (4, 1)
TRIAL = {"tiny": 512, "small": 256, "base": 128, "big": 64}  # sentences on which settings are tried
WARM = 1280  # sentences for Regard, which tries its settings by itself while it works
DUEL_ROUNDS = {"tiny": 15, "small": 9, "base": 5, "big": 3}
COLD_ROUNDS = 5
COLD_TEXT = "A man in a blue shirt is standing on a ladder cleaning a window."


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", nargs="*", type=Path, default=[], help="trained model folders, one for a size")
    options.add_argument("--sizes", nargs="*", choices=list(SIZES), default=["tiny", "small", "base"])
    options.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS), help="none: the page only")
    options.add_argument("--only", nargs="*", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="SYSTEM")
    options.add_argument("--sentences", nargs="*", type=int, default=[1_000, 10_000])
    options.add_argument("--beams", nargs="*", type=int, choices=BEAMS, default=list(BEAMS))
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--results", type=Path, default=ROOT / "bench" / "results", metavar="FOLDER")
    options.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks.md")
    asked = options.parse_args()
    if not DATA.is_dir():
        print(f"no corpus in {DATA}; nothing measured")
        return
    models = {size_of(folder): folder for folder in asked.models}
    if asked.parts:
        print(machine(), flush=True)
    for size in asked.sizes if asked.parts else []:
        folder = models.get(size) or copier(size)
        for part in asked.parts:
            PARTS[part](size, folder, asked)
    asked.out.write_text(page(asked.results), "utf-8")
    print(f"wrote {asked.out}")


def shape_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "settings.json").read_text("utf-8"))["model"]


def size_of(folder: Path) -> str:
    """Which size a model is, by its shape."""
    shape = shape_of(folder)
    for size, layer in SIZES.items():
        if asdict(assemble(layer).model) | {"vocab_size": shape["vocab_size"]} == shape:
            return size
    raise SystemExit(f"error: {folder} has the shape of no size: {shape}")


def copier(size: str, norm: str = "") -> Path:
    """A model of that size that copies the source, made once; with another place for its norms, if one is named."""
    script = HERE / "copier.py"
    out = CACHE / "models" / "-".join(filter(None, ["copier", size, norm, sha256(script)[:16]]))
    if not (out / "manifest.json").exists():
        texts = [str(DATA / f"train.{side}.gz") for side in ("en", "de")]
        run([sys.executable, str(script), size, *texts, str(out), *([norm] if norm else [])])
    return out


def lines_of(part: str, most: int | None = None, side: str = "en") -> list[str]:
    with gzip.open(DATA / f"{part}.{side}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for _, line in zip(range(most or sys.maxsize), file, strict=False)]


def texts(count: int) -> list[str]:
    """The test set, or as much of the training set as is asked for."""
    test = lines_of("test_2016_flickr")
    return test[:count] if count <= len(test) else lines_of("train", count)


# -- speed


@dataclass
class System:
    """A worker, the settings that suit it best, and how all that were tried did, in target pieces a second."""

    worker: Worker
    settings: dict[str, Any]
    tried: list[tuple[dict[str, Any], int]]


def speed(size: str, folder: Path, asked: argparse.Namespace) -> None:
    """All systems side by side, each with the settings that suit it best."""
    with ExitStack() as stack:
        workers = {name: stack.enter_context(start(name, folder)) for name in asked.only}
        for name, worker in workers.items():
            print(f"{size}, {name}: {plain(worker.about)}", flush=True)
        for beams in asked.beams:
            systems = ready(workers, size, beams)
            for count in asked.sentences:
                lines = texts(count)
                print(f"{size}, {len(lines):,} sentences, beams {beams}", flush=True)
                measured = compare(systems, lines, beams, asked.rounds)
                least = operations(folder, lines, measured[asked.only[0]]["pieces"], beams)
                limit = {"operations": least, "a second": round(operations_a_second())}
                facts = {"model": about_model(folder), "distinct": len(set(lines)), "limit": limit, "systems": measured}
                append(
                    asked.results / "translate.jsonl",
                    part="speed",
                    size=size,
                    sentences=len(lines),
                    beams=beams,
                    **facts,
                )


def start(name: str, folder: Path) -> AbstractContextManager[Worker]:
    environment, road = SYSTEMS[name]
    return working([*command_of(environment, model_for(name, folder)), *road], name)


def model_for(name: str, folder: Path) -> Path:
    """OpenNMT-py has no post-norm: it gets a copier of the same shape that is pre-norm."""
    instead = name == "opennmt" and is_copier(folder) and shape_of(folder)["norm"] == "post"
    return copier(size_of(folder), "pre") if instead else folder


def ready(workers: dict[str, Worker], size: str, beams: int) -> dict[str, System]:
    """Each with the settings that suit it best."""
    trial = lines_of("train", 20 * WARM)[::20]
    return {
        name: try_settings(name, worker, trial[: WARM if name == "regard" else TRIAL[size]], beams)
        for name, worker in workers.items()
    }


def try_settings(name: str, worker: Worker, lines: list[str], beams: int) -> System:
    """Every choice, after a short warm-up, and then twice the three that are quickest so far: a moment's disturbance
    makes any of them look slow. Where there is no choice, warm up for as long as it takes a system to make its own."""
    choices = worker.choices[str(beams)] if len(worker.choices[str(beams)]) > 1 else []
    rates: list[list[float]] = [[] for _ in choices]
    for turn in range(3):
        quickest = sorted(range(len(choices)), key=lambda at: -statistics.median(rates[at])) if turn else []
        for at in quickest[:3] or range(len(choices)):
            worker.translate(lines[:64], beams, choices[at])
            found = worker.translate(lines, beams, choices[at])
            rates[at].append(found["pieces"] / found["seconds"])
            shown = f"{plain(choices[at])}: {rates[at][-1]:,.0f} pieces a second"
            print(f"  tried {name}, beams {beams}, {shown}", flush=True)
    tried = [(choice, round(statistics.median(its))) for choice, its in zip(choices, rates, strict=True)]
    finalists = [one for one, its in zip(tried, rates, strict=True) if len(its) > 1]
    best = max(finalists, key=lambda one: one[1])[0] if finalists else worker.choices[str(beams)][0]
    worker.translate(lines[:128] if tried else lines, beams, best)
    return System(worker, best, tried)


def compare(systems: dict[str, System], lines: list[str], beams: int, rounds: int) -> dict[str, Any]:
    """Rounds in which the systems take turns, another one first each time."""
    names = list(systems)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    found: dict[str, dict[str, Any]] = {}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            time.sleep(0.5)  # threads of the one before may still be spinning
            found[name] = systems[name].worker.translate(lines, beams, systems[name].settings)
            seconds[name].append(round(found[name]["seconds"], 4))
            pace = found[name]["pieces"] / seconds[name][-1]
            print(f"  round {number + 1}, {name}: {pace:,.0f} pieces a second", flush=True)
    reference = found[names[0]]["texts"]
    measured = {
        name: {
            "seconds": seconds[name],
            "pieces": found[name]["pieces"],
            "same": 1 - differing(reference, found[name]["texts"]) / len(lines),
            "settings": system.settings,
            "tried": system.tried,
            "about": system.worker.about,
        }
        for name, system in systems.items()
    }
    for name in names[1:]:
        ratio = rate(measured[names[0]]) / rate(measured[name])
        print(f"  {names[0]} / {name}: {ratio:.2f}; the same text: {measured[name]['same']:.1%}", flush=True)
    return measured


# -- beside the engine


def duel(size: str, folder: Path, asked: argparse.Namespace) -> None:
    """Regard and CTranslate2 back to back, each with the settings that suit it best, in more rounds than all can have.

    The two are close, and a machine's speed changes within minutes: only what follows at once can be compared.
    """
    lines = texts(1_000)
    with ExitStack() as stack:
        workers = {name: stack.enter_context(start(name, folder)) for name in ("regard", "ctranslate2")}
        for beams in asked.beams:
            systems = ready(workers, size, beams)
            ratios = []
            for number in range(DUEL_ROUNDS[size]):
                rates = {}
                for name in list(systems)[:: 1 if number % 2 else -1]:
                    time.sleep(0.5)  # threads of the one before may still be spinning
                    found = systems[name].worker.translate(lines, beams, systems[name].settings)
                    rates[name] = round(found["pieces"] / found["seconds"], 1)
                ratios.append(round(rates["regard"] / rates["ctranslate2"], 3))
                print(f"{size}, beams {beams}, round {number + 1}: {plain(rates)}, ratio {ratios[-1]}", flush=True)
            facts = {"size": size, "sentences": len(lines), "beams": beams, "ratios": ratios}
            append(asked.results / "translate.jsonl", part="duel", settings=systems["ctranslate2"].settings, **facts)


def is_copier(folder: Path) -> bool:
    return folder.name.startswith("copier-")


def about_model(folder: Path) -> str:
    shape = shape_of(folder)
    what = "Weights that copy the source" if is_copier(folder) else "A trained model"
    return (
        f"{what}, {shape['encoder_layers']}+{shape['decoder_layers']} layers, width {shape['width']}, feed-forward "
        f"{shape['feedforward']}, {shape['heads']} heads, {shape['norm']}-norm, {shape['vocabulary']:,} pieces"
    )


# -- cold start


def cold(size: str, folder: Path, asked: argparse.Namespace) -> None:
    """One sentence in a fresh process, from the command to the text."""
    commands = {
        "regard translate": [sys.executable, "-m", "regard", "translate", "--model", str(folder), COLD_TEXT],
        "import torch": [sys.executable, "-c", "import torch"],
    }
    for name in (name for name in asked.only if name in PEERS):
        commands[name] = [*command_of(name, model_for(name, folder)), "--once", COLD_TEXT]
    seconds = start_ups(commands, COLD_ROUNDS)
    for name, values in seconds.items():
        print(f"{size}, cold start: {name} {statistics.median(values):.2f} s", flush=True)
    append(
        asked.results / "translate.jsonl",
        part="cold",
        size=size,
        systems={name: {"seconds": s} for name, s in seconds.items()},
    )


# -- less precise


def quantised(size: str, folder: Path, asked: argparse.Namespace) -> None:
    """Speed, BLEU, and how many texts depend on their company, for each compute type this processor has."""
    import ctranslate2

    if is_copier(folder):
        print(f"{size}, compute types: nothing measured, because a model that copies has no BLEU to lose", flush=True)
        return
    lines, references = texts(1_000), lines_of("test_2016_flickr", side="de")
    types = [name for name in TYPES if name in ctranslate2.get_supported_compute_types("cpu")]
    with ExitStack() as stack:
        command = command_of("regard", folder)
        workers = {name: stack.enter_context(working([*command, name], name)) for name in types}
        for beams in asked.beams:
            print(f"{size}, compute types, beams {beams}", flush=True)
            systems = {name: try_settings(name, worker, lines, beams) for name, worker in workers.items()}
            measured = compare(systems, lines, beams, asked.rounds)
            for name, worker in workers.items():
                measured[name] |= company(worker, lines, references, beams)
                print(f"  {name}: BLEU {measured[name]['bleu']}, {plain(measured[name]['changed'])}", flush=True)
            append(
                asked.results / "translate.jsonl",
                part="quantised",
                size=size,
                sentences=len(lines),
                beams=beams,
                systems=measured,
            )


def company(worker: Worker, lines: list[str], references: list[str], beams: int) -> dict[str, Any]:
    """BLEU, and how many texts come out differently alone, in batches of 8, and all at once."""
    import sacrebleu

    def in_groups(size: int) -> list[str]:
        groups = [lines[at : at + size] for at in range(0, len(lines), size)]
        return [text for group in groups for text in worker.translate(group, beams, {})["texts"]]

    alone, eights, together = (in_groups(size) for size in (1, 8, len(lines)))
    return {
        "bleu": round(sacrebleu.corpus_bleu(together, [references]).score, 2),
        "changed": {"alone and in eights": differing(alone, eights), "alone and together": differing(alone, together)},
    }


def differing(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def rate(system: dict[str, Any]) -> float:
    return system["pieces"] / statistics.median(system["seconds"])


PARTS = {"speed": speed, "duel": duel, "cold": cold, "quantised": quantised}

if __name__ == "__main__":
    main()
