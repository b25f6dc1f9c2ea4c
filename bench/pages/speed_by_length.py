"""Write docs/explanation/speed-by-length.md and its plots from the results. No number in it is typed by hand."""

from pathlib import Path

from common.plots import Axis, Series, plot
from common.results import latest, table

INTRODUCTION = """\
# Speed and sentence length

Written by `python bench/speed_by_length.py`, which keeps every measurement in `bench/results/speed_by_length.jsonl`; do
not edit. Tokens per second of models of the size `tiny` with a vocabulary of 8,000 tokens, in batches of 4,096 tokens
on each side, all sentences of the same length. "Fed" is input feeding: each decoder step waits for the attention output
of the step before. Training includes the loss and the update of the parameters; translation is greedy with torch. A
recurrent model takes as many steps after each other as a sentence has tokens, in training as in translation; a
Transformer does so only in translation, where its attention also looks at more and more tokens.
"""
NAMES = {
    "transformer": "Transformer",
    "lstm": "LSTM, attention, fed",
    "lstm-unfed": "LSTM, attention, not fed",
    "lstm-vector": "LSTM, no attention",
    "gru": "GRU, attention, fed",
    "gru-unfed": "GRU, attention, not fed",
    "rnn-vector": "RNN, no attention",
}
TITLES = {"train": "Training", "translate": "Translation"}


def write_page(results: Path, out: Path) -> None:
    """Write the page and its plots from the latest result of each model and length."""
    records = latest(results, "model", "what", "length")
    lengths = sorted({record["length"] for record in records})
    rates = {(record["what"], record["model"], record["length"]): record["tokens_per_second"] for record in records}
    lines = [INTRODUCTION]
    for what, title in TITLES.items():
        models = [model for model in NAMES if (what, model, lengths[0]) in rates]
        curves = [Series(NAMES[model], [(n, rates[what, model, n]) for n in lengths]) for model in models]
        picture = out.parent / "pictures" / f"speed-by-length-{what}.svg"
        picture.write_text(plot(title, Axis("tokens in a sentence"), Axis("tokens per second"), curves), "utf-8")
        head = (
            "tokens in a sentence",
            "parameters",
            *(f"{length}" for length in lengths),
            f"{lengths[-1]} / {lengths[0]}",
        )
        rows = []
        for model in models:
            parameters = next(record["parameters"] for record in records if record["model"] == model)
            speeds = [rates[what, model, length] for length in lengths]
            rows.append(
                (
                    NAMES[model],
                    f"{parameters:,}",
                    *(f"{speed:,.0f}" for speed in speeds),
                    f"{speeds[-1] / speeds[0]:.2f}",
                )
            )
        lines += [f"## {title}", "", f"![Tokens per second](pictures/{picture.name})", "", *table(head, rows)]
    lines += [f"    {command}" for command in dict.fromkeys(record["command"] for record in records)]
    lines += ["", *dict.fromkeys(f"{record['date']}, {record['machine']}" for record in records)]
    out.write_text("\n".join(lines).rstrip() + "\n", "utf-8")
