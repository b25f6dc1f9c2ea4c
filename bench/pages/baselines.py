"""Write docs/explanation/baselines.md from the results. No number in it is typed by hand."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import sacrebleu
from common.corpora import MULTI30K
from common.results import Record, latest, table

INTRODUCTION = """\
# Recurrent models beside the Transformer

Written by `python bench/baselines.py`, which keeps every run in `bench/results/baselines.jsonl`; do not edit. All
models train on the 29,000 pairs of Multi30k with the tokens, the batches, the dropout and the search of the size
`tiny`, and have about as many parameters. Training is counted in the steps that each model does in a given time on two
quiet cores of the machine below. Several learning rates were tried for each model from German to English in 5 minutes,
and all are shown. The rate with the best validation loss was then used for 20 minutes in both directions, and for 60
from German to English. BLEU and chrF are sacreBLEU's, on the raw text of the 1,000 sentences of the test set of 2016.
"""
NAMES = {
    "lstm-vector": "LSTM without attention",
    "gru": "GRU with attention",
    "lstm": "LSTM with attention",
    "transformer": "Transformer",
}
MINUTES = {"rates": "5", "budget": "20", "long": "60"}
LENGTHS = ((1, 8), (9, 11), (12, 15), (16, 99))  # words of the source
RESAMPLES = 500


def write_page(results: Path, out: Path) -> None:
    """Write the page from the latest result of each run."""
    records = [record for record in latest(results, "model", "direction", "stage", "factor") if "bleu" in record]
    lines = [INTRODUCTION]
    for direction in dict.fromkeys(record["direction"] for record in records):
        chosen = [record for record in records if record["direction"] == direction]
        lines += [f"## {direction}", "", *_table(chosen), *_by_length(chosen, direction)]
    lines += [f"    {command}" for command in dict.fromkeys(record["command"] for record in records)]
    lines += ["", *dict.fromkeys(f"{record['date']}, {record['machine']}" for record in records)]
    out.write_text("\n".join(lines).rstrip() + "\n", "utf-8")


def _table(records: Sequence[Record]) -> list[str]:
    head = (
        "model",
        "minutes",
        "parameters",
        "without embeddings",
        "tokens/s",
        "steps",
        "learning rate",
        "validation loss",
        "BLEU",
        "chrF",
    )
    best = {id(record) for record in _best(records)}
    rows = [
        (
            NAMES[record["model"]],
            MINUTES[record["stage"]],
            f"{record['parameters']:,}",
            f"{record['parameters_without_embeddings']:,}",
            f"{record['batch_tokens'] / record['seconds_per_step']:,.0f}",
            f"{record['steps']:,}",
            f"{record['learning_rate']:g}",
            f"{record['validation_loss']:.3f}",
            f"**{record['bleu']:.2f}**" if id(record) in best else f"{record['bleu']:.2f}",
            f"{record['chrf']:.2f}",
        )
        for record in sorted(
            records,
            key=lambda one: (list(MINUTES).index(one["stage"]), list(NAMES).index(one["model"]), one["learning_rate"]),
        )
    ]
    return table(head, rows)


def _best(records: Sequence[Record]) -> list[Record]:
    """Return the run with the lowest validation loss of each model and stage."""
    best: dict[tuple[str, str], Record] = {}
    for record in sorted(records, key=lambda one: -float(one["validation_loss"])):
        best[record["stage"], record["model"]] = record
    return sorted(best.values(), key=lambda one: (list(MINUTES).index(one["stage"]), list(NAMES).index(one["model"])))


def _by_length(records: Sequence[Record], direction: str) -> list[str]:
    """Return BLEU by the length of the source, of the best run of each model, with bootstrap intervals of 95 %."""
    from baselines import corpus, lines

    if not MULTI30K.is_dir():
        return []
    sources, references = (lines(path) for path in corpus("test_2016_flickr", direction))
    words = np.array([len(source.split()) for source in sources])
    groups = [np.flatnonzero((low <= words) & (words <= high)) for low, high in LENGTHS]
    head = (
        "BLEU by words of the source",
        "minutes",
        *(
            f"{low} to {high} ({len(group)})" if high < 99 else f"{low} or more ({len(group)})"
            for (low, high), group in zip(LENGTHS, groups, strict=True)
        ),
    )
    rows = [
        (
            NAMES[record["model"]],
            MINUTES[record["stage"]],
            *(_interval(record["translations"], references, group) for group in groups),
        )
        for record in _best(records)
    ]
    return table(head, rows)


def _interval(translations: Sequence[str], references: Sequence[str], group: "np.ndarray") -> str:
    """Return the BLEU of a group of sentences, with a bootstrap interval over its sentences."""
    metric = sacrebleu.BLEU(references=[[references[index] for index in group]])
    statistics = np.array(metric._extract_corpus_statistics([translations[index] for index in group], None))
    samples = np.random.default_rng(1).integers(len(group), size=(RESAMPLES, len(group)))
    scores = sorted(_bleu(metric, statistics[sample].sum(axis=0)) for sample in samples)
    low, high = scores[round(0.025 * RESAMPLES)], scores[round(0.975 * RESAMPLES) - 1]
    return f"{_bleu(metric, statistics.sum(axis=0)):.1f} ({low:.1f} to {high:.1f})"


def _bleu(metric: sacrebleu.BLEU, statistics: "np.ndarray") -> float:
    return float(metric._compute_score_from_stats(statistics.tolist()).score)
