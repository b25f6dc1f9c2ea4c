"""The page of an inspection: one HTML file that contains the scripts and style sheets of `page/`, and the data.

A Content-Security-Policy allows only this script and this style sheet, by hash, and blocks every network request.
Attention weights are rounded to 16 bits, which changes them by less than 0.00001. Vectors are exact.
"""

import json
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from regard.interpret.look.head_effects import HeadEffects
from regard.interpret.report.look_data import (
    heads_that_fit,
    look_effects,
    look_facts,
    look_map,
    look_opening,
    look_vectors,
    map_addresses,
    recurrences_that_fit,
)
from regard.page.assets import bundled_script, bundled_style, read_asset
from regard.render.html_page import csp_hash
from regard.render.text import escape_control_characters
from regard.settings.anatomy import Recurrence

if TYPE_CHECKING:
    from regard.interpret.look.inspection import Inspection


def inspection_page(view: "Inspection", heads: Sequence[str] = (), recurrences: Sequence[Recurrence] = ()) -> str:
    """Return the page of an inspection, with the vectors of `heads` and `recurrences`, such as queries and gates.

    If there are neither, the page has the vectors of as many heads and recurrent layers as a size limit allows.
    """
    style, script = bundled_style("base.css", "inside.css"), bundled_script("file.js")
    # A "<" could end the script element or start a comment. JSON decodes the escape sequence to the same character.
    data = json.dumps(_data(view, heads, recurrences), ensure_ascii=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    contents = {
        "policy": (
            f"default-src 'none'; script-src '{csp_hash(script)}'; style-src '{csp_hash(style)}'; base-uri 'none'; "
            "form-action 'none'"
        ),
        "title": escape(f"Regard: {escape_control_characters(view.source)[:60]}"),
        "style": style,
        "data": data,
        "script": script,
    }
    # The template is processed only once, so that text that looks like a placeholder is not replaced after insertion.
    return re.sub(r"\{\{(\w+)\}\}", lambda placeholder: contents[placeholder.group(1)], read_asset("file.html"))


def _data(view: "Inspection", heads: Sequence[str], recurrences: Sequence[Recurrence]) -> dict[str, Any]:
    trace, effects = view.trace, view.head_effects()
    if not heads and not recurrences:
        heads, recurrences = heads_that_fit(trace), recurrences_that_fit(trace)
        opening = look_opening(view, effects)
        if opening and opening.address in view.heads:
            heads = list(dict.fromkeys([*heads, opening.address]))
    addresses = [*heads, *(one.address for one in recurrences), *(stack.name for stack in trace.anatomy.stacks)]
    addresses += [] if view.positional_encoding is None else ["positions"]
    return {
        **_look(view, effects),
        "effects": look_effects(view, effects) if effects else None,
        "original": _look(view.original, effects) if view.original else None,
        "vectors": {address: look_vectors(view, address) for address in addresses},
    }


def _look(view: "Inspection", effects: HeadEffects | None) -> dict[str, Any]:
    """Return the facts and the maps of an inspection."""
    return {
        "facts": look_facts(view, effects),
        "maps": {address: look_map(view.trace, address) for address in map_addresses(view.trace)},
    }
