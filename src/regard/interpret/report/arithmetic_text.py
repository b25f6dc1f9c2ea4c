"""Views for a terminal that tell a story in order: the arithmetic of a head, one piece on its way, the writing of a
text step by step, and what is lost without a part."""

from collections.abc import Iterator, Sequence

import numpy as np
import wcwidth

from regard.interpret.look.arithmetic import HeadArithmetic, Stage
from regard.interpret.look.component_ablation import PositionShift, Sharpness
from regard.interpret.look.inspection import DecodingStep, Inspection
from regard.interpret.report.sentence_text import LABEL
from regard.interpret.trace import Array
from regard.render.terminal import TerminalStyle
from regard.render.text import pad


def show_arithmetic(walk: HeadArithmetic, paper: TerminalStyle) -> Iterator[str]:
    """The arithmetic, number by number."""
    width, keys = len(walk.query), walk.keys
    yield paper.strong(f"{walk.address}, piece {walk.position}: {walk.row.sentence}")
    yield f"\n1. What the head reads: the vector of this piece, {len(walk.input)} numbers"
    yield from _vector("input", walk.input, paper)
    yield f"\n2. Its query: the input times this head's columns of the query matrix, plus the bias, {width} numbers"
    yield from _vector("query", walk.query, paper)
    yield "\n3. Each piece has a key; query times key, number by number, add up to its score"
    for key in keys:
        yield f"   {key.token}"
        yield from _vector("key", key.key, paper)
        yield from _vector("products", key.products, paper)
        yield f"     sum {key.score:.4f}"
    yield f"\n4. Each score is divided by the square root of {width}, which is {walk.root:.4f}"
    yield f"5. Softmax: e to each less the largest ({walk.largest:.4f}), over the sum of all, {walk.powers:.4f}"
    label = min(LABEL, max(wcwidth.width(key.token) for key in keys)) + 2
    yield f"   {pad('piece', label)}{'score':>10}{'scaled':>10}{'power':>10}{'weight':>10}"
    for key in keys:
        rest = f"{key.scaled:>10.4f}{key.power:>10.4f}{key.weight:>10.4f}" if key.allowed else "   may not be looked at"
        yield f"   {pad(key.token, label)}{key.score:>10.4f}{rest}"
    yield "\n6. Each value times its weight; all added up are what this head found"
    for key in keys:
        if key.allowed:
            yield f"   {key.token}, weight {key.weight:.4f}"
            yield from _vector("value", key.value, paper)
            yield from _vector("weighted", key.weighted, paper)
    yield from _vector("found", walk.mixed, paper)
    last = walk.first + width - 1
    yield f"\n7. All heads side by side, {len(walk.joined)} numbers; those of this head are {walk.first} to {last}"
    yield from _vector("joined", walk.joined, paper)
    yield "\n8. Times the output matrix, plus its bias: what attention hands on"
    yield from _vector("output", walk.output, paper)
    yield "\n9. Added to what came in"
    yield from _vector("residual", walk.residual, paper)
    if walk.norm is not None:
        yield "\n10. Layer norm"
        yield from _vector("norm", walk.norm, paper)


def _vector(name: str, vector: Array, paper: TerminalStyle) -> Iterator[str]:
    fit = max(1, (paper.width - 14) // 9)
    for start in range(0, len(vector), fit):
        numbers = "".join(f"{number:>9.4f}" for number in vector[start : start + fit])
        yield f"     {name if start == 0 else '':<8}{numbers}"


def show_stages(stages: Sequence[Stage], paper: TerminalStyle) -> Iterator[str]:
    """One piece on its way: the first numbers of each vector, and its length."""
    fit = max(2, (paper.width - 28) // 9)
    for stage in stages:
        yield f"{stage.address}: {stage.what}"
        numbers = "".join(f"{number:>9.4f}" for number in stage.vector[:fit])
        more = f" … {len(stage.vector) - fit} more" if len(stage.vector) > fit else ""
        yield f"  {numbers}{more}, length {np.linalg.norm(stage.vector):.4f}"


def show_steps(view: Inspection, paper: TerminalStyle) -> Iterator[str]:
    """What was written piece by piece, and how the beams went."""
    yield paper.strong("Each piece written, its probability, and what else was probable")
    for number, step in enumerate(view.steps(), start=1):
        others = ", ".join(f"{text} {value:.3f}" for text, value in step.alternatives if text != step.token)
        yield f"{number:>3}  {_words_of(step)}  {step.probability:.3f}; else {others}"
    if view.search is None:
        return
    yield ""
    yield paper.strong("Open beams after each step, best first, with their log-probability")
    for number, beams in enumerate(view.search.steps):
        yield f"step {number + 1}"
        for beam, one in enumerate(beams):
            if one.total > -np.inf:
                text = " ".join(view.names[piece] for piece in view.search.path(number, beam))
                yield f"  {one.total:8.3f}  {text}"
    yield ""
    yield paper.strong("Found, best score first")
    for hypothesis in view.search.found:
        text = " ".join(view.names[piece] for piece in hypothesis.token_ids)
        yield f"  score {hypothesis.score:.3f}, log-probability {hypothesis.log_probability:.3f}  {text}"


def _words_of(step: DecodingStep) -> str:
    return f"after reading {step.read}, wrote {step.token}"


def show_position_effect(moved: Sequence[PositionShift], paper: TerminalStyle) -> Iterator[str]:
    """What reversing the words does to the encoder, with positions and without."""
    yield paper.strong("How far each piece's last encoder vector moves when the pieces come in reverse order")
    label = min(LABEL, max(wcwidth.width(one.token) for one in moved)) + 2
    yield f"{pad('piece', label)}{'as it is':>12}{'without positions':>20}"
    for one in moved:
        yield f"{pad(one.token, label)}{one.with_positions:>12.4f}{one.without_positions:>20.6f}"
    yield "Distances are over the vector's length. Without positions the order of the words leaves no trace."


def show_scaling_effect(found: Sequence[Sharpness], paper: TerminalStyle) -> Iterator[str]:
    """How much sharper each head looks without the division by the root of the width."""
    yield paper.strong("Mean of each row's largest weight; 1 means that a row looks at one piece alone")
    yield f"{'head':<20}{'as it is':>10}{'without scaling':>18}"
    for one in found:
        yield f"{one.address:<20}{one.scaled:>10.3f}{one.unscaled:>18.3f}"
    scaled, unscaled = (float(np.mean([getattr(one, name) for one in found])) for name in ("scaled", "unscaled"))
    yield f"{'all heads':<20}{scaled:>10.3f}{unscaled:>18.3f}"
