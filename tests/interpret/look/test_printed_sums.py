"""Every printed row of the arithmetic agrees with its own sums, under every intervention, kind of model and scoring.

The numbers are read from the printed text, the JSON and the data of the page, and never from the model.
"""

import base64
import json
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from tests.interpret.recurrent_models import recurrent_model

from regard.api import Model
from regard.cli.look_output import view_lines
from regard.interpret.interventions import ForcedAttention, HeadIntervention, InterventionRecorder
from regard.interpret.look.arithmetic import head_arithmetic
from regard.interpret.report.arithmetic_text import show_arithmetic
from regard.interpret.report.view import View
from regard.interpret.trace import Trace, record
from regard.render.terminal import TerminalStyle

TEXT, TARGET = "the old cat sees a tree.", "a red dog paints."
STYLE = TerminalStyle(90)
Vector = list[float]

# A shape of the Transformer, or the kind and the scoring of a recurrent model.
MODELS = [("post", ""), ("pre", ""), ("lstm", "dot"), ("gru", "general"), ("rnn", "additive")]


@dataclass
class Printed:
    """The numbers of the printed arithmetic of one head for one token."""

    vectors: dict[str, list[Vector]] = field(default_factory=dict)  # all vectors with a name, in order
    scores: Vector = field(default_factory=list)  # the printed sums of the products
    root: float | None = None
    maximum: float = math.nan
    total: float = math.nan
    columns: list[str] = field(default_factory=list)
    rows: list[Vector] = field(default_factory=list)  # of the table; a masked key has its score only
    weights: Vector = field(default_factory=list)  # as printed above the values
    first: int = 0

    @property
    def allowed(self) -> list[dict[str, float]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows if len(row) > 1]


def read(lines: Iterator[str]) -> Printed:
    """Read the numbers of printed arithmetic."""
    printed, vector = Printed(), Vector()
    for line in "\n".join(lines).split("\n"):
        numbers = [float(number) for number in re.findall(r"(?<![\w.])-?\d+\.\d{4}\b", line)]
        if re.match(r"     sum ", line):
            printed.scores += numbers
        elif found := re.match(r"     (\w*) +(?=-?\d)", line):
            if found[1]:
                vector = []
                printed.vectors.setdefault(found[1], []).append(vector)
            vector += numbers
        elif "Scaling: divide" in line:
            (printed.root,) = numbers
        elif "Softmax: subtract" in line:
            printed.maximum, printed.total = numbers
        elif line.startswith("   token"):
            printed.columns = line.split()[1:]
        elif found := re.search(r", weight (\S+)$", line):
            printed.weights.append(float(found[1]))
        elif found := re.search(r"this head has (\d+) to", line):
            printed.first = int(found[1])
        elif numbers and printed.columns and not re.match(r"\d", line):
            printed.rows.append(numbers)
    return printed


def near(left: float, right: float, error: float) -> bool:
    """Compare two numbers of which `error` says how far rounding to four digits can part them."""
    return abs(left - right) <= error + 1e-4 + 1e-5 * abs(right)


def check(printed: Printed, *, is_replaced: bool) -> None:
    """Check each printed row against the rows that it is computed from."""
    half = 0.5e-4  # the error of a printed number
    vectors = printed.vectors
    for products, score in zip(vectors["products"], printed.scores, strict=True):
        assert near(sum(products), score, half * len(products))
    (query,) = vectors["query"]
    for number, (key, products) in enumerate(zip(vectors["key"], vectors["products"], strict=True)):
        left = vectors["v"][0] if "tanh" in vectors else query
        right = vectors["tanh"][number] if "tanh" in vectors else key
        for a, b, product in zip(left, right, products, strict=True):
            assert near(a * b, product, half * (abs(a) + abs(b)))
        if "tanh" in vectors:
            for q, k, tanh in zip(query, key, vectors["tanh"][number], strict=True):
                assert near(math.tanh(q + k), tanh, 2 * half)
    assert [row[0] for row in printed.rows] == printed.scores
    assert ("scaled" in printed.columns) == (printed.root is not None)
    assert ("softmax" in printed.columns) == is_replaced
    allowed = printed.allowed
    softmax = "softmax" if is_replaced else "weight"
    for row in allowed:
        assert near(row["score"] / (printed.root or 1), row.get("scaled", row["score"]), 2 * half)
        exponential = math.exp(row.get("scaled", row["score"]) - printed.maximum)
        assert near(exponential, row["exp"], 2 * half * exponential)
        assert near(row["exp"] / printed.total, row[softmax], half * (1 + row["exp"]))
    assert near(sum(row["exp"] for row in allowed), printed.total, half * len(allowed))
    assert near(sum(row[softmax] for row in allowed), 1, half * len(allowed))
    assert [row["weight"] for row in allowed] == printed.weights
    for weight, value, weighted in zip(printed.weights, vectors["value"], vectors["weighted"], strict=True):
        for element, product in zip(value, weighted, strict=True):
            assert near(weight * element, product, half * (1 + abs(element)))
    (mixed,), (joined,), (output,) = vectors["mixed"], vectors["joined"], vectors["output"]
    for element, *parts in zip(mixed, *vectors["weighted"], strict=True):
        assert near(sum(parts), element, half * len(parts))
    assert joined[printed.first - 1 : printed.first - 1 + len(mixed)] == mixed
    if "residual" in vectors:
        (added,) = vectors.get("skip", vectors["input"])
        for a, b, total in zip(output, added, vectors["residual"][0], strict=True):
            assert near(a + b, total, 2 * half)


def model(name: tuple[str, str], model_of: Any) -> Model:
    found: Model = recurrent_model(*name) if name[1] else model_of(name[0])
    return found


def interventions(chosen: Model) -> list[str | None]:
    anatomy = chosen.network.anatomy()
    return [None, *anatomy.removable, anatomy.heads[0], anatomy.heads[-1]]


@pytest.mark.parametrize("name", MODELS, ids="-".join)
def test_every_row_of_the_terminal_agrees_with_its_sums(model_of, name):
    chosen = model(name, model_of)
    for without in interventions(chosen):
        view = chosen.look(TEXT, target=TARGET, without=without)
        for head in view.heads:
            tokens = view.trace.attention(head.rpartition(".")[0]).rows.texts
            for row in {0, len(tokens) // 2, len(tokens) - 1}:
                check(read(show_arithmetic(head_arithmetic(view.trace, head, row), STYLE)), is_replaced=head == without)
            lines = "\n".join(view_lines(chosen, view, [head], tokens[0], STYLE, by_token=True))
            assert f"{head}, token 1: " in lines
            assert (without is not None) == (f"Computed without {without}: " in lines)


@pytest.mark.parametrize("name", MODELS, ids="-".join)
def test_other_interventions_on_heads_print_their_sums(model_of, name):
    chosen = model(name, model_of)
    plain = chosen.look(TEXT, target=TARGET).trace
    head = plain.anatomy.heads[-1]
    forced = ForcedAttention({head: [(range(1, 3), range(1, 3))]})
    for heads in (HeadIntervention([head], "uniform"), forced):
        trace = record(
            chosen.network, plain.source, plain.read, plain.written,
            generable=chosen.tokenizer.generable, lens=InterventionRecorder(heads, heads.mode),
        )  # fmt: skip
        for row in (0, 1):
            check(read(show_arithmetic(head_arithmetic(trace, head, row), STYLE)), is_replaced=True)


@pytest.mark.parametrize("name", MODELS, ids="-".join)
def test_every_number_of_the_json_agrees_with_the_others(model_of, name):
    chosen = model(name, model_of)
    for without in interventions(chosen):
        view = chosen.look(TEXT, target=TARGET, without=without)
        for head in {view.heads[0], view.heads[-1]}:
            found = json.loads(json.dumps(view.to_dict([head])))
            numbers = {name: np.array(array) for name, array in found["numbers"].items()}
            n = {name.removeprefix(f"{head}."): array for name, array in numbers.items() if name.startswith(head)}
            check_arrays(view.trace, head, n)
            assert np.allclose(softmax(n["scaled"], n["mask"]), n["softmax"], atol=1e-5)
            assert (found["intervention"] or {}).get("name") == without


def softmax(scaled: np.ndarray, mask: np.ndarray) -> np.ndarray:
    exponentials = np.where(mask, np.exp(scaled - np.where(mask, scaled, -np.inf).max(axis=-1, keepdims=True)), 0)
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def check_arrays(trace: Trace, head: str, n: dict[str, np.ndarray]) -> None:
    """Check that the scores follow from queries and keys, and the scaled scores and weights from the scores."""
    attention = trace.attention(head.rpartition(".")[0]).anatomy
    without = trace.intervention.name if trace.intervention else None
    if attention.scoring == "additive":
        return
    scores = n["query"] @ n["key"].T
    is_scaled = attention.scoring == "scaled dot product" and without != "scaling"
    assert np.allclose(n["scaled"], scores / (math.sqrt(attention.head_width) if is_scaled else 1), atol=1e-4)
    mask = np.tril(np.ones_like(scores, dtype=bool)) if attention.causal else np.ones_like(scores, dtype=bool)
    expected = np.zeros_like(scores) if head == without else softmax(n["scaled"], mask)
    assert np.allclose(n["weight"], expected, atol=1e-5)


@pytest.mark.parametrize("name", MODELS, ids="-".join)
def test_the_data_of_the_page_have_the_recorded_numbers(model_of, name):
    chosen = model(name, model_of)
    for without in interventions(chosen):
        view: View = chosen.look(TEXT, target=TARGET, without=without)
        data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', view.html())[0])
        assert (data["facts"]["intervention"] or {}).get("name") == without
        for head in view.heads:
            arrays = {name: unpack(text) for name, text in data["vectors"][head].items()}
            width = view.trace.attention(head.rpartition(".")[0]).anatomy.head_width
            n = {name: arrays[name].reshape(-1, width) for name in ("query", "key", "value")}
            n |= {name: arrays[name].reshape(len(n["query"]), len(n["key"])) for name in ("scaled", "weight")}
            check_arrays(view.trace, head, n)
            shown = unpack(data["maps"][head]).reshape(n["weight"].shape)
            assert np.abs(shown - n["weight"]).max() <= 0.501 / 65535
            (attention,) = (one for one in data["facts"]["attentions"] if head.startswith(f"{one['address']}."))
            assert attention["is_scaled"] == (attention["scoring"] == "scaled dot product" and without != "scaling")


def unpack(text: str) -> np.ndarray:
    """Return the numbers of an array in the data of a page: floats, or weights as integers."""
    form, _, packed = text.partition(" ")
    numbers = zlib.decompress(base64.b64decode(packed))
    return np.frombuffer(numbers, np.float32) if form == "float32" else np.frombuffer(numbers, "<u2") / 65535
