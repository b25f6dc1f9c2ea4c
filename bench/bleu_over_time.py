"""Compare the BLEU that Regard, JoeyNMT and OpenNMT-py reach after the same training time on the same machine.

All systems train a model of the same shape (`tiny`) with the same dropout on the same pairs and the same tokens; Regard
with its defaults, the others with a recipe of their documentation or the one published for Multi30k. The clock of
another system stops while it reads its data and translates the validation text; Regard's time includes everything.
Needs the corpora in ../shared/data (or $REGARD_SHARED_DATA). Every run is appended to
bench/results/bleu_over_time.jsonl, and docs/explanation/curve.md is written from the latest of each, with a plot for
each corpus. $OMP_NUM_THREADS limits the cores: with one core each, two corpora can be measured at the same time.

    python bench/bleu_over_time.py --corpora multi30k --minutes 30 --out curves
    python bench/bleu_over_time.py --corpora              # only writes the page
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
from common.corpora import DATA, MULTI30K, TATOEBA
from common.environments import ROOT, SYSTEMS, python_of
from common.results import append, machine
from common.tokenized_text import write_lines, write_tokenized
from common.worker_client import running_worker
from pages.bleu_over_time import write_page
from safetensors.torch import load_file
from systems.trainers import TRAINERS

import regard
from regard.inference.backends.torch import TorchBackend
from regard.inference.translator import Translator
from regard.machine.cpu import cpu_count
from regard.model_folder.loader import open_folder
from regard.settings.decode import DecodeSettings
from regard.settings.kinds.transformer import SIZES
from regard.settings.sections import assemble
from regard.tokenizers.sentencepiece import SentencePieceTokenizer
from regard.training.checkpoints import Checkpoints
from regard.training.tracking.events import Planned
from regard.training.validation import Validation

RESULTS = ROOT / "bench" / "results" / "bleu_over_time.jsonl"
BATCH_TOKENS = 4_096
SPLITS = ("train", "valid", "test")
EVALUATIONS = 10  # of another system on the validation text
BEAMS = {"regard": 4, "opennmt": 5, "joeynmt": 5}  # on the test text at the end: the default of each system
# Shape, dropout, batch size and label smoothing are the same for all.
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
    # Wu et al., 2021: rising to 0.005 in 2,000 steps, then falling with the inverse square root.
    "published": {
        "opennmt": {"learning_rate": 0.005 * (2000 * 128) ** 0.5, "decay_method": "noam", "warmup_steps": 2000},
        "joeynmt": {"learning_rate": 0.005, "learning_rate_warmup": 2000, "scheduling": "warmupinversesquareroot"},
    },
    # For a few minutes: Regard's batch size, rising to 0.003 in 100 steps, then falling with the inverse square root.
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--corpora",
        nargs="*",
        choices=list(CORPORA),
        default=list(CORPORA),
        help="without a corpus, only write the page",
    )
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--only", nargs="*", choices=list(BEAMS), default=list(BEAMS), metavar="SYSTEM")
    parser.add_argument("--recipe", choices=list(RECIPES), default="documented", help="of the other systems")
    parser.add_argument("--out", type=Path, default=Path("curves"), help="folder of Regard's runs")
    options = parser.parse_args()
    if options.corpora and not DATA.is_dir():
        print(f"there are no corpora in {DATA}; nothing was measured")
        return
    print(machine(), flush=True)
    for corpus in options.corpora:
        measure(corpus, options)
    page = ROOT / "docs" / "explanation" / "curve.md"
    write_page(RESULTS, page)
    print(f"wrote {page}")


# -- corpora: two texts for each split, by file name


def multi30k() -> dict[str, list[str]]:
    """Read the form of the published results: tokenised, in lower case."""
    folder = MULTI30K / "tokenised_lowercased"
    names = dict(zip(SPLITS, ("train", "val", "test_2016_flickr"), strict=True))
    return {
        f"{split}.{side}": _lines(folder / f"{names[split]}.{side}.gz") for split in SPLITS for side in ("en", "de")
    }


def tatoeba() -> dict[str, list[str]]:
    texts = {}
    for split, name in zip(SPLITS, ("train", "val", "test"), strict=True):
        rows = [line.split("\t") for line in _lines(TATOEBA / f"{name}.tsv.gz")]
        texts |= {f"{split}.en": [row[0] for row in rows], f"{split}.de": [row[1] for row in rows]}
    return texts


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


CORPORA = {"multi30k": (multi30k, "none"), "tatoeba": (tatoeba, "13a")}  # and the tokenizer of sacreBLEU


# -- training


def measure(corpus: str, options: argparse.Namespace) -> None:
    """Measure one system after the other. Regard comes first, because the others use its tokenizer."""
    read, tokenize = CORPORA[corpus]
    texts = read()
    folder = options.out / f"{corpus}-{options.minutes:g}"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    for name, lines in texts.items():
        write_lines(folder / "data" / name, lines)
    for name in ["regard", *(name for name in options.only if name != "regard")]:
        if name not in options.only and (folder / "seen.json").exists():
            continue
        evaluations = (
            train_regard(folder, texts, options.minutes)
            if name == "regard"
            else train_other(name, folder, texts, options)
        )
        curve: list[tuple[float, float]] = []
        for minutes, split, translations in evaluations:
            bleu = sacrebleu.corpus_bleu(translations, [texts[f"{split}.de"]], tokenize=tokenize, force=True).score
            print(f"{corpus}, {name}, {minutes:.1f} minutes: BLEU {bleu:.2f} ({split})", flush=True)
            if split == "valid":
                curve.append((round(minutes, 2), round(bleu, 2)))
        facts = {"system": name, "recipe": "its own" if name == "regard" else options.recipe, "cores": cpu_count()}
        append(RESULTS, corpus=corpus, minutes=options.minutes, **facts, curve=curve, test=round(bleu, 2))


Evaluations = Iterator[tuple[float, str, Sequence[str]]]  # minutes, split, translations


def train_regard(folder: Path, texts: dict[str, list[str]], minutes: float) -> Evaluations:
    """Run `regard train` with a budget, then translate with the parameters of each validation."""
    out, times = folder / "regard", folder / "seen.json"
    paths = {split: [folder / "data" / f"{split}.{side}" for side in ("en", "de")] for split in SPLITS}
    checkpoints = Checkpoints(out / "run" / "checkpoints")
    if not times.exists():
        shutil.rmtree(out, ignore_errors=True)  # the clock of an interrupted run is lost
        began, evaluations = time.monotonic(), []
        for event in regard.iter_train(
            paths["train"], valid=paths["valid"], out=out, size="tiny", budget=60 * minutes, languages=("en", "de")
        ):
            if isinstance(event, Planned):
                print(f"regard: {event.plan.settings.train.steps:,} steps", flush=True)
            if isinstance(event, Validation):
                evaluations.append((time.monotonic() - began, event.step))
                weights = checkpoints.path(event.step) / "weights.safetensors"
                shutil.copy(weights, folder / f"step-{event.step}.safetensors")
                print(f"regard: {evaluations[-1][0] / 60:.1f} minutes, loss {event.loss:.3f}", flush=True)
        evaluations.append((time.monotonic() - began, 0))
        times.write_text(json.dumps(evaluations), "utf-8")
    opened = open_folder(out)
    model = opened.build()
    tokenizer, max_positions = SentencePieceTokenizer.load(out / "tokenizer.model"), opened.settings.max_positions
    *evaluations, (end, _) = json.loads(times.read_text("utf-8"))
    for seconds, step in evaluations:
        model.load_state_dict(load_file(folder / f"step-{step}.safetensors"))
        backend = TorchBackend(model.eval(), tokenizer.generable)
        translator = Translator(backend, tokenizer, max_positions=max_positions)
        translations = translator.translate(texts["valid.en"], DecodeSettings(beam_size=1))
        yield seconds / 60, "valid", [translation.text for translation in translations]
    yield end / 60, "test", [translation.text for translation in regard.load(out).translate(texts["test.en"])]


def train_other(name: str, folder: Path, texts: dict[str, list[str]], options: argparse.Namespace) -> Evaluations:
    """Run the trainer of another system, a few steps at a time, until the time is over."""
    environment, script = TRAINERS[name]
    tokenizer_data = (folder / "regard" / "tokenizer.model").read_bytes()
    write_tokenized(folder / "data", texts, tokenizer_data)
    tokenizer = SentencePieceTokenizer(tokenizer_data)
    settings = assemble(SIZES["tiny"])
    job = {
        "shape": asdict(settings.model.with_vocab_size(tokenizer.embedding_rows)),
        "dropout": settings.train.dropout,
        "tokens": BATCH_TOKENS,
        "data": str((folder / "data").resolve()),
        "recipe": RECIPES[options.recipe][name],
    }
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "job.json"
        path.write_text(json.dumps(job | {"scratch": scratch}), "utf-8")
        with running_worker([python_of(environment), str(SYSTEMS / script), str(path)], f"curve-{name}") as worker:
            seconds = 0.0
            for evaluation in range(1, EVALUATIONS + 1):
                while seconds < evaluation / EVALUATIONS * 60 * options.minutes:
                    seconds += worker.train(5)["seconds"]
                yield seconds / 60, "valid", detokenize(tokenizer, worker.translate_split("valid", 1))
            yield seconds / 60, "test", detokenize(tokenizer, worker.translate_split("test", BEAMS[name]))


def detokenize(tokenizer: SentencePieceTokenizer, lines: Sequence[str]) -> list[str]:
    """Turn lines of tokens with spaces between them into text."""
    ids = {name: number for number, name in enumerate(tokenizer.tokens(range(tokenizer.size)))}
    return tokenizer.decode([[ids[name] for name in line.split() if name in ids] for line in lines])


if __name__ == "__main__":
    main()
