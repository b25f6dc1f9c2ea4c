"""Every printed number of the arithmetic is computed again from the stored parameters in plain Python.

The model is small enough for lists of floats, without torch or numpy.
"""

import math
import re
from typing import Any

import pytest
from safetensors.numpy import load_file

from regard.errors import LookError
from regard.interpret.look.arithmetic import head_arithmetic, token_stages
from regard.interpret.report.arithmetic_text import show_arithmetic, show_stages
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings

TEXT = "the old cat sees a tree."
DECODE = DecodeSettings(beam_size=2, max_length_offset=9)
Vector = list[float]


class PlainTransformer:
    """The Transformer for one sentence, as in section 3 of the paper."""

    def __init__(self, folder, settings) -> None:
        self.parameters = {
            name: array.astype(float).tolist() for name, array in load_file(folder / "weights.safetensors").items()
        }
        self.settings = settings
        self.steps: dict[str, dict] = {}

    def linear(self, name: str, x: Vector) -> Vector:
        rows, bias = self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]
        return [sum(a * b for a, b in zip(row, x, strict=True)) + c for row, c in zip(rows, bias, strict=True)]

    def norm(self, name: str, x: Vector) -> Vector:
        mean = sum(x) / len(x)
        deviation = math.sqrt(sum((element - mean) ** 2 for element in x) / len(x) + 1e-5)
        scale, shift = self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]
        return [(element - mean) / deviation * a + b for element, a, b in zip(x, scale, shift, strict=True)]

    def embed(self, ids) -> list[Vector]:
        width = self.settings.width
        return [
            [
                element * math.sqrt(width) + self.position(p, i)
                for i, element in enumerate(self.parameters["embedding.weight"][token_id])
            ]
            for p, token_id in enumerate(ids)
        ]

    def position(self, p: int, i: int) -> float:
        if self.settings.positions == "learned":
            return float(self.parameters["positions.weight"][p][i])
        angle = p / 10_000 ** (i // 2 * 2 / self.settings.width)
        return math.cos(angle) if i % 2 else math.sin(angle)

    def attend(self, name: str, xs: list[Vector], ys: list[Vector], causal: bool) -> list[Vector]:
        heads = self.settings.heads
        width = self.settings.width // heads
        queries, keys, values = (
            [self.linear(f"{name}.{matrix}", x) for x in inputs]
            for matrix, inputs in (("query", xs), ("key", ys), ("value", ys))
        )
        outputs = []
        for row, query in enumerate(queries):
            joined: Vector = []
            for head in range(heads):
                block = slice(head * width, (head + 1) * width)
                keys_of_row: list[dict[str, Any]] = []
                for column, (key, value) in enumerate(zip(keys, values, strict=True)):
                    products = [a * b for a, b in zip(query[block], key[block], strict=True)]
                    keys_of_row.append(
                        {
                            "key": key[block],
                            "products": products,
                            "score": sum(products),
                            "value": value[block],
                            "allowed": column <= row or not causal,
                        }
                    )
                maximum = max(step["score"] / math.sqrt(width) for step in keys_of_row if step["allowed"])
                for step in keys_of_row:
                    step["scaled"] = step["score"] / math.sqrt(width)
                    step["exponential"] = math.exp(step["scaled"] - maximum) if step["allowed"] else 0.0
                total = sum(step["exponential"] for step in keys_of_row)
                for step in keys_of_row:
                    step["weight"] = step["exponential"] / total
                    step["weighted"] = [step["weight"] * element for element in step["value"]]
                mixed = [sum(column) for column in zip(*(step["weighted"] for step in keys_of_row), strict=True)]
                joined += mixed
                self.steps[f"{name}.{head + 1}:{row}"] = {
                    "input": xs[row],
                    "query": query[block],
                    "keys": keys_of_row,
                    "maximum": maximum,
                    "sum": total,
                    "mixed": mixed,
                }
            outputs.append(self.linear(f"{name}.output", joined))
            for head in range(heads):
                self.steps[f"{name}.{head + 1}:{row}"] |= {"joined": joined, "output": outputs[-1]}
        return outputs

    def feed_forward(self, name: str, xs: list[Vector]) -> list[Vector]:
        return [
            self.linear(f"{name}.outer", [max(0.0, element) for element in self.linear(f"{name}.inner", x)]) for x in xs
        ]

    def with_residual(self, name: str, xs: list[Vector], sublayer) -> list[Vector]:
        pre = self.settings.norm == "pre"
        outputs = sublayer([self.norm(f"{name}_norm", x) for x in xs] if pre else xs)
        sums = [[a + b for a, b in zip(x, out, strict=True)] for x, out in zip(xs, outputs, strict=True)]
        normed = sums if pre else [self.norm(f"{name}_norm", x) for x in sums]
        for key, step in self.steps.items():
            if key.startswith(f"{name}."):
                row = int(key.rpartition(":")[2])
                step |= {"skip": xs[row], "residual": sums[row], "norm": normed[row]}
        return normed

    def run(self, source, read) -> None:
        xs = self.embed(source)
        for n in range(1, self.settings.encoder_layers + 1):
            layer = f"encoder.{n}"
            xs = self.with_residual(
                f"{layer}.self", xs, lambda x, layer=layer: self.attend(f"{layer}.self", x, x, False)
            )
            xs = self.with_residual(
                f"{layer}.feedforward", xs, lambda x, layer=layer: self.feed_forward(f"{layer}.feedforward", x)
            )
        encoded = [self.norm("encoder.norm", x) for x in xs] if self.settings.norm == "pre" else xs
        xs = self.embed(read)
        for n in range(1, self.settings.decoder_layers + 1):
            layer = f"decoder.{n}"
            xs = self.with_residual(
                f"{layer}.self", xs, lambda x, layer=layer: self.attend(f"{layer}.self", x, x, True)
            )
            xs = self.with_residual(
                f"{layer}.cross", xs, lambda x, layer=layer: self.attend(f"{layer}.cross", x, encoded, False)
            )
            xs = self.with_residual(
                f"{layer}.feedforward", xs, lambda x, layer=layer: self.feed_forward(f"{layer}.feedforward", x)
            )
        self.last = [self.norm("decoder.norm", x) for x in xs] if self.settings.norm == "pre" else xs
        self.encoded = encoded


def numbers(text: str) -> Vector:
    return [float(number) for number in re.findall(r"-?\d+\.\d{4}", text)]


def close(actual: Vector, expected: Vector) -> bool:
    return len(actual) == len(expected) and all(abs(a - b) < 1e-4 for a, b in zip(actual, expected, strict=True))


@pytest.fixture(params=["post", "pre", "learned", "deep encoder"])
def view_and_plain(request, model_of, folder_of):
    model = model_of(request.param)
    view = model.look(TEXT, target="a red dog paints.")
    plain = PlainTransformer(folder_of(request.param), model.network.settings)
    plain.run(view.trace.source.ids, view.trace.read.ids)
    return view, plain


def vectors(lines: list[str]) -> list[tuple[str, Vector]]:
    """Return the named vectors of printed lines, in order; the continuation lines of a vector have no name."""
    found: list[tuple[str, Vector]] = []
    for line in lines:
        if match := re.match(r"     (\w*) {1,}(?=-?\d)", line):
            name = match.group(1)
            if name == "sum":
                continue
            if name:
                found.append((name, numbers(line)))
            else:
                found[-1] = (found[-1][0], found[-1][1] + numbers(line))
    return found


def test_every_printed_number_follows_from_the_stored_parameters(view_and_plain):
    view, plain = view_and_plain
    checked = 0
    for head in view.heads:
        rows = len(view.trace.attention(head.rpartition(".")[0]).rows.ids)
        for row in {0, rows // 2, rows - 1}:
            lines = "\n".join(show_arithmetic(head_arithmetic(view.trace, head, row), TerminalStyle(90))).split("\n")
            expected = plain.steps[f"{head}:{row}"]
            wanted = [("input", expected["input"]), ("query", expected["query"])]
            for key in expected["keys"]:
                wanted += [("key", key["key"]), ("products", key["products"])]
            for key in expected["keys"]:
                if key["allowed"]:
                    wanted += [("value", key["value"]), ("weighted", key["weighted"])]
            skip = ["skip"] if view.trace.settings.norm == "pre" else []
            wanted += [(name, expected[name]) for name in ("mixed", "joined", "output", *skip, "residual")]
            if view.trace.settings.norm == "post":
                wanted.append(("norm", expected["norm"]))
            found = vectors(lines)
            assert [name for name, _ in found] == [name for name, _ in wanted]
            for (name, ours), (_, theirs) in zip(found, wanted, strict=True):
                assert close(ours, theirs), (head, row, name)
            rest = [line for line in lines if numbers(line) and not re.match(r"     (?!sum)", line)]
            width = view.trace.settings.width // view.trace.settings.heads
            scalars: list[Vector] = [[key["score"]] for key in expected["keys"]]
            scalars += [[math.sqrt(width)], [expected["maximum"], expected["sum"]]]
            scalars += [
                [key["score"], key["scaled"], key["exponential"], key["weight"]] if key["allowed"] else [key["score"]]
                for key in expected["keys"]
            ]
            scalars += [[key["weight"]] for key in expected["keys"] if key["allowed"]]
            assert len(rest) == len(scalars)
            for line, theirs in zip(rest, scalars, strict=True):
                assert close(numbers(line), theirs), (head, row, line)
            checked += sum(len(vector) for _, vector in found) + sum(map(len, scalars))
    assert checked > 3000


def test_a_token_is_followed_from_its_embedding_to_its_last_vector(view_and_plain):
    view, plain = view_and_plain
    for stack, last in zip(view.trace.anatomy.stacks, (plain.encoded, plain.last), strict=True):
        stages = list(token_stages(view.trace, stack, 2))
        token_id = (view.trace.source if stack.name == "encoder" else view.trace.read).ids[2]
        assert close(stages[0].vector.tolist(), plain.parameters["embedding.weight"][token_id])
        assert close(stages[2].vector.tolist(), [plain.position(2, i) for i in range(view.trace.settings.width)])
        assert close(stages[3].vector.tolist(), plain.embed([token_id] * 3)[2])
        assert close(stages[-1].vector.tolist(), last[2])
        lines = list(show_stages(stages, TerminalStyle(300)))
        assert len(lines) == 2 * len(stages)
        for stage, line in zip(stages, lines[1::2], strict=True):
            assert close(numbers(line), [*stage.vector.tolist(), math.hypot(*stage.vector.tolist())])


def test_arithmetic_of_a_map_over_heads_is_refused(model_of):
    view = model_of("pre").look(TEXT, DECODE)
    with pytest.raises(
        LookError, match=r"a map over several heads; arithmetic is shown for one head, such as encoder.1.self.1"
    ):
        view.arithmetic("encoder.self.mean", "cat")


def test_arithmetic_is_found_by_word(model_of):
    view = model_of("pre").look(TEXT, DECODE)
    assert view.arithmetic("encoder.1.self.2", "cat").row.text == "▁cat"
    first = view.trace.written.words[0].text
    found = view.arithmetic("decoder.1.cross.1", first)
    assert found.row.description == f"after <s>, predicting {view.trace.written.texts[0]}"
    with pytest.raises(LookError, match="no word 'zebra' here; the words are: the, old, cat"):
        view.arithmetic("encoder.1.self.1", "zebra")
