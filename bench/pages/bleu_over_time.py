"""Write docs/explanation/curve.md and its plots from the results. No number in it is typed by hand."""

from collections.abc import Sequence
from pathlib import Path

from common.plots import Axis, Series, plot
from common.results import Record, latest, table
from pages.benchmarks import NAMES

INTRODUCTION = """\
# BLEU over minutes

Written by `python bench/bleu_over_time.py`, which keeps every measurement in `bench/results/bleu_over_time.jsonl`; do
not edit. All systems train a model of the same shape (`tiny`) with the same dropout on the same pairs and the same
tokens, in batches of 4,096 target tokens (Regard: 2,048, its default). Regard trains with the defaults of that day, and
its time includes everything; the clock of another system stops while it reads its data and translates the validation
text. "documented" is a recipe from the examples of the system, "published" the recipe of Wu et al. (2021) for Multi30k.
Both raise the learning rate for 1,000 to 4,000 steps, more than fit into a few minutes: a short curve shows what a
recipe for days achieves in that time. "short" is our adaptation: Regard's batch size, and a learning rate that rises to
0.003 in 100 steps and then falls with the inverse square root. The curves are measured with greedy search on the
validation text. The last column is measured once on the test text, with a beam of 4 (Regard) or 5, the default of each.
"""
GROUP = ("corpus", "minutes", "cores")  # the keys that all systems of one table share
FRACTIONS = (0.25, 0.5, 0.75, 1)  # of the time


def write_page(results: Path, out: Path) -> None:
    """Write the page from the latest result of each system and recipe."""
    records = latest(results, *GROUP, "system", "recipe")
    lines = [INTRODUCTION]
    for group in dict.fromkeys(tuple(record[key] for key in GROUP) for record in records):
        systems = [record for record in records if tuple(record[key] for key in GROUP) == group]
        corpus, minutes, cores = group
        picture = out.parent / "pictures" / f"curve-{corpus}-{minutes:g}-{cores}.svg"
        picture.write_text(draw(corpus, systems), "utf-8")
        rows = [[label(record), *map(str, bleu_at_fractions(record)), f"{record['test']:.2f}"] for record in systems]
        head = ["system", *(f"{fraction * minutes:g} minutes" for fraction in FRACTIONS), "test"]
        on = "one core" if cores == 1 else f"{cores} cores"
        lines += [f"## {corpus}, {minutes:g} minutes on {on}", "", f"![BLEU over minutes](pictures/{picture.name})", ""]
        commands = dict.fromkeys(record["command"] for record in systems)
        lines += [*table(head, rows), *(f"    {command}" for command in commands)]
        lines += ["", f"{systems[-1]['date']}, {systems[-1]['machine']}", ""]
        if missing := not_measured(records, systems):
            lines[-1:] = ["", f"Not measured here: {'; '.join(missing)}.", ""]
    out.write_text("\n".join(lines).rstrip() + "\n", "utf-8")


def not_measured(records: Sequence[Record], systems: Sequence[Record]) -> list[str]:
    """Return the systems and recipes that other tables have and this one has not."""
    measured = {label(record) for record in systems}
    return [name for name in dict.fromkeys(map(label, records)) if name not in measured]


def bleu_at_fractions(record: Record) -> list[float]:
    """Return the last BLEU before each fraction of the time."""
    limits = [fraction * record["minutes"] * 1.02 for fraction in FRACTIONS]
    return [max((point for point in record["curve"] if point[0] <= limit), default=(0, 0))[1] for limit in limits]


def draw(corpus: str, records: Sequence[Record]) -> str:
    curves = [Series(label(record), record["curve"]) for record in records]
    return plot(f"{corpus}: BLEU on the validation text, greedy", Axis("minutes of training"), Axis("BLEU"), curves)


def label(record: Record) -> str:
    return NAMES[record["system"]] + ("" if record["system"] == "regard" else f", {record['recipe']}")
