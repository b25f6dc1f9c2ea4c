"""Draw the pictures of the lessons from the variables of their programs.

`PICTURES` names each picture of a lesson with the function that draws it. Numbers of a trained model are rounded before
they are drawn, so that a picture is the same on every machine.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from regard.render.chart import BLUE, GREY, ORANGE, Cell, CellGrid, LineStyle, PositionChart, heading, legend, text
from regard.render.svg import heatmap, svg

Variables = Mapping[str, Any]
Rows = Sequence[tuple[str, Sequence[tuple[str, str, float]]]]  # name of a row; label, number and weight of its cells
_COLOURS = (BLUE, ORANGE, GREY)
_MARGIN = 24


def _grid(title: str, subtitle: str, rows: Rows) -> str:
    """Return a picture of rows of cells; the colour of a cell shows its weight."""
    cells = [
        Cell(row, column, label, number, weight, f"{name}: {label} {number}".strip())
        for row, (name, boxes) in enumerate(rows)
        for column, (label, number, weight) in enumerate(boxes)
    ]
    grid = CellGrid([name for name, _ in rows], cells)
    width = max(grid.width + 12, 8 * max(len(title), len(subtitle)))
    return svg(width, 56 + grid.height + _MARGIN, title, [*heading(title, subtitle), *grid.elements(56)])


def _weights(title: str, subtitle: str, rows: Sequence[str], columns: Sequence[str], weights: Any) -> str:
    """Return a picture of attention weights: one row for each query, one cell for each key."""
    return _grid(
        title,
        subtitle,
        [
            (
                row,
                [
                    (column, f"{weight:.2f}", round(float(weight), 2))
                    for column, weight in zip(columns, line, strict=True)
                ],
            )
            for row, line in zip(rows, weights, strict=True)
        ],
    )


def _lines(title: str, subtitle: str, labels: Sequence[Any], lines: Mapping[str, Sequence[float]]) -> str:
    """Return a line chart; the axis of values starts at 0."""
    styles = [LineStyle(name, colour) for name, colour in zip(lines, _COLOURS, strict=False)]
    chart = PositionChart(subtitle, [str(label) for label in labels], list(zip(styles, lines.values(), strict=True)))
    spacing = 60 + 8 * max(map(len, lines))
    elements = [
        text(8, 20, title, font_weight="bold"),
        *chart.elements(28),
        *legend(styles, 40 + chart.height, spacing),
    ]
    width = max(chart.width + _MARGIN, 8 * len(title), spacing * len(lines))
    return svg(width, 64 + chart.height, title, elements)


def _forgetting(lesson: Variables) -> str:
    lines = {f"keep {keep}": shares for keep, shares in lesson["share"].items()}
    return _lines("What is left of the first word", "share, over the number of words after it", range(13), lines)


def _alignment(lesson: Variables) -> str:
    return _weights(
        "An LSTM with attention: from French to English",
        "Each row is a word that is written, and says where its attention is.",
        list(lesson["lstm"]),
        lesson["french"],
        list(lesson["lstm"].values()),
    )


def _lookup(lesson: Variables) -> str:
    steps = {name: lesson[name] for name in ("scores", "powers", "weights")}
    rows = [
        (
            name[:-1],
            [
                (word, f"{number:.3f}".rstrip("0").rstrip("."), number / max(row.values()))
                for word, number in row.items()
            ],
        )
        for name, row in steps.items()
    ]
    return _grid("From scores to weights", "For the query [1, 2]; brighter is more.", rows)


def _self_attention(lesson: Variables) -> str:
    subtitle = "Each row is a query, and its weights sum to 1."
    return _weights("Self-attention", subtitle, lesson["words"], lesson["words"], lesson["weights"])


def _temperature(lesson: Variables) -> str:
    rows, weights = zip(*lesson["at_temperature"].items(), strict=True)
    names = [f"temperature {row}" for row in rows]
    return _weights("Softmax of the scores 2, 1 and 0", "A high temperature flattens.", names, "210", weights)


def _heads(lesson: Variables) -> str:
    names = ["head 1", "head 2"]
    return _weights('What "reads" attends to', "One row for each head.", names, lesson["words"], lesson["weights"])


def _position_table(lesson: Variables) -> str:
    table = np.array(lesson["table"])
    rows, columns = [str(p) for p in range(table.shape[0])], [str(i) for i in range(table.shape[1])]
    values = (1 + table.round(3)) / 2  # from -1 to 1 becomes from 0 to 1
    title = "Position vectors of width 16"
    return heatmap(title, rows, [f"position {p}" for p in rows], columns, values, np.zeros(table.shape, dtype=bool))


def _distance(lesson: Variables) -> str:
    near = lesson["near"]
    return _lines("Dot product with position 10", "over positions", list(near), {"width 64": list(near.values())})


def _context(lesson: Variables) -> str:
    names = {1: "same meaning", 2: "other meaning"}
    lines = {names[other]: [round(cosine, 2) for cosine in cosines] for other, cosines in lesson["cosines"].items()}
    labels = [stage.removeprefix("encoder.") for stage in lesson["stages"]]
    return _lines('How similar is "know" in two sentences?', "cosine, after each layer", labels, lines)


def _residual(lesson: Variables) -> str:
    names = {False: "without residual", True: "with residual"}
    lines = {names[residual]: [abs(x) for x in numbers] for residual, numbers in lesson["differences"].items()}
    return _lines("Can river and bank be told apart?", "difference, over layers", range(5), lines)


def _masks(lesson: Variables) -> str:
    words = lesson["words"]
    rows = [
        (
            word,
            [(key, f"{w:.2f}" if j <= i else "masked", w) for j, (key, w) in enumerate(zip(words, row, strict=True))],
        )
        for i, (word, row) in enumerate(zip(words, lesson["causal"], strict=True))
    ]
    return _grid("Causal self-attention", "Later words are masked, and get no weight.", rows)


def _probabilities(lesson: Variables) -> str:
    rows = [
        (f"after {read}", [(token, f"{share:.2f}", round(share, 2)) for token, share in best])
        for read, best in lesson["most_probable"]
    ]
    return _grid("The most probable next tokens", "One row for each step of the decoder.", rows)


def _beam(lesson: Variables) -> str:
    rows = [
        (f"step {step}", [(" ".join(words).removesuffix(" </s>"), f"{p:.3f}", p) for words, p in kept])
        for step, kept in enumerate(lesson["history"], start=1)
    ]
    return _grid("Beam search with two hypotheses", "The probability of each hypothesis that is kept.", rows)


def _step(lesson: Variables) -> str:
    names = ["before", "after one step", "target", "smoothed target"]
    numbers = [lesson[name] for name in ("before", "after", "target", "smoothed")]
    return _weights("One training step", "Probability of each word", names, lesson["vocabulary"], numbers)


def _schedule(lesson: Variables) -> str:
    labels = [f"{step:,}" for step in lesson["steps"]]
    rates = {"rate · 10,000": [10_000 * rate for rate in lesson["rates"]]}
    return _lines("Learning rate of the paper", "times 10,000, over training steps", labels, rates)


def _heads_measured(lesson: Variables) -> str:
    return _weights(
        "Pairs in which a head prefers the right noun in both sentences",
        "Share of pairs; one row for each layer of the encoder, one cell for each head.",
        [f"layer {layer}" for layer in range(1, 1 + len(lesson["shares"]))],
        [f"head {head}" for head in range(1, 1 + len(lesson["shares"][0]))],
        lesson["shares"],
    )


PICTURES: dict[str, dict[str, Callable[[Variables], str]]] = {
    "before-attention": {"forgetting": _forgetting, "alignment": _alignment},
    "query-key-value": {"lookup": _lookup},
    "self-attention": {"weights": _self_attention},
    "softmax": {"temperature": _temperature},
    "heads": {"weights": _heads},
    "positions": {"table": _position_table, "distance": _distance},
    "context": {"know": _context},
    "layer": {"residual": _residual},
    "encoder-decoder": {"mask": _masks},
    "one-token": {"probabilities": _probabilities},
    "search": {"beam": _beam},
    "training": {"step": _step, "schedule": _schedule},
    "measured": {"heads": _heads_measured},
}
