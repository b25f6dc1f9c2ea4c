"""Every number of a printed walk-through, computed again from the stored weights by plain Python: no torch, no numpy.

The model here is so small that lists of floats do.
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


class Plain:
    """The Transformer written out for one sentence, as section 3 of the paper has it."""

    def __init__(self, folder, settings) -> None:
        self.weights = {
            name: array.astype(float).tolist() for name, array in load_file(folder / "weights.safetensors").items()
        }
        self.settings = settings
        self.seen: dict[str, dict] = {}

    def linear(self, name: str, x: Vector) -> Vector:
        rows, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return [sum(a * b for a, b in zip(row, x, strict=True)) + c for row, c in zip(rows, bias, strict=True)]

    def norm(self, name: str, x: Vector) -> Vector:
        mean = sum(x) / len(x)
        deviation = math.sqrt(sum((one - mean) ** 2 for one in x) / len(x) + 1e-5)
        scale, shift = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return [(one - mean) / deviation * a + b for one, a, b in zip(x, scale, shift, strict=True)]

    def embed(self, ids) -> list[Vector]:
        width = self.settings.width
        return [
            [
                one * math.sqrt(width) + self.position(p, i)
                for i, one in enumerate(self.weights["embedding.weight"][identity])
            ]
            for p, identity in enumerate(ids)
        ]

    def position(self, place: int, i: int) -> float:
        if self.settings.positions == "learned":
            return float(self.weights["positions.weight"][place][i])
        angle = place / 10_000 ** (i // 2 * 2 / self.settings.width)
        return math.cos(angle) if i % 2 else math.sin(angle)

    def attend(self, name: str, xs: list[Vector], others: list[Vector], causal: bool) -> list[Vector]:
        heads = self.settings.heads
        width = self.settings.width // heads
        queries, keys, values = (
            [self.linear(f"{name}.{part}", x) for x in of]
            for part, of in (("query", xs), ("key", others), ("value", others))
        )
        outputs = []
        for row, query in enumerate(queries):
            joined: Vector = []
            for head in range(heads):
                part = slice(head * width, (head + 1) * width)
                steps: list[dict[str, Any]] = []
                for column, (key, value) in enumerate(zip(keys, values, strict=True)):
                    products = [a * b for a, b in zip(query[part], key[part], strict=True)]
                    steps.append(
                        {
                            "key": key[part],
                            "products": products,
                            "score": sum(products),
                            "value": value[part],
                            "may": column <= row or not causal,
                        }
                    )
                largest = max(step["score"] / math.sqrt(width) for step in steps if step["may"])
                for step in steps:
                    step["scaled"] = step["score"] / math.sqrt(width)
                    step["power"] = math.exp(step["scaled"] - largest) if step["may"] else 0.0
                powers = sum(step["power"] for step in steps)
                for step in steps:
                    step["weight"] = step["power"] / powers
                    step["weighted"] = [step["weight"] * one for one in step["value"]]
                mixed = [sum(column) for column in zip(*(step["weighted"] for step in steps), strict=True)]
                joined += mixed
                self.seen[f"{name}.{head + 1}:{row}"] = {
                    "input": xs[row],
                    "query": query[part],
                    "keys": steps,
                    "largest": largest,
                    "powers": powers,
                    "found": mixed,
                }
            outputs.append(self.linear(f"{name}.output", joined))
            for head in range(heads):
                self.seen[f"{name}.{head + 1}:{row}"] |= {"joined": joined, "output": outputs[-1]}
        return outputs

    def think(self, name: str, xs: list[Vector]) -> list[Vector]:
        return [self.linear(f"{name}.outer", [max(0.0, one) for one in self.linear(f"{name}.inner", x)]) for x in xs]

    def around(self, name: str, xs: list[Vector], part) -> list[Vector]:
        pre = self.settings.norm == "pre"
        outputs = part([self.norm(f"{name}_norm", x) for x in xs] if pre else xs)
        sums = [[a + b for a, b in zip(x, out, strict=True)] for x, out in zip(xs, outputs, strict=True)]
        normed = sums if pre else [self.norm(f"{name}_norm", x) for x in sums]
        for key, found in self.seen.items():
            if key.startswith(f"{name}."):
                row = int(key.rpartition(":")[2])
                found |= {"residual": sums[row], "norm": normed[row]}
        return normed

    def run(self, source, read) -> None:
        xs = self.embed(source)
        for n in range(1, self.settings.encoder_layers + 1):
            at = f"encoder.{n}"
            xs = self.around(f"{at}.self", xs, lambda x, at=at: self.attend(f"{at}.self", x, x, False))
            xs = self.around(f"{at}.feedforward", xs, lambda x, at=at: self.think(f"{at}.feedforward", x))
        memory = [self.norm("encoder.norm", x) for x in xs] if self.settings.norm == "pre" else xs
        xs = self.embed(read)
        for n in range(1, self.settings.decoder_layers + 1):
            at = f"decoder.{n}"
            xs = self.around(f"{at}.self", xs, lambda x, at=at: self.attend(f"{at}.self", x, x, True))
            xs = self.around(f"{at}.cross", xs, lambda x, at=at: self.attend(f"{at}.cross", x, memory, False))
            xs = self.around(f"{at}.feedforward", xs, lambda x, at=at: self.think(f"{at}.feedforward", x))
        self.last = [self.norm("decoder.norm", x) for x in xs] if self.settings.norm == "pre" else xs
        self.memory = memory


def numbers(text: str) -> Vector:
    return [float(one) for one in re.findall(r"-?\d+\.\d{4}", text)]


def close(found: Vector, expected: Vector) -> bool:
    return len(found) == len(expected) and all(abs(a - b) < 1e-4 for a, b in zip(found, expected, strict=True))


@pytest.fixture(params=["post", "pre", "learned", "deep encoder"])
def both(request, model_of, folder_of):
    model = model_of(request.param)
    view = model.look(TEXT, target="a red dog paints.")
    plain = Plain(folder_of(request.param), model.network.settings)
    plain.run(view.trace.source.ids, view.trace.read.ids)
    return view, plain


def vectors(lines: list[str]) -> list[tuple[str, Vector]]:
    """The named vectors of a printed walk, in order; a name's further lines have none."""
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


def test_every_printed_number_comes_from_the_stored_weights(both):
    view, plain = both
    checked = 0
    for head in view.heads:
        rows = len(view.trace.attention(head.rpartition(".")[0]).rows.ids)
        for row in {0, rows // 2, rows - 1}:
            lines = "\n".join(show_arithmetic(head_arithmetic(view.trace, head, row), TerminalStyle(90))).split("\n")
            expected = plain.seen[f"{head}:{row}"]
            wanted = [("input", expected["input"]), ("query", expected["query"])]
            for key in expected["keys"]:
                wanted += [("key", key["key"]), ("products", key["products"])]
            for key in expected["keys"]:
                if key["may"]:
                    wanted += [("value", key["value"]), ("weighted", key["weighted"])]
            wanted += [(name, expected[name]) for name in ("found", "joined", "output", "residual")]
            if view.trace.settings.norm == "post":
                wanted.append(("norm", expected["norm"]))
            found = vectors(lines)
            assert [name for name, _ in found] == [name for name, _ in wanted]
            for (name, ours), (_, theirs) in zip(found, wanted, strict=True):
                assert close(ours, theirs), (head, row, name)
            rest = [line for line in lines if numbers(line) and not re.match(r"     (?!sum)", line)]
            width = view.trace.settings.width // view.trace.settings.heads
            scalars: list[Vector] = [[key["score"]] for key in expected["keys"]]
            scalars += [[math.sqrt(width)], [expected["largest"], expected["powers"]]]
            scalars += [
                [key["score"], key["scaled"], key["power"], key["weight"]] if key["may"] else [key["score"]]
                for key in expected["keys"]
            ]
            scalars += [[key["weight"]] for key in expected["keys"] if key["may"]]
            assert len(rest) == len(scalars)
            for line, theirs in zip(rest, scalars, strict=True):
                assert close(numbers(line), theirs), (head, row, line)
            checked += sum(len(one) for _, one in found) + sum(map(len, scalars))
    assert checked > 3000


def test_a_piece_is_followed_from_its_row_of_the_embedding_to_its_last_vector(both):
    view, plain = both
    for stack, last in (("encoder", plain.memory), ("decoder", plain.last)):
        stages = list(token_stages(view.trace, stack, 2))
        identity = (view.trace.source if stack == "encoder" else view.trace.read).ids[2]
        assert close(stages[0].vector.tolist(), plain.weights["embedding.weight"][identity])
        assert close(stages[2].vector.tolist(), [plain.position(2, i) for i in range(view.trace.settings.width)])
        assert close(stages[3].vector.tolist(), plain.embed([identity] * 3)[2])
        assert close(stages[-1].vector.tolist(), last[2])
        lines = list(show_stages(stages, TerminalStyle(300)))
        assert len(lines) == 2 * len(stages)
        for stage, line in zip(stages, lines[1::2], strict=True):
            assert close(numbers(line), [*stage.vector.tolist(), math.hypot(*stage.vector.tolist())])


def test_a_walk_is_of_one_head(model_of):
    view = model_of("pre").look(TEXT, DECODE)
    with pytest.raises(LookError, match=r"a map over several heads; the arithmetic is of one, as encoder.1.self.1"):
        view.arithmetic("encoder.self.mean", "cat")


def test_a_walk_starts_from_a_word(model_of):
    view = model_of("pre").look(TEXT, DECODE)
    assert view.arithmetic("encoder.1.self.2", "cat").row.text == "▁cat"
    first = view.trace.written.words[0].text
    found = view.arithmetic("decoder.1.cross.1", first)
    assert found.row.sentence == f"after reading <s>, about to write {view.trace.written.texts[0]}"
    with pytest.raises(LookError, match="no word 'zebra' here; the words are: the, old, cat"):
        view.arithmetic("encoder.1.self.1", "zebra")
