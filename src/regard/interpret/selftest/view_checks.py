"""Are the views and measures right? They are shown a model whose heads are known, and told a lie about it.

Every planted head must be named for what it is, and every view must show the word it looks at; where labels are
swapped, the same checks must fail. Wrong labels are the commonest fault of such tools, and nobody sees them.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.errors import LookError
from regard.interpret.look.attention_map import AttentionMap, attention_map
from regard.interpret.look.inspection import Inspector
from regard.interpret.measure.head_roles import HeadProfile, measure_heads
from regard.interpret.report.look_page import map_bytes
from regard.interpret.report.sentence_text import show_map
from regard.interpret.selftest.planted_model import PLANTED, planted_model, planted_sample
from regard.interpret.trace import Trace
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings


@dataclass(frozen=True)
class Check:
    """What was checked, whether it holds, and what was found."""

    name: str
    passed: bool
    found: str


def check_views() -> list[Check]:
    """Every view and measure on the planted model, and then on lies about it."""
    from regard.inference.backends.torch import TorchBackend

    model, tokenizer = planted_model()
    sample = planted_sample(tokenizer)
    cards = run_to_end(measure_heads(model, sample))
    checks = [_check(f"{head} is named {role}", disagreements(cards, {head: role})) for head, role in PLANTED.items()]
    lie = {**PLANTED, "encoder.1.self.1": "next", "encoder.1.self.3": "previous"}
    checks.append(_caught("labels of two heads swapped", disagreements(cards, lie), 2))
    item = sample.pairs[0]
    translator = TorchBackend(model, tokenizer, max_positions=model.settings.max_positions)
    inspector = Inspector(translator, lambda: model, tokenizer, name="planted")
    trace = inspector.inspect(item.source, DecodeSettings(), target=None, without=None).trace
    text = " ".join(word.text for word in trace.written.words[:-1])
    checks.append(
        _check("the planted translation", [] if text == item.target else [f"{item.source!r} became {text!r}"])
    )
    checks += [_check(f"views of {head}", misshown(trace, head)) for head in PLANTED if PLANTED[head] != "even"]
    swapped = replace(trace, read=trace.written, written=trace.read)
    checks.append(_caught("words read and written swapped", misshown(swapped, "decoder.1.cross.1"), 1))
    backwards = replace(trace, source=replace(trace.source, words=trace.source.words[::-1]))
    checks.append(_caught("words of the source reversed", misshown(backwards, "encoder.1.self.1"), 1))
    return checks


def disagreements(cards: Sequence[HeadProfile], claims: Mapping[str, str]) -> list[str]:
    """Where what heads are said to do is not what they are measured to do."""
    roles = {card.address: card.role for card in cards}
    return [
        f"{head} is {roles.get(head)}, not {claimed}" for head, claimed in claims.items() if roles.get(head) != claimed
    ]


def misshown(trace: Trace, head: str) -> list[str]:
    """Rows of a planted head that a view shows as looking elsewhere than they were made to."""
    attention = trace.attention(head.rpartition(".")[0])
    try:
        found = attention_map(trace, head)
    except (LookError, ValueError, IndexError) as error:
        return [f"no map: {error}"]
    wrong = []
    for row, goal in _goals(trace, PLANTED[head], attention.kind):
        for view, shown in _shown(trace, found, head, row):
            if shown != goal:
                wrong.append(f"{view}: {found.rows[row].sentence} looks at {shown}, not {goal}")
    return wrong


def _goals(trace: Trace, role: str, kind: str) -> Iterator[tuple[int, str]]:
    """The rows that look at a word, and that word, told from the text alone."""
    source, read, written = ([*side.texts] for side in (trace.source, trace.read, trace.written))
    looked_at = read if kind == "decoder.self" else source
    rows = written if kind.startswith("decoder") else source
    for row in range(1, len(rows) - 1):
        goal = {
            "previous": looked_at[row - 1],
            "next": looked_at[min(row + 1, len(looked_at) - 1)],
            "self": looked_at[row],
            "first": looked_at[0],
            "end": looked_at[-1],
            "align, read": read[row],
            "align, written": written[row],
        }[role]
        yield row, goal.removeprefix("\u2581")


def _shown(trace: Trace, found: AttentionMap, head: str, row: int) -> Iterator[tuple[str, str]]:
    """The word that each view shows as looked at most."""
    yield "map", found.ranked(row)[0][0]
    plain = list(show_map(found, TerminalStyle()))[1 + row]
    yield "terminal", plain.removeprefix(f"{found.rows[row].sentence}: ").split(" ")[0]
    label = re.escape(found.rows[row].sentence)
    drawn = re.findall(rf"<title>{label} → (.+?): ([\d.]+)</title>", html.unescape(found.svg()))
    weights = {word: float(weight) for word, weight in drawn}
    yield "picture", max(weights, key=lambda word: weights[word])
    packed = map_bytes(trace[f"{head}.weight"])
    yield "page", found.columns[int(np.argmax(packed[row]))]


def _check(name: str, wrong: Sequence[str]) -> Check:
    return Check(name, not wrong, "; ".join(wrong[:3]) or "as planted")


def _caught(name: str, wrong: Sequence[str], least: int) -> Check:
    return Check(f"caught: {name}", len(wrong) >= least, "; ".join(wrong[:2]) or "nobody noticed")
