"""The data of an inspection for the web page: facts, attention maps and vectors, each as one answer for JSON.

A page file embeds all of them (`look_page.py`); a server can send each on request. The modules in `page/` get them
through a provider, and `page/provider.js` describes their form. An array is text: its format, and its numbers in
row-major order, compressed (deflate, then base64). The formats are 32-bit floats; weights as integers from 0 to 65535;
and bytes with a scale, for pictures.
"""

import base64
import shlex
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.interpret.address import split_last
from regard.interpret.look.arithmetic import scores_are_scaled
from regard.interpret.look.attention_map import all_layer_reductions, attention_map, direction
from regard.interpret.look.head_effects import HeadEffects
from regard.interpret.look.opening import Opening, find_opening, opening_of_kind, prominent_heads
from regard.interpret.report.attention_steps import attention_steps
from regard.interpret.tokens import Tokens
from regard.interpret.trace import Array, Trace
from regard.render.text import escape_control_characters
from regard.settings.anatomy import ADDITIVE, TANH_WITH_INPUT, Recurrence, Stack

if TYPE_CHECKING:
    from regard.interpret.look.inspection import Inspection

_HEAD_VECTORS = ("query", "key", "value", "scaled", "weight")  # the page computes the other numbers from these
_MAX_STAGE_BYTES = 150_000  # the maximum size of the vectors of one stack in a page
_MAX_VECTOR_BYTES = 600_000  # the maximum size of the vectors of all heads, and of all recurrent layers, in a page


def look_facts(view: "Inspection", effects: HeadEffects | None = None) -> dict[str, Any]:
    """Return everything about an inspection except its attention maps and vectors.

    If the effects of removing heads are given, they choose what the page shows first.
    """
    trace, anatomy = view.trace, view.trace.anatomy
    full = (view.original or view).trace
    return {
        "model": view.model,
        "command": _command(view),
        "texts": {
            "source": escape_control_characters(view.source),
            "target": escape_control_characters(view.text),
            "torch": _escaped(view.torch_text),
            "full_model": _escaped(view.full_model_text),
        },
        "languages": view.languages,
        "without": view.without,
        "instead": view.instead,
        "changed": _changed(view),
        "intervention": asdict(trace.intervention) if trace.intervention else None,
        "architecture": trace.settings.describe(),
        "parameters": view.parameters,
        "is_given": view.score is None,
        "width": trace.settings.width,
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
            for attention in anatomy.attentions
        ],
        "main_attention": anatomy.main_attention.address if anatomy.main_attention else None,
        "opening": asdict(opening) if (opening := look_opening(view, effects)) else None,
        "openings": {kind: asdict(opening_of_kind(full, kind, effects)) for kind in _kinds(full)},
        "has_effects": view.has_head_effects,
        "all_layer_reductions": all_layer_reductions(trace),
        "recurrences": [asdict(recurrence) for recurrence in anatomy.recurrences],
        "norms": [
            {"layer": state.recurrence.layer, "side": state.recurrence.side, "state": state.state,
             "backwards": state.recurrence.backwards, "norms": [round(float(norm), 4) for norm in state.norms]}
            for state in view.norms()
        ],
        "stacks": [asdict(stack) for stack in anatomy.stacks],
        "steps": [vars(step) for step in view.steps()],
        "search": _search(view),
        "positions": _positions(view),
    }  # fmt: skip


def look_opening(view: "Inspection", effects: HeadEffects | None) -> Opening | None:
    """Return what the page of an inspection shows first.

    If effects of removing heads are given, the word is the one whose attention in the chosen head changes most.
    """
    removed = view.without if view.without in view.heads else None
    opening = find_opening((view.original or view).trace, effects, removed)
    if opening and opening.rule == "effect" and (row := view.most_effective_row(opening.address)) is not None:
        return replace(opening, row=row)
    return opening


def opening_of_few(view: "Inspection") -> Opening | None:
    """Return what the page of an inspection shows first, after trying only the heads whose weights stand out."""
    heads = [] if view.without else prominent_heads(view.trace)
    return look_opening(view, view.head_effects(heads))


def look_map(trace: Trace, address: str) -> str:
    """Return the attention weights at an address, between tokens."""
    if trace.find_head(address):
        return _pack_weights(trace[f"{address}.weight"])
    return _pack_weights(attention_map(trace, address, tokens=True).values)


def map_addresses(trace: Trace) -> Iterator[str]:
    """Yield the addresses of the maps that a page needs: all heads, and the maps over all layers of each kind."""
    yield from trace.anatomy.heads
    for kind in _kinds(trace):
        yield from (f"{kind}.{reduction}" for reduction in all_layer_reductions(trace))


def look_effects(view: "Inspection", effects: HeadEffects) -> dict[str, Any]:
    """Return what removing each head alone does to the translation of the full model."""
    trace = (view.original or view).trace
    before_TV = trace["probability"]
    others = np.argwhere(effects.best_HT != before_TV.argmax(axis=-1))
    return {
        "heads": effects.heads,
        "probabilities": pack_floats(effects.probabilities_HT),
        # Where another token becomes the most probable one: head, step, token, its probability, and that before.
        "changes": [
            (int(head), int(step), view.vocabulary[token := effects.best_HT[head, step]],
             float(effects.best_probabilities_HT[head, step]), float(before_TV[step, token]))
            for head, step in others
        ],
    }  # fmt: skip


def _changed(view: "Inspection") -> dict[str, Any] | None:
    """Return what the intervention does to the translation of the full model, in the form of one of `look_effects`."""
    if view.original is None or view.original_changed is None:
        return None
    ids, before_TV, after_TV = (
        view.original.trace.written.ids,
        view.original.trace["probability"],
        view.original_changed,
    )
    best_T = after_TV.argmax(axis=-1)
    return {
        "probabilities": [float(row[token]) for row, token in zip(after_TV, ids, strict=True)],
        "changes": [
            (step, view.vocabulary[best], float(after_TV[step, best]), float(before_TV[step, best]))
            for step, best in enumerate(best_T)
            if best != before_TV[step].argmax()
        ],
    }


def look_vectors(view: "Inspection", address: str) -> dict[str, str]:
    """Return the vectors at the address of a head, a recurrent layer or a stack, or at "positions"."""
    trace = view.trace
    if address == "positions":
        table = view.positional_encoding
        return {} if table is None else {"table": pack_scaled(table)}
    for stack in trace.anatomy.stacks:
        if address == stack.name:
            return _stack_vectors(trace, stack)
    heads, recurrences = view.heads_and_recurrences([address])
    vectors = [
        *(_head_vectors(trace, head) for head in heads),
        *(_recurrent_vectors(trace, one) for one in recurrences),
    ]
    return vectors[0]


def _head_vectors(trace: Trace, head: str) -> dict[str, str]:
    """Return the vectors of a head that its arithmetic needs, as they were recorded."""
    address, _ = split_last(head)
    anatomy = trace.attention(address).anatomy
    names = ["score_vector"] if anatomy.scoring == ADDITIVE else []
    names += ["joined", "output"] if anatomy.output == TANH_WITH_INPUT else []  # otherwise they need all heads
    return {
        **{name: pack_floats(trace[f"{head}.{name}"]) for name in _HEAD_VECTORS},
        **{name: pack_floats(trace[f"{address}.{name}"]) for name in names},
    }


def _recurrent_vectors(trace: Trace, recurrence: Recurrence) -> dict[str, str]:
    """Return the vectors of a recurrent layer: its gates and states at all positions."""
    return {step.name: pack_floats(trace[f"{recurrence.address}.{step.name}"]) for step in recurrence.steps}


def _stack_vectors(trace: Trace, stack: Stack) -> dict[str, str]:
    """Return the vectors of all positions at each stage of a stack; if these are many, at the output of each layer."""
    stages = [vector.address for vector in stack.vectors]
    for addresses in (stages, stack.outputs):
        if sum(trace[address].size for address in addresses) <= _MAX_STAGE_BYTES:
            return {address: pack_scaled(trace[address]) for address in addresses}
    return {}


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


def map_integers(weights: Array) -> Array:
    """Return attention weights in the form that the page gets: integers from 0 to 65535."""
    return np.round(weights * 65535).astype("<u2")


def pack_floats(array: Array) -> str:
    """Return an array as text, exactly."""
    return _pack("float32", array.astype("<f4").tobytes())


def pack_scaled(array: Array) -> str:
    """Return an array as text, in steps of its largest absolute number divided by 127."""
    scale = float(np.abs(array).max()) or 1.0
    return _pack("scaled", np.float32(scale).tobytes() + np.round(array / scale * 127).astype(np.int8).tobytes())


def _pack_weights(weights: Array) -> str:
    return _pack("weights", map_integers(weights).tobytes())


def _pack(form: str, numbers: bytes) -> str:
    return f"{form} {base64.b64encode(zlib.compress(numbers)).decode()}"


def _escaped(text: str | None) -> str | None:
    return None if text is None else escape_control_characters(text)


def _command(view: "Inspection") -> str:
    """Return the `regard look` command that inspects the same translation in a terminal."""
    words = ["regard", "look", "--model", view.model, view.source]
    words += ["--target", view.text] if view.search is None else []
    words += ["--without", view.without] if view.without else []
    words += ["--instead", view.instead] if view.instead else []
    return escape_control_characters(shlex.join(words))


def _side(tokens: Tokens) -> dict[str, Any]:
    return {
        "tokens": tokens.texts,
        "words": [(word.text, word.begin, word.end) for word in tokens.words],
        "special": tokens.special,
    }


def _kinds(trace: Trace) -> list[str]:
    """Return the kinds of attention of the model, in the order of computation."""
    return list(dict.fromkeys(attention.kind for attention in trace.attentions))


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
                "text": _words(view, hypothesis.token_ids),
                "score": hypothesis.score,
                "log_probability": hypothesis.log_probability,
            }
            for hypothesis in search.hypotheses
        ],
    }


def _words(view: "Inspection", token_ids: Sequence[int]) -> str:
    return " ".join(view.vocabulary[token] for token in token_ids)


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
    kind = getattr(view.trace.settings, "positions", None)
    return {"rows": len(table), "width": table.shape[1], "kind": kind}
