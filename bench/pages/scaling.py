"""Write docs/explanation/growth.md and its plots from the results. No number in it is typed by hand."""

import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from common.linear_fit import MIN_POINTS, Point, excess, extrapolate
from common.plots import Axis, Series, plot
from common.results import Record, latest, spread, table

INTRODUCTION = """\
# How cost grows

Written by `python bench/scaling.py`, which keeps every measurement in `bench/results/scaling.jsonl`; do not edit.
Numbers differ between machines; run the command to get yours. Every point is measured in its own process. Times are
medians, with the minimum and the maximum. A dashed line is fitted to all measured points but the last, so that the last
point shows whether cost grows faster than linearly.
"""
LENGTHS = """\
Training steps of `tiny` on random tokens. Every batch has {tokens:,} tokens, whatever the length of the texts, and some
rows are shorter than others. The cost of attention per token grows linearly with the length; everything else costs the
same at every length. The last column is the memory that the attention weights would need if they were stored for the
backward pass, a matrix of length times length for every head of every layer; the peak memory shows that they are not.
"""
PAIRS = """\
The preparation of `regard train` before training starts, on distinct pairs of English and French sentences of the
synthetic language: check the pairs, write them as text, train the tokenizer, and encode all text as ids. Own memory is
the peak of the process in each stage without the pages of mapped files, which the system can reclaim; resident memory
includes them. The tokenizer is trained on a sample of bounded size, so the memory and the time of that stage stop
growing.
"""
OUTPUTS = """\
One text at a time, beam 4, by a model of size `tiny` whose parameters copy the source, so that the expected length of
the output is known; single tokens may be copied wrongly, which takes the same time. Every token attends to all tokens
before it and to the whole source, so the time per text is linear only as long as attention is a small part of the cost;
in the longest texts it is the larger part. The model accepts 1,024 tokens; longer texts are translated in parts.
"""
THREADS = """\
Training: steps of `tiny` at length {length}, {tokens:,} tokens per batch. Translation: {sentences:,} sentences, beam 4.
`OMP_NUM_THREADS` sets the number of threads. A ratio above the number of threads does not mean that threads do more
together: the cores share caches with other work, and one of the runs was disturbed. Do not rely on it.
"""
START = "From the start of a process to its end, in seconds. The first run, which reads the files, is not counted."
# The stages by the names in the results, and their titles.
STAGES = {"check": "check", "texts": "write text", "pieces": "train tokenizer", "ids": "encode"}
# The backends by the names in the results, and their titles.
BACKENDS = {"engine": "CTranslate2", "torch": "torch"}
COMMANDS = {
    "nothing": "`python -c pass`",
    "help": "`regard --help`",
    "import regard": '`python -c "import regard"`',
    "translate": '`regard translate --model … "…"`, one sentence',
    "import torch": '`python -c "import torch"`, to compare',
}


def write_page(results: Path, out: Path, pictures: Path) -> None:
    """Write the page from the latest result of each part."""
    records = {record["part"]: record for record in latest(results, "part")}
    pictures.mkdir(parents=True, exist_ok=True)
    folder = Path(os.path.relpath(pictures, out.parent)).as_posix()
    page = [INTRODUCTION]
    for part, (title, section) in SECTIONS.items():
        if part in records:
            text, plots = section(records[part])
            page += [f"## {title}", "", *text]
            for name, picture in plots.items():
                (pictures / f"grow-{name}.svg").write_text(picture, "utf-8")
                page += [f"![{title}: {name.split('-')[-1]}]({folder}/grow-{name}.svg)", ""]
            record = records[part]
            page += [f"{record['date']}, {record['machine']}", "", f"    {record['command']}", ""]
    out.write_text("\n".join(page).rstrip() + "\n", "utf-8")


Section = tuple[list[str], dict[str, str]]  # lines of the page, and plots by name


def lengths(record: Record) -> Section:
    points = record["points"]
    head = ["length", "seconds per step", "target tokens per second", "peak memory, GB", "attention weights, GB"]
    rows = [
        [
            f"{point['length']:,}",
            spread(point["seconds"], 2),
            f"{point['tokens'] / statistics.median(point['seconds']):,.0f}",
            f"{point['peak'] / 1e9:.2f}",
            f"{point['weights'] / 1e9:.2f}",
        ]
        for point in points
    ]
    seconds = _points(points, "length", lambda point: statistics.median(point["seconds"]))
    memory = [
        Series("measured", _points(points, "length", lambda point: point["peak"] / 1e9)),
        Series(
            "attention weights, if stored", _points(points, "length", lambda point: point["weights"] / 1e9), dashed=True
        ),
    ]
    axis = Axis("length of the texts in tokens")
    pictures = {
        "length-time": plot("Time of a step", axis, Axis("seconds"), _with_lines({"measured": seconds})),
        "length-memory": plot("Peak memory of training", axis, Axis("GB"), memory),
    }
    lines = [LENGTHS.format(tokens=record["tokens"]), *table(head, rows), *_deviations({"the time": seconds})]
    return lines, pictures


def pairs(record: Record) -> Section:
    points = record["points"]
    head = ["pairs", *(f"{name}, s" for name in STAGES.values()), "total, s", "pairs per second"]
    head += ["own memory of these stages, MB", "resident, MB"]
    rows = []
    for point in points:
        stages = {stage["stage"]: stage for stage in point["stages"]}
        own = " / ".join(f"{stages[name]['own'] / 1e6:,.0f}" for name in STAGES)
        each = (f"{stages[name]['seconds']:,.1f}" for name in STAGES)
        rate = point["pairs"] / _total(point)
        rows.append(
            [f"{point['pairs']:,}", *each, f"{_total(point):,.1f}", f"{rate:,.0f}", own, f"{_peak(point):,.0f}"]
        )
    without_tokenizer = _points(points, "pairs", lambda point: _total(point) - _stage(point, "pieces")["seconds"])
    everything = _points(points, "pairs", _total)
    own_memory = _points(points, "pairs", lambda point: max(stage["own"] for stage in point["stages"]) / 1e6)
    others = _points(
        points,
        "pairs",
        lambda point: max(stage["own"] for stage in point["stages"] if stage["stage"] != "pieces") / 1e6,
    )
    axis = Axis("pairs", log=True)
    time = [Series("all stages", everything), *_with_lines({"without tokenizer": without_tokenizer})]
    memory = [Series("all stages", own_memory), Series("without tokenizer", others)]
    pictures = {
        "pairs-time": plot("Time of preparation", axis, Axis("seconds", log=True), time),
        "pairs-memory": plot("Own memory of preparation", axis, Axis("MB"), memory),
    }
    lines = [PAIRS, *table(head, rows), *_deviations({"the time without the tokenizer": without_tokenizer})]
    return lines, pictures


def outputs(record: Record) -> Section:
    rows, curves = [], {}
    for key, backend in BACKENDS.items():
        points = [point for point in record["points"] if point["road"] == key]
        curves[backend] = _points(points, "pieces", lambda point: statistics.median(point["seconds"]))
        rows += [
            [
                backend,
                f"{point['pieces']:,.0f}",
                spread(point["seconds"], 3),
                f"{1000 * statistics.median(point['seconds']) / point['pieces']:.2f}",
                f"{point['peak'] / 1e6:,.0f}",
                f"{point['copied']:.0%}",
            ]
            for point in points
        ]
    head = ["backend", "output tokens", "seconds", "milliseconds per token", "peak memory, MB", "copied exactly"]
    picture = plot("Time of translating one text", Axis("output tokens"), Axis("seconds"), _with_lines(curves))
    lines = [OUTPUTS, *table(head, rows), *_deviations(curves)]
    return lines, {"output-time": picture}


def threads(record: Record) -> Section:
    titles = {"learning": "target tokens per second, training", "translating": "target tokens per second, translation"}
    rates = {
        name: [[point[name]["tokens"] / seconds for seconds in point[name]["seconds"]] for point in record["points"]]
        for name in titles
    }
    rows = []
    for number, point in enumerate(record["points"]):
        cells = [str(point["threads"])]
        for name in titles:
            times = statistics.median(rates[name][number]) / statistics.median(rates[name][0])
            cells += [spread(rates[name][number]), f"{times:.2f}x"]
        rows.append(cells)
    head = ["threads", titles["learning"], "relative to one thread", titles["translating"], "relative to one thread"]
    return [THREADS.format(**record["of"]), *table(head, rows)], {}


def start(record: Record) -> Section:
    rows = [[COMMANDS[name], spread(seconds, 2)] for name, seconds in record["commands"].items()]
    return [START, "", *table(["command", "seconds"], rows)], {}


SECTIONS: dict[str, tuple[str, Callable[[Record], Section]]] = {
    "lengths": ("Training over the length of texts", lengths),
    "pairs": ("Preparation over the number of pairs", pairs),
    "outputs": ("Translation over the length of the output", outputs),
    "threads": ("Threads", threads),
    "start": ("Start-up", start),
}


def _points(records: Sequence[Record], x: str, y: Callable[[Record], float]) -> list[Point]:
    return [(point[x], y(point)) for point in records]


def _with_lines(curves: dict[str, list[Point]]) -> list[Series]:
    """Return the measured curves, and for each the line through all points but the last."""
    lines = [Series(name, points) for name, points in curves.items()]
    for name, points in curves.items():
        if len(points) >= MIN_POINTS:
            line = extrapolate(points)
            lines.append(Series(f"{name}, linear", [(at, line.at(at)) for at, _ in points], dashed=True))
    return lines


def _deviations(curves: dict[str, list[Point]]) -> list[str]:
    """Say how far the last point of each curve is from the line through the others."""
    deviations = [
        f"{name} is {abs(excess(points)):.0%} {'above' if excess(points) > 0 else 'below'}"
        for name, points in curves.items()
        if len(points) >= MIN_POINTS
    ]
    sentence = f"At the last point, {' and '.join(deviations)} the line through the other points."
    return [sentence, ""] if deviations else []


def _stage(point: Record, name: str) -> Record:
    return next(stage for stage in point["stages"] if stage["stage"] == name)


def _total(point: Record) -> float:
    return float(sum(stage["seconds"] for stage in point["stages"]))


def _peak(point: Record) -> float:
    return max(stage["peak"] for stage in point["stages"]) / 1e6
