"""Checks the measured roles of heads and the views of attention on the planted model, whose heads are known.

The measured role of every head must be the planted one, and every view must show the word that the head attends to.
The same checks must fail when labels are swapped on purpose: wrong labels are the most common fault of such tools and
easy to miss.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.errors import LookError
from regard.interpret.address import locate_head
from regard.interpret.look.attention_map import AttentionMap, attention_map
from regard.interpret.look.inspection import Inspector
from regard.interpret.measure.head_roles import HeadProfile, measure_roles
from regard.interpret.report.look_data import map_integers
from regard.interpret.report.sentence_text import show_map
from regard.interpret.selftest.planted_model import PLANTED, planted_model, planted_sample
from regard.interpret.trace import Trace, TracedAttention
from regard.progress import run_to_end
from regard.render.terminal import TerminalStyle
from regard.settings.decode import DecodeSettings


@dataclass(frozen=True)
class Check:
    """The result of one check: its name, whether it passed, and the details."""

    name: str
    passed: bool
    found: str


def check_views() -> list[Check]:
    """Check the role and the views of every planted head, then check that wrong labels are detected."""
    from regard.inference.backends.torch import TorchBackend
    from regard.inference.translator import Translator

    model, tokenizer = planted_model()
    sample = planted_sample(tokenizer)
    profiles = run_to_end(measure_roles(model, sample))
    checks = [_check(f"role of {head}: {role}", role_errors(profiles, {head: role})) for head, role in PLANTED.items()]
    swapped_roles = {**PLANTED, "encoder.1.self.1": "next", "encoder.1.self.3": "previous"}
    checks.append(_detection("roles of two heads swapped", role_errors(profiles, swapped_roles), 2))
    pair = sample.pairs[0]
    backend = TorchBackend(model, tokenizer.generable)
    translator = Translator(backend, tokenizer, max_positions=model.settings.max_positions)
    inspector = Inspector(translator, lambda: model, tokenizer, name="planted")
    trace = inspector.inspect(pair.source, DecodeSettings(), target=None, without=None).trace
    text = " ".join(word.text for word in trace.written.words[:-1])
    checks.append(
        _check("the planted translation", [] if text == pair.target else [f"{pair.source!r} became {text!r}"])
    )
    checks += [_check(f"views of {head}", view_errors(trace, head)) for head in PLANTED if PLANTED[head] != "uniform"]
    swapped_labels = replace(trace, read=trace.written, written=trace.read)
    checks.append(_detection("words read and written swapped", view_errors(swapped_labels, "decoder.1.cross.1"), 1))
    reversed_source = replace(trace, source=replace(trace.source, words=trace.source.words[::-1]))
    checks.append(_detection("words of the source reversed", view_errors(reversed_source, "encoder.1.self.1"), 1))
    return checks


def role_errors(profiles: Sequence[HeadProfile], expected: Mapping[str, str]) -> list[str]:
    """Return a message for each head whose measured role is not the expected one."""
    roles = {profile.address: profile.role for profile in profiles}
    return [f"{head} is {roles.get(head)}, not {role}" for head, role in expected.items() if roles.get(head) != role]


def view_errors(trace: Trace, head: str) -> list[str]:
    """Return a message for each wrong word that a view of a planted head shows.

    For each query, a view must show the expected word as the one with the largest attention weight.
    """
    attention = trace.attention(locate_head(head)[0])
    try:
        map_ = attention_map(trace, head)
    except (LookError, ValueError, IndexError) as error:
        return [f"no map: {error}"]
    errors = []
    for row, expected in _expected_words(trace, attention, PLANTED[head]):
        for view, shown in _shown_words(trace, map_, head, row):
            if shown != expected:
                errors.append(f"{view}: {map_.rows[row].description} attends to {shown}, not {expected}")
    return errors


def _expected_words(trace: Trace, attention: TracedAttention, role: str) -> Iterator[tuple[int, str]]:
    """Yield the index of each query, except the first and last, and the word that it must attend to."""
    columns = attention.columns.texts
    for row in range(1, len(attention.rows.texts) - 1):
        expected = {
            "previous": columns[row - 1],
            "next": columns[min(row + 1, len(columns) - 1)],
            "self": columns[row],
            "first": columns[0],
            "end": columns[-1],
            "align, read": trace.read.texts[row],
            "align, written": trace.written.texts[row],
        }[role]
        yield row, expected.removeprefix("\u2581")


def _shown_words(trace: Trace, map_: AttentionMap, head: str, row: int) -> Iterator[tuple[str, str]]:
    """Yield the name of each view, and the word to which the query at index `row` attends most in that view."""
    yield "map", map_.ranked(row)[0][0]
    line = list(show_map(map_, TerminalStyle()))[1 + row]
    yield "terminal", line.removeprefix(f"{map_.rows[row].description}: ").split(" ")[0]
    label = re.escape(map_.rows[row].description)
    cells = re.findall(rf"<title>{label} → (.+?): ([\d.]+)</title>", html.unescape(map_.svg()))
    weights = {word: float(weight) for word, weight in cells}
    yield "picture", max(weights, key=lambda word: weights[word])
    packed = map_integers(trace[f"{head}.weight"])
    yield "page", map_.columns[int(np.argmax(packed[row]))]


def _check(name: str, errors: Sequence[str]) -> Check:
    return Check(name, not errors, "; ".join(errors[:3]) or "as planted")


def _detection(name: str, errors: Sequence[str], expected: int) -> Check:
    return Check(f"detected: {name}", len(errors) >= expected, "; ".join(errors[:2]) or "not detected")
