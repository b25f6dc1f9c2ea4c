"""The page of an inspection: one HTML file that contains a script and a style sheet from `page/`, and the data.

A Content-Security-Policy allows only this script and this style sheet, by hash, and blocks every network request.
Each attention weight of a map is rounded to one byte, which changes it by at most 0.002. The numbers of the arithmetic
are exact: queries, keys and values, and the recorded scaled scores and attention weights.
"""

import base64
import json
import re
import shlex
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.interpret.address import split_last
from regard.interpret.look.arithmetic import scores_are_scaled
from regard.interpret.look.attention_map import all_layer_reductions, attention_map, direction
from regard.interpret.report.architecture import model_svg
from regard.interpret.report.attention_steps import attention_steps
from regard.interpret.report.state_chart import state_chart
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Array, Trace
from regard.page.assets import bundled_script, read_asset
from regard.render.html_page import csp_hash
from regard.render.text import escape_control_characters
from regard.settings.anatomy import ADDITIVE, TANH_WITH_INPUT, Recurrence

if TYPE_CHECKING:
    from regard.interpret.look.inspection import Inspection

_EXPORTED_QUANTITIES = ("query", "key", "value", "scaled", "weight")  # the page computes the other numbers from these

_MAX_VECTOR_BYTES = 300_000  # the maximum size of the vectors of all heads, and of all recurrent layers, in a page


def inspection_page(view: "Inspection", heads: Sequence[str] = (), recurrences: Sequence[Recurrence] = ()) -> str:
    """Return the page of an inspection, with the vectors of `heads` and `recurrences`, such as queries and gates.

    If there are neither, the page has the vectors of as many heads and recurrent layers as a size limit allows.
    """
    style, script = read_asset("page.css"), bundled_script()
    # A "<" could end the script element or start a comment. JSON decodes the escape sequence to the same character.
    data = json.dumps(_data(view, heads, recurrences), ensure_ascii=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    settings = view.trace.settings
    contents = {
        "policy": (
            f"default-src 'none'; script-src '{csp_hash(script)}'; style-src '{csp_hash(style)}'; base-uri 'none'; "
            "form-action 'none'"
        ),
        "title": escape(f"Regard: {escape_control_characters(view.source)[:60]}"),
        "style": style,
        "model": model_svg(settings, len(view.trace.source.ids), len(view.trace.written.ids)),
        "norms": state_chart(view.trace, view.norms()) if view.norms() else "",
        "data": data,
        "script": script,
    }
    # The template is processed only once, so that text that looks like a placeholder is not replaced after insertion.
    return re.sub(r"\{\{(\w+)\}\}", lambda placeholder: contents[placeholder.group(1)], read_asset("page.html"))


def _data(view: "Inspection", heads: Sequence[str], recurrences: Sequence[Recurrence]) -> dict[str, Any]:
    trace = view.trace
    if not heads and not recurrences:
        heads, recurrences = heads_that_fit(trace), recurrences_that_fit(trace)
    return {
        "model": view.model,
        "command": _command(view),
        "texts": {
            "source": escape_control_characters(view.source),
            "target": escape_control_characters(view.text),
            "torch": escape_control_characters(view.torch_text) if view.torch_text is not None else None,
            "full_model": escape_control_characters(view.full_model_text) if view.full_model_text is not None else None,
        },
        "without": view.without,
        "intervention": asdict(trace.intervention) if trace.intervention else None,
        "architecture": trace.settings.describe(),
        "parameters": view.parameters,
        "source": _side(trace.source),
        "read": _side(trace.read),
        "written": _side(trace.written),
        "attentions": [
            {
                **asdict(attention),
                "direction": direction(attention),
                "is_scaled": scores_are_scaled(trace, attention),
                "steps": asdict(attention_steps(attention)),
            }
            for attention in trace.anatomy.attentions
        ],
        "main_attention": trace.anatomy.main_attention.address if trace.anatomy.main_attention else None,
        "recurrences": [asdict(recurrence) for recurrence in trace.anatomy.recurrences],
        "states": {
            one.address: {step.name: _packed(trace[f"{one.address}.{step.name}"]) for step in one.steps}
            for one in recurrences
        },
        "all_layer_reductions": all_layer_reductions(trace),
        "maps": _maps(trace),
        "numbers": {
            head: {
                **{name: _packed(trace[f"{head}.{name}"]) for name in _EXPORTED_QUANTITIES},
                **_vectors_of_all_heads(trace, head),
            }
            for head in heads
        },
        "steps": [vars(step) for step in view.steps()],
        "search": _search(view),
        "positions": _positions(view),
    }


def _vectors_of_all_heads(trace: Trace, head: str) -> dict[str, str]:
    """Return the vectors that the arithmetic of a head also needs; a projection of all heads is left out."""
    address, _ = split_last(head)
    anatomy = trace.attention(address).anatomy
    names = ["score_vector"] if anatomy.scoring == ADDITIVE else []
    names += ["joined", "output"] if anatomy.output == TANH_WITH_INPUT else []
    return {name: _packed(trace[f"{address}.{name}"]) for name in names}


def _command(view: "Inspection") -> str:
    """Return the `regard look` command that inspects the same translation in a terminal."""
    words = ["regard", "look", "--model", view.model, view.source]
    words += ["--target", view.text] if view.search is None else []
    words += ["--without", view.without] if view.without else []
    return escape_control_characters(shlex.join(words))


def _side(tokens: Tokens) -> dict[str, Any]:
    return {"tokens": tokens.texts, "words": [(word.text, word.begin, word.end) for word in tokens.words]}


def _maps(trace: Trace) -> dict[str, str]:
    maps: dict[str, Array] = {head: trace[f"{head}.weight"] for head in trace.anatomy.heads}
    for kind in _kinds(trace):
        for reduction in all_layer_reductions(trace):
            address = f"{kind}.{reduction}"
            maps[address] = attention_map(trace, address, tokens=True).values
    return {address: _packed(map_bytes(weights)) for address, weights in maps.items()}


def _kinds(trace: Trace) -> list[str]:
    """Return the kinds of attention of the model, in the order of computation."""
    return list(dict.fromkeys(attention.kind for attention in trace.attentions))


def map_bytes(weights: Array) -> Array:
    """Return attention weights in the form that the page stores: bytes from 0 to 255."""
    return np.round(weights * 255).astype(np.uint8)


def heads_that_fit(trace: Trace) -> list[str]:
    """Return as many heads as the size limit allows, but at least one; heads of lower layers come first."""
    kinds = [[attention for attention in trace.attentions if attention.kind == kind] for kind in _kinds(trace)]
    chosen: list[str] = []
    remaining = _MAX_VECTOR_BYTES
    in_turn = [attention for layer in zip_longest(*kinds) for attention in layer if attention is not None]
    for attention in in_turn:
        rows, columns = len(attention.rows.ids), len(attention.columns.ids)
        size = 4 * (attention.anatomy.head_width * (rows + 2 * columns) + 2 * rows * columns)
        for head in attention.anatomy.head_addresses:
            remaining -= size
            if remaining < 0 and chosen:
                return chosen
            chosen.append(head)
    return chosen


def recurrences_that_fit(trace: Trace) -> list[Recurrence]:
    """Return as many recurrent layers as the size limit allows, beginning with the last."""
    chosen: list[Recurrence] = []
    remaining = _MAX_VECTOR_BYTES
    for recurrence in reversed(trace.anatomy.recurrences):
        remaining -= 4 * len(recurrence.steps) * trace[f"{recurrence.address}.hidden"].size
        if remaining < 0 and chosen:
            break
        chosen.insert(0, recurrence)
    return chosen


def _search(view: "Inspection") -> dict[str, Any] | None:
    if view.search is None:
        return None
    search = view.search
    return {
        "steps": [
            [(view.vocabulary[beam.token], beam.parent, beam.total) for beam in beams if beam.total > -np.inf]
            for beams in search.steps
        ],
        "best_path": list(_best_path(view)),
        "hypotheses": [
            {
                "text": " ".join(view.vocabulary[token] for token in hypothesis.token_ids),
                "score": hypothesis.score,
                "log_probability": hypothesis.log_probability,
            }
            for hypothesis in search.hypotheses
        ],
    }


def _best_path(view: "Inspection") -> Iterator[int]:
    """Yield, for each step, the index of the beam that leads to the best hypothesis."""
    search = view.search
    assert search is not None
    best = search.hypotheses[0].token_ids
    for step, beams in enumerate(search.steps[: len(best)]):
        yield from (beam for beam in range(len(beams)) if search.path(step, beam) == best[: step + 1])


def _positions(view: "Inspection") -> dict[str, Any] | None:
    table = view.positional_encoding
    if table is None:
        return None
    max_abs = float(np.abs(table).max()) or 1.0
    return {
        "rows": len(table),
        "width": table.shape[1],
        "max_abs": max_abs,
        "kind": getattr(view.trace.settings, "positions", None),
        "table": _packed(np.round((table / max_abs + 1) / 2 * 255).astype(np.uint8)),
    }


def _packed(array: Array) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
