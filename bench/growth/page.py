"""docs/growth.md and its pictures, written from what was measured. No figure in it is typed by hand."""

import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from growth.plot import Axis, Line, plot
from growth.straight import FEWEST, Point, excess, foretold
from peers.results import Record, latest, spread, table

INTRODUCTION = """\
# How cost grows

Written by `python bench/grow.py`, which measures and keeps every figure in `bench/results/grow.jsonl`; do not edit.
Machines differ, and so will your figures; run the command. Every point is measured in a process of its own. Times are
medians, with the least and the most. A dashed line is the straight line through all measured points but the last, so
that the last shows whether cost runs away.
"""
LENGTHS = """\
Steps of learning at `tiny` on random pieces, {tokens:,} of them in every batch whatever the length of the texts, some
rows shorter than others. All but attention then costs the same at every length, and attention's share grows in
proportion to the length: a straight line. The last column is what the weights of attention would take if they were kept
for the way back, a matrix of length times length for every head of every layer; the memory shows that they are not.
"""
PAIRS = """\
What `regard train` does before it learns, on pairs of English and French sentences of the built-in language, all
different: check them, gather them as text, find the pieces, turn all into ids. Own memory is the most that the process
held in each stage, without the pages of mapped files, which the system takes back when it wants them; resident is the
most with them. Pieces are found in a sample of bounded size, so memory and the time of that stage grow up to there and
no further.
"""
OUTPUTS = """\
One text at a time, beam 4, by weights of size `tiny` that copy the source, so that it is known how long the output must
be; single pieces may be miscopied, which takes as long. Every piece looks back at all before it and at the
whole source, so a line is straight only as long as that is little beside the rest; in the longest
texts it is the larger part. The model takes 1,024 pieces at once; longer texts are translated in parts.
"""
THREADS = """\
Learning: steps of `tiny` at length {length}, {tokens:,} pieces in every batch. Translating: {sentences:,}
sentences, beam 4. `OMP_NUM_THREADS` gives the number of threads.
"""
START = "From the start of a process to its end, in seconds; the first time, which reads the files, is not counted."
STAGES = {"check": "checking", "texts": "gathering", "pieces": "finding pieces", "ids": "turning into ids"}
COMMANDS = {
    "nothing": "`python -c pass`",
    "help": "`regard --help`",
    "import regard": '`python -c "import regard"`',
    "translate": '`regard translate --model … "…"`, one sentence',
    "import torch": '`python -c "import torch"`, to compare',
}


def write(results: Path, out: Path, pictures: Path) -> None:
    """The whole page, from the newest of each part."""
    found = {record["part"]: record for record in latest(results, "part")}
    pictures.mkdir(parents=True, exist_ok=True)
    where = Path(os.path.relpath(pictures, out.parent)).as_posix()
    lines = [INTRODUCTION]
    for part, (title, section) in SECTIONS.items():
        if part in found:
            words, drawn = section(found[part])
            lines += [f"## {title}", "", *words]
            for name, picture in drawn.items():
                (pictures / f"grow-{name}.svg").write_text(picture, "utf-8")
                lines += [f"![{title}: {name.split('-')[-1]}]({where}/grow-{name}.svg)", ""]
            lines += [f"{found[part]['date']}, {found[part]['machine']}", "", f"    {found[part]['command']}", ""]
    out.write_text("\n".join(lines).rstrip() + "\n", "utf-8")


Section = tuple[list[str], dict[str, str]]  # lines of the page, and pictures by name


def lengths(record: Record) -> Section:
    points = record["points"]
    head = ["length", "seconds a step", "target pieces a second", "peak memory, GB", "weights of attention, GB"]
    rows = [
        [
            f"{one['length']:,}",
            spread(one["seconds"], 2),
            f"{one['tokens'] / statistics.median(one['seconds']):,.0f}",
            f"{one['peak'] / 1e9:.2f}",
            f"{one['weights'] / 1e9:.2f}",
        ]
        for one in points
    ]
    seconds = _points(points, "length", lambda one: statistics.median(one["seconds"]))
    memory = [
        Line("measured", _points(points, "length", lambda one: one["peak"] / 1e9)),
        Line("weights, if kept", _points(points, "length", lambda one: one["weights"] / 1e9), dashed=True),
    ]
    shown = Axis("length of the texts, in pieces")
    pictures = {
        "length-time": plot("Time of a step", shown, Axis("seconds"), _with_straight({"measured": seconds})),
        "length-memory": plot("Peak memory of learning", shown, Axis("GB"), memory),
    }
    words = [LENGTHS.format(tokens=record["tokens"]), *table(head, rows), *_said({"the time": seconds})]
    return words, pictures


def pairs(record: Record) -> Section:
    points = record["points"]
    head = ["pairs", *(f"{name}, s" for name in STAGES.values()), "all, s", "pairs a second"]
    head += ["own memory in these stages, MB", "resident, MB"]
    rows = []
    for one in points:
        stages = {stage["stage"]: stage for stage in one["stages"]}
        own = " / ".join(f"{stages[name]['own'] / 1e6:,.0f}" for name in STAGES)
        each = (f"{stages[name]['seconds']:,.1f}" for name in STAGES)
        rate = one["pairs"] / _total(one)
        rows.append([f"{one['pairs']:,}", *each, f"{_total(one):,.1f}", f"{rate:,.0f}", own, f"{_peak(one):,.0f}"])
    without = _points(points, "pairs", lambda one: _total(one) - _stage(one, "pieces")["seconds"])
    everything = _points(points, "pairs", _total)
    own_memory = _points(points, "pairs", lambda one: max(stage["own"] for stage in one["stages"]) / 1e6)
    others = _points(
        points, "pairs", lambda one: max(stage["own"] for stage in one["stages"] if stage["stage"] != "pieces") / 1e6
    )
    shown = Axis("pairs", log=True)
    time = [Line("all stages", everything), *_with_straight({"all but finding pieces": without})]
    memory = [Line("all stages", own_memory), Line("all but finding pieces", others)]
    pictures = {
        "pairs-time": plot("Time of preparing", shown, Axis("seconds", log=True), time),
        "pairs-memory": plot("Own memory of preparing", shown, Axis("MB"), memory),
    }
    words = [PAIRS, *table(head, rows), *_said({"all but finding pieces": without})]
    return words, pictures


def outputs(record: Record) -> Section:
    roads = list(dict.fromkeys(one["road"] for one in record["points"]))
    rows, curves = [], {}
    for road in roads:
        points = [one for one in record["points"] if one["road"] == road]
        curves[road] = _points(points, "pieces", lambda one: statistics.median(one["seconds"]))
        rows += [
            [
                road,
                f"{one['pieces']:,.0f}",
                spread(one["seconds"], 3),
                f"{1000 * statistics.median(one['seconds']) / one['pieces']:.2f}",
                f"{one['peak'] / 1e6:,.0f}",
                f"{one['copied']:.0%}",
            ]
            for one in points
        ]
    head = ["road", "pieces written", "seconds", "milliseconds a piece", "peak memory, MB", "came out right"]
    picture = plot("Time of translating one text", Axis("pieces written"), Axis("seconds"), _with_straight(curves))
    words = [OUTPUTS, *table(head, rows), *_said(curves)]
    return words, {"output-time": picture}


def threads(record: Record) -> Section:
    works = {"learning": "target pieces a second, learning", "translating": "target pieces a second, translating"}
    rates = {
        name: [[one[name]["tokens"] / seconds for seconds in one[name]["seconds"]] for one in record["points"]]
        for name in works
    }
    rows = []
    for number, one in enumerate(record["points"]):
        cells = [str(one["threads"])]
        for name in works:
            times = statistics.median(rates[name][number]) / statistics.median(rates[name][0])
            cells += [spread(rates[name][number]), f"{times:.2f}x"]
        rows.append(cells)
    head = ["threads", works["learning"], "than with one", works["translating"], "than with one"]
    return [THREADS.format(**record["of"]), *table(head, rows)], {}


def start(record: Record) -> Section:
    rows = [[COMMANDS[name], spread(seconds, 2)] for name, seconds in record["commands"].items()]
    return [START, "", *table(["command", "seconds"], rows)], {}


SECTIONS: dict[str, tuple[str, Callable[[Record], Section]]] = {
    "lengths": ("Learning, over the length of texts", lengths),
    "pairs": ("Preparing, over the number of pairs", pairs),
    "outputs": ("Translating, over the length of the output", outputs),
    "threads": ("Threads", threads),
    "start": ("Start-up", start),
}


def _points(records: Sequence[Record], x: str, y: Callable[[Record], float]) -> list[Point]:
    return [(one[x], y(one)) for one in records]


def _with_straight(curves: dict[str, list[Point]]) -> list[Line]:
    """Measured curves, and for each the line that all its points but the last foretell."""
    lines = [Line(name, points) for name, points in curves.items()]
    for name, points in curves.items():
        if len(points) >= FEWEST:
            line = foretold(points)
            lines.append(Line(f"{name}, straight", [(at, line.at(at)) for at, _ in points], dashed=True))
    return lines


def _said(curves: dict[str, list[Point]]) -> list[str]:
    """Where the last point of each curve is beside the line through the others."""
    said = [
        f"{name} is {abs(excess(points)):.0%} {'above' if excess(points) > 0 else 'below'}"
        for name, points in curves.items()
        if len(points) >= FEWEST
    ]
    sentence = f"At the last point, beside the straight line through the others: {'; '.join(said)}."
    return [sentence, ""] if said else []


def _stage(one: Record, name: str) -> Record:
    return next(stage for stage in one["stages"] if stage["stage"] == name)


def _total(one: Record) -> float:
    return float(sum(stage["seconds"] for stage in one["stages"]))


def _peak(one: Record) -> float:
    return max(stage["peak"] for stage in one["stages"]) / 1e6
