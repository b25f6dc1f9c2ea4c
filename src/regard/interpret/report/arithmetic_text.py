"""Computations as text for a terminal.

These are the arithmetic of a head, the vectors of a token in the encoder or decoder, the decoding steps, and the effect
of removing positions or scaling.
"""

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import wcwidth

from regard.interpret.look.arithmetic import HeadArithmetic, Stage
from regard.interpret.look.component_ablation import PositionShift, Sharpness
from regard.interpret.look.inspection import Inspection
from regard.interpret.report.attention_steps import AttentionSteps, attention_steps
from regard.interpret.report.sentence_text import LABEL_WIDTH
from regard.interpret.trace import Array
from regard.render.terminal import TerminalStyle
from regard.render.text import pad
from regard.settings.anatomy import SCALED_DOT_PRODUCT


def show_arithmetic(arithmetic: HeadArithmetic, style: TerminalStyle) -> Iterator[str]:
    """Yield every step of the arithmetic of a head."""
    width = len(arithmetic.query)
    steps = attention_steps(arithmetic.anatomy)
    numbers = count(1)
    yield style.strong(f"{arithmetic.address}, token {arithmetic.position}: {arithmetic.row.description}")
    yield f"\n{next(numbers)}. Input: the vector of this token, {len(arithmetic.input)} numbers"
    yield from _vector("input", arithmetic.input, style)
    yield f"\n{next(numbers)}. Query: {steps.query}, {width} numbers"
    yield from _vector("query", arithmetic.query, style)
    yield from _show_weights(arithmetic, steps, numbers, style)
    yield f"\n{next(numbers)}. Head output: the sum of all values, each multiplied by its attention weight"
    for key in arithmetic.keys:
        if key.allowed:
            yield f"   {key.token}, weight {key.weight:.4f}"
            yield from _vector("value", key.value, style)
            yield from _vector("weighted", key.weighted, style)
    yield from _vector("mixed", arithmetic.mixed, style)
    first, last = arithmetic.first_column, arithmetic.first_column + width - 1
    joined = arithmetic.joined
    yield f"\n{next(numbers)}. Concatenation: {steps.joined}, {len(joined)} numbers; this head has {first} to {last}"
    yield from _vector("joined", joined, style)
    yield f"\n{next(numbers)}. Attention output: {steps.output}"
    yield from _vector("output", arithmetic.output, style)
    if arithmetic.skip is not None and arithmetic.residual is not None:
        is_pre_norm = arithmetic.anatomy.norm == "pre"
        added = "what the sublayer got before its layer norm (skip)" if is_pre_norm else "the input of the sublayer"
        yield f"\n{next(numbers)}. Residual connection: the output plus {added}"
        if is_pre_norm:
            yield from _vector("skip", arithmetic.skip, style)
        yield from _vector("residual", arithmetic.residual, style)
    if arithmetic.norm is not None:
        yield f"\n{next(numbers)}. Layer norm"
        yield from _vector("norm", arithmetic.norm, style)


def _show_weights(
    arithmetic: HeadArithmetic, steps: AttentionSteps, numbers: Iterator[int], style: TerminalStyle
) -> Iterator[str]:
    keys = arithmetic.keys
    yield f"\n{next(numbers)}. Scores: {steps.score}"
    if arithmetic.score_vector is not None:
        yield from _vector("v", arithmetic.score_vector, style)
    for key in keys:
        yield f"   {key.token}"
        yield from _vector("key", key.key, style)
        if key.tanh is not None:
            yield from _vector("tanh", key.tanh, style)
        yield from _vector("products", key.products, style)
        yield f"     sum {key.score:.4f}"
    if arithmetic.sqrt_width is not None:
        root = f"the square root of {len(arithmetic.query)}, {arithmetic.sqrt_width:.4f}"
        yield f"\n{next(numbers)}. Scaling: divide each score by {root}"
    elif arithmetic.anatomy.scoring == SCALED_DOT_PRODUCT:
        yield f"\n{next(numbers)}. Scaling: removed; {arithmetic.intervention and arithmetic.intervention.description}"
    yield (
        f"{next(numbers)}. Softmax: subtract the maximum ({arithmetic.max_scaled:.4f}), exponentiate, divide by the "
        f"sum ({arithmetic.exponential_sum:.4f})"
    )
    if arithmetic.weights_are_replaced and arithmetic.intervention is not None:
        yield f"{next(numbers)}. Intervention: {arithmetic.intervention.description}"
    label_width = min(LABEL_WIDTH, max(wcwidth.width(key.token) for key in keys)) + 2
    columns = {"score": "score", "scaled": "scaled", "exp": "exponential", "softmax": "softmax", "weight": "weight"}
    if arithmetic.sqrt_width is None:
        del columns["scaled"]
    if not arithmetic.weights_are_replaced:
        del columns["softmax"]
    yield f"   {pad('token', label_width)}{''.join(f'{name:>10}' for name in columns)}"
    for key in keys:
        rest = "".join(f"{getattr(key, quantity):>10.4f}" for quantity in list(columns.values())[1:])
        yield f"   {pad(key.token, label_width)}{key.score:>10.4f}{rest if key.allowed else '    masked'}"


def _vector(name: str, vector: Array, style: TerminalStyle) -> Iterator[str]:
    per_line = max(1, (style.width - 14) // 9)
    for start in range(0, len(vector), per_line):
        numbers = "".join(f"{number:>9.4f}" for number in vector[start : start + per_line])
        yield f"     {name if start == 0 else '':<8}{numbers}"


def show_stages(stages: Sequence[Stage], style: TerminalStyle) -> Iterator[str]:
    """Yield the vector of one token at each stage of the encoder or decoder: its first numbers and its norm."""
    shown = max(2, (style.width - 28) // 9)
    for stage in stages:
        yield f"{stage.address}: {stage.description}"
        numbers = "".join(f"{number:>9.4f}" for number in stage.vector[:shown])
        more = f" … {len(stage.vector) - shown} more" if len(stage.vector) > shown else ""
        yield f"  {numbers}{more}, norm {np.linalg.norm(stage.vector):.4f}"


def show_steps(view: Inspection, style: TerminalStyle) -> Iterator[str]:
    """Yield the decoding steps; if the target was found by beam search, also the beams and hypotheses."""
    yield style.strong("Each token of the target, its probability, and the most probable alternatives")
    for number, step in enumerate(view.steps(), start=1):
        others = ", ".join(f"{text} {value:.3f}" for text, value in step.alternatives if text != step.token)
        written = f"after {step.read}, generated {step.token}  {step.probability:.3f}"
        yield f"{number:>3}  {written}; alternatives: {others}"
    if view.search is None:
        return
    yield ""
    yield style.strong("Open beams after each step, best first, with their log-probability")
    for number, beams in enumerate(view.search.steps):
        yield f"step {number + 1}"
        for index, beam in enumerate(beams):
            if beam.total > -np.inf:
                text = " ".join(view.vocabulary[token] for token in view.search.path(number, index))
                yield f"  {beam.total:8.3f}  {text}"
    yield ""
    yield style.strong("Finished hypotheses, best score first")
    for hypothesis in view.search.hypotheses:
        text = " ".join(view.vocabulary[token] for token in hypothesis.token_ids)
        yield f"  score {hypothesis.score:.3f}, log-probability {hypothesis.log_probability:.3f}  {text}"


def show_position_effect(shifts: Sequence[PositionShift], style: TerminalStyle) -> Iterator[str]:
    """Yield how much the encoder output changes when the source is reversed, with positions and without."""
    yield style.strong("How far the last encoder vector of each token moves when the source is reversed")
    label_width = min(LABEL_WIDTH, max(wcwidth.width(shift.token) for shift in shifts)) + 2
    yield f"{pad('token', label_width)}{'full model':>12}{'without positions':>20}"
    for shift in shifts:
        yield f"{pad(shift.token, label_width)}{shift.with_positions:>12.4f}{shift.without_positions:>20.6f}"
    yield "Distances are divided by the norm of the vector. Without positions, the order of the words has no effect."


def show_scaling_effect(heads: Sequence[Sharpness], style: TerminalStyle) -> Iterator[str]:
    """Yield how concentrated each head is, with and without the division of scores by the root of the head width."""
    yield style.strong("Mean of each row's largest attention weight; 1 means that every row attends to a single token")
    yield f"{'head':<20}{'full model':>12}{'without scaling':>18}"
    for head in heads:
        yield f"{head.address:<20}{head.scaled:>12.3f}{head.unscaled:>18.3f}"
    scaled, unscaled = (float(np.mean([getattr(head, name) for head in heads])) for name in ("scaled", "unscaled"))
    yield f"{'all heads':<20}{scaled:>12.3f}{unscaled:>18.3f}"
