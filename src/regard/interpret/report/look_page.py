"""A view as one HTML file that needs nothing else: the scripts of `page/` joined into one, the style, and the data.

A Content-Security-Policy lets only this script and this style act, by their hashes, and lets no request leave. Maps are
whole numbers from 0 to 255, so that a weight is within 0.002 of what was computed; queries, keys and values are exact.
"""

import base64
import json
import re
import shlex
import zlib
from collections.abc import Iterator, Sequence
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.interpret.look.attention_map import attention_map
from regard.interpret.report.architecture import model_svg
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Array, Trace, head_width
from regard.page.assets import joined_script, read_asset
from regard.render.html_page import csp_hash
from regard.render.text import escape_control_characters

if TYPE_CHECKING:
    from regard.interpret.look.inspection import Inspection

_BYTES_OF_VECTORS = 300_000  # how much of them a page has when no heads are chosen

_KINDS = ("encoder.self", "decoder.self", "decoder.cross")


def page(view: "Inspection", heads: Sequence[str] = ()) -> str:
    """The page of a view, with the vectors of `heads`, or of as many as are small."""
    style, script = read_asset("page.css"), joined_script()
    # In a script element a "<" could end it or begin a comment; as an escape it is the same JSON.
    data = json.dumps(_data(view, heads), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    settings = view.trace.settings
    parts = {
        "policy": (
            f"default-src 'none'; script-src '{csp_hash(script)}'; style-src '{csp_hash(style)}'; base-uri 'none'; "
            "form-action 'none'"
        ),
        "title": escape(f"Regard: {escape_control_characters(view.source)[:60]}"),
        "style": style,
        "model": model_svg(settings, len(view.trace.source.ids), len(view.trace.written.ids)),
        "data": data,
        "script": script,
    }
    # All at once: what is put in is never searched for places to put something in.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place.group(1)], read_asset("page.html"))


def _data(view: "Inspection", heads: Sequence[str]) -> dict[str, Any]:
    trace = view.trace
    return {
        "model": view.model,
        "command": _command(view),
        "texts": {
            "source": escape_control_characters(view.source),
            "target": escape_control_characters(view.text),
            "torch": escape_control_characters(view.torch_text) if view.torch_text is not None else None,
            "whole": escape_control_characters(view.whole_text) if view.whole_text is not None else None,
        },
        "without": view.without,
        "settings": vars(trace.settings),
        "parameters": view.parameters,
        "source": _side(trace.source),
        "read": _side(trace.read),
        "written": _side(trace.written),
        "attentions": [attention.address for attention in trace.attentions],
        "maps": _maps(trace),
        "numbers": {
            head: {name: _packed(trace[f"{head}.{name}"]) for name in ("query", "key", "value")}
            for head in heads or small_heads(trace)
        },
        "steps": [vars(step) for step in view.steps()],
        "search": _search(view),
        "positions": _positions(view),
    }


def _command(view: "Inspection") -> str:
    """What shows more of this pass, in a terminal."""
    words = ["regard", "look", "--model", view.model, view.source]
    words += ["--target", view.text] if view.search is None else []
    words += ["--without", view.without] if view.without else []
    return escape_control_characters(shlex.join(words))


def _side(tokens: Tokens) -> dict[str, Any]:
    return {"pieces": tokens.texts, "words": [(word.text, word.begin, word.end) for word in tokens.words]}


def _maps(trace: Trace) -> dict[str, str]:
    maps: dict[str, Array] = {}
    for attention in trace.attentions:
        for head in range(trace.settings.heads):
            maps[f"{attention.address}.{head + 1}"] = trace[f"{attention.address}.weight"][head]
    for kind in _KINDS:
        for over in ("mean", "max", "rollout"):
            maps[f"{kind}.{over}"] = attention_map(trace, f"{kind}.{over}", pieces=True).values
    return {address: _packed(map_bytes(weights)) for address, weights in maps.items()}


def map_bytes(weights: Array) -> Array:
    """Weights as the page has them, from 0 to 255."""
    return np.round(weights * 255).astype(np.uint8)


def small_heads(trace: Trace) -> list[str]:
    """As many heads as fit, of all three attentions and from the first layer on."""
    kinds = [[one.address for one in trace.attentions if one.kind == kind] for kind in _KINDS]
    chosen: list[str] = []
    room = _BYTES_OF_VECTORS
    for address in (one for layer in zip_longest(*kinds) for one in layer if one is not None):
        attention = trace.attention(address)
        size = 4 * head_width(trace.settings) * (len(attention.rows.ids) + 2 * len(attention.columns.ids))
        for head in range(1, trace.settings.heads + 1):
            room -= size
            if room < 0 and chosen:
                return chosen
            chosen.append(f"{address}.{head}")
    return chosen


def _search(view: "Inspection") -> dict[str, Any] | None:
    if view.search is None:
        return None
    search = view.search
    return {
        "steps": [
            [(view.names[beam.token], beam.parent, beam.total) for beam in beams if beam.total > -np.inf]
            for beams in search.steps
        ],
        "best": list(_best_path(view)),
        "found": [
            {
                "text": " ".join(view.names[piece] for piece in one.token_ids),
                "score": one.score,
                "log": one.log_probability,
            }
            for one in search.found
        ],
    }


def _best_path(view: "Inspection") -> Iterator[int]:
    """For each step the beam that led to the best hypothesis."""
    search = view.search
    assert search is not None
    best = search.found[0].token_ids
    for step, beams in enumerate(search.steps[: len(best)]):
        yield from (beam for beam in range(len(beams)) if search.path(step, beam) == best[: step + 1])


def _positions(view: "Inspection") -> dict[str, Any]:
    table = view.positions
    most = float(np.abs(table).max()) or 1.0
    return {
        "rows": len(table),
        "width": table.shape[1],
        "most": most,
        "kind": view.trace.settings.positions,
        "table": _packed(np.round((table / most + 1) / 2 * 255).astype(np.uint8)),
    }


def _packed(array: Array) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
