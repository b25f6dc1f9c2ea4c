"""BLEU over minutes: what Regard, JoeyNMT and OpenNMT-py have learnt after the same time on the same machine.

All learn from the same pairs in the same pieces, a model of one shape (`tiny`) with the same dropout; Regard by its
defaults, the others by a recipe of their own documentation or by the one published for Multi30k. The clock stands still
while a peer reads its data and while it translates the validation text; Regard's runs from the first second to the
last. Needs the corpora in ../shared/data (or $REGARD_SHARED_DATA). Every run is added to bench/results/curve.jsonl, and
docs/curve.md is written from the newest of each, with a picture for each corpus. All have as many cores as
$OMP_NUM_THREADS says, or those of the machine: with one each, two corpora can be measured side by side.

    python bench/curve.py --corpora multi30k --minutes 30 --out curves
    python bench/curve.py --corpora              # writes the page only
"""

import argparse
import gzip
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sacrebleu
from growth.plot import Axis, Line, plot
from multi30k import DATA
from peers.driver import working
from peers.environment import HERE, ROOT, python_of
from peers.page import NAMES
from peers.pieces import cut, write_lines
from peers.results import Record, append, latest, machine, table
from safetensors.torch import load_file
from train import SYSTEMS, TOKENS

import regard
from regard.inference.backends.torch import TorchBackend
from regard.machine.cpu import cpu_count
from regard.model_folder.loader import open_folder
from regard.settings.decode import DecodeSettings
from regard.settings.sections import assemble
from regard.settings.sizes import SIZES
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.checkpoints import Checkpoints
from regard.training.tracking.events import Planned
from regard.training.validation import Validation

RESULTS = ROOT / "bench" / "results" / "curve.jsonl"
PARTS = ("train", "valid", "test")
LOOKS = 10  # at the validation text, for a peer
BEAMS = {"regard": 4, "opennmt": 5, "joeynmt": 5}  # at the end, on the test text: what each has by default
# But for shape, dropout, the size of batches and label smoothing, which are the same for all.
RECIPES: dict[str, dict[str, dict[str, Any]]] = {
    "documented": {
        # examples/wmt17/wmt17_ende.yaml
        "opennmt": {
            "learning_rate": 2, "decay_method": "noam", "warmup_steps": 4000, "adam_beta2": 0.998, "max_grad_norm": 0,
        },
        # configs/transformer_small.yaml
        "joeynmt": {
            "learning_rate": 0.001, "scheduling": "noam", "learning_rate_factor": 0.5, "learning_rate_warmup": 1000,
        },
    },
    # Wu et al., 2021: up to 0.005 in 2,000 steps, then down by the inverse square root.
    "published": {
        "opennmt": {"learning_rate": 0.005 * (2000 * 128) ** 0.5, "decay_method": "noam", "warmup_steps": 2000},
        "joeynmt": {"learning_rate": 0.005, "learning_rate_warmup": 2000, "scheduling": "warmupinversesquareroot"},
    },
    # What fits into minutes, with Regard's batches: up to 0.003 in 100 steps, then down by the inverse square root.
    "short": {
        "opennmt": {
            "learning_rate": 0.003 * (100 * 128) ** 0.5, "decay_method": "noam", "warmup_steps": 100,
            "batch_size": SIZES["tiny"]["train"]["batch_tokens"],
        },
        "joeynmt": {
            "learning_rate": 0.003, "learning_rate_warmup": 100, "scheduling": "warmupinversesquareroot",
            "batch_size": SIZES["tiny"]["train"]["batch_tokens"],
        },
    },
}  # fmt: skip
INTRODUCTION = """\
# BLEU over minutes

Written by `python bench/curve.py`, which measures and keeps every figure in `bench/results/curve.jsonl`; do not edit.
All learn from the same pairs in the same pieces, a model of one shape (`tiny`) with the same dropout, in batches of
4,096 target pieces (Regard: 2,048, its default). Regard learns by the defaults of that day, and its clock runs from the
first second to the last; a peer's stands still while it reads its data and translates the validation text.
"documented" is a recipe of the peer's own examples, "published" the one of Wu et al. (2021) for Multi30k. These raise
the learning rate for 1,000 to 4,000 steps, which are more than fit into few minutes: a short curve shows what a recipe
made for days does in that time. "short" is what we could do for them: Regard's batches, and a rate that rises to 0.003
in 100 steps and falls by the inverse square root. The curve is greedy, on the validation text; the last column on the
test text, once, with beam 4 (Regard) or 5, the default of each.
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "--corpora", nargs="*", choices=list(CORPORA), default=list(CORPORA), help="none: the page only"
    )
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--only", nargs="*", choices=list(BEAMS), default=list(BEAMS), metavar="SYSTEM")
    options.add_argument("--recipe", choices=list(RECIPES), default="documented", help="of the peers")
    options.add_argument("--out", type=Path, default=Path("curves"), help="where Regard's runs are kept")
    asked = options.parse_args()
    if asked.corpora and not DATA.is_dir():
        print(f"no corpus in {DATA}; nothing measured")
        return
    print(machine(), flush=True)
    for corpus in asked.corpora:
        measure(corpus, asked)
    write_page(ROOT / "docs" / "curve.md")


# -- corpora: six texts, by the names of their files


def multi30k() -> dict[str, list[str]]:
    """In the form of the published figures: tokenised, in lower case."""
    folder = DATA / "tokenised_lowercased"
    names = dict(zip(PARTS, ("train", "val", "test_2016_flickr"), strict=True))
    return {f"{part}.{side}": _lines(folder / f"{names[part]}.{side}.gz") for part in PARTS for side in ("en", "de")}


def tatoeba() -> dict[str, list[str]]:
    texts = {}
    for part, name in zip(PARTS, ("train", "val", "test"), strict=True):
        rows = [line.split("\t") for line in _lines(DATA.parent / "tatoeba" / "en-de" / f"{name}.tsv.gz")]
        texts |= {f"{part}.en": [row[0] for row in rows], f"{part}.de": [row[1] for row in rows]}
    return texts


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


CORPORA = {"multi30k": (multi30k, "none"), "tatoeba": (tatoeba, "13a")}  # and sacreBLEU's tokenizer


# -- learning


def measure(corpus: str, asked: argparse.Namespace) -> None:
    """One system after the other. Regard comes first, because the others take its pieces."""
    read, tokenize = CORPORA[corpus]
    texts = read()
    folder = asked.out / f"{corpus}-{asked.minutes:g}"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for name, lines in texts.items():
        write_lines(folder / "data" / name, lines)
    for name in ["regard", *(name for name in asked.only if name != "regard")]:
        if name not in asked.only and (folder / "seen.json").exists():
            continue
        learner = (
            with_regard(folder, texts, asked.minutes) if name == "regard" else with_peer(name, folder, texts, asked)
        )
        curve: list[tuple[float, float]] = []
        for minutes, part, found in learner:
            bleu = sacrebleu.corpus_bleu(found, [texts[f"{part}.de"]], tokenize=tokenize, force=True).score
            print(f"{corpus}, {name}, {minutes:.1f} minutes: BLEU {bleu:.2f} ({part})", flush=True)
            if part == "valid":
                curve.append((round(minutes, 2), round(bleu, 2)))
        facts = {"system": name, "recipe": "its own" if name == "regard" else asked.recipe, "cores": cpu_count()}
        append(RESULTS, corpus=corpus, minutes=asked.minutes, **facts, curve=curve, test=round(bleu, 2))


Looks = Iterator[tuple[float, str, Sequence[str]]]  # after how many minutes, which part, what it became


def with_regard(folder: Path, texts: dict[str, list[str]], minutes: float) -> Looks:
    """`regard train` with a budget. What it had learnt at each validation is translated when all is done."""
    out, seen = folder / "regard", folder / "seen.json"
    paths = {part: [folder / "data" / f"{part}.{side}" for side in ("en", "de")] for part in PARTS}
    checkpoints = Checkpoints(out / "run" / "checkpoints")
    if not seen.exists():
        shutil.rmtree(out, ignore_errors=True)  # a run that was interrupted has no clock to go on with
        began, looks = time.monotonic(), []
        for event in regard.train(
            paths["train"], valid=paths["valid"], out=out, size="tiny", budget=60 * minutes, languages=("en", "de")
        ):
            if isinstance(event, Planned):
                print(f"regard: {event.plan.settings.train.steps:,} steps", flush=True)
            if isinstance(event, Validation):
                looks.append((time.monotonic() - began, event.step))
                weights = checkpoints.path(event.step) / "weights.safetensors"
                shutil.copy(weights, folder / f"step-{event.step}.safetensors")
                print(f"regard: {looks[-1][0] / 60:.1f} minutes, loss {event.loss:.3f}", flush=True)
        looks.append((time.monotonic() - began, 0))
        seen.write_text(json.dumps(looks), "utf-8")
    opened = open_folder(out)
    model = opened.build()
    tokenizer, longest = SentencePieceTokenizer.load(out / "tokenizer.model"), opened.settings.max_positions
    *looks, (end, _) = json.loads(seen.read_text("utf-8"))
    for seconds, step in looks:
        model.load_state_dict(load_file(folder / f"step-{step}.safetensors"))
        translator = TorchBackend(model.eval(), tokenizer, max_positions=longest)
        found = translator.translate_all(texts["valid.en"], DecodeSettings(beam_size=1))
        yield seconds / 60, "valid", [one.text for one in found]
    yield end / 60, "test", [one.text for one in regard.load(out).translate_all(texts["test.en"])]


def with_peer(name: str, folder: Path, texts: dict[str, list[str]], asked: argparse.Namespace) -> Looks:
    """Its own trainer, a few steps at a time, until the minutes are over."""
    environment, script = SYSTEMS[name]
    pieces = (folder / "regard" / "tokenizer.model").read_bytes()
    cut(folder / "data", texts, pieces)
    tokenizer = SentencePieceTokenizer(pieces)
    settings = assemble(SIZES["tiny"])
    job = {
        "shape": asdict(settings.model) | {"vocab_size": tokenizer.embedding_rows},
        "dropout": settings.train.dropout,
        "tokens": TOKENS,
        "data": str((folder / "data").resolve()),
        "recipe": RECIPES[asked.recipe][name],
    }
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "job.json"
        path.write_text(json.dumps(job | {"scratch": scratch}), "utf-8")
        with working([python_of(environment), str(HERE / script), str(path)], f"curve-{name}") as worker:
            seconds = 0.0
            for look in range(1, LOOKS + 1):
                while seconds < look / LOOKS * 60 * asked.minutes:
                    seconds += worker.train(5)["seconds"]
                yield seconds / 60, "valid", _text(tokenizer, worker.translate_part("valid", 1))
            yield seconds / 60, "test", _text(tokenizer, worker.translate_part("test", BEAMS[name]))


def _text(tokenizer: SentencePieceTokenizer, lines: Sequence[str]) -> list[str]:
    """Pieces with spaces between them as text."""
    ids = {name: number for number, name in enumerate(tokenizer.tokens(range(tokenizer.size)))}
    return tokenizer.decode([[ids[name] for name in line.split() if name in ids] for line in lines])


# -- the page


def write_page(out: Path) -> None:
    records = latest(RESULTS, *SAME, "system", "recipe")
    lines = [INTRODUCTION]
    for same in dict.fromkeys(tuple(record[key] for key in SAME) for record in records):
        group = [record for record in records if tuple(record[key] for key in SAME) == same]
        corpus, minutes, count = same
        picture = out.parent / "pictures" / f"curve-{corpus}-{minutes:g}-{count}.svg"
        picture.write_text(drawn(corpus, group), "utf-8")
        rows = [[named(one), *map(str, at(one)), f"{one['test']:.2f}"] for one in group]
        head = ["system", *(f"{share * minutes:g} minutes" for share in SHARES), "test"]
        on = "one core" if count == 1 else f"{count} cores"
        lines += [f"## {corpus}, {minutes:g} minutes on {on}", "", f"![BLEU over minutes](pictures/{picture.name})", ""]
        lines += [*table(head, rows), *(f"    {command}" for command in dict.fromkeys(one["command"] for one in group))]
        lines += ["", f"{group[-1]['date']}, {group[-1]['machine']}", ""]
    out.write_text("\n".join(lines).rstrip() + "\n", "utf-8")
    print(f"wrote {out}")


SAME = ("corpus", "minutes", "cores")
SHARES = (0.25, 0.5, 0.75, 1)


def at(record: Record) -> list[float]:
    """The last BLEU before each share of the time."""
    limits = [share * record["minutes"] * 1.02 for share in SHARES]
    return [max((point for point in record["curve"] if point[0] <= limit), default=(0, 0))[1] for limit in limits]


def drawn(corpus: str, records: Sequence[Record]) -> str:
    lines = [Line(named(record), record["curve"]) for record in records]
    return plot(f"{corpus}: BLEU on the validation text, greedy", Axis("minutes of training"), Axis("BLEU"), lines)


def named(record: Record) -> str:
    return NAMES[record["system"]] + ("" if record["system"] == "regard" else f", {record['recipe']}")


if __name__ == "__main__":
    main()
