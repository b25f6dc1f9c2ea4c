"""Creates the text that `regard look` prints, depending on its options."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.api import Model
from regard.errors import LookError
from regard.interpret.look.arithmetic import find_token, head_arithmetic, token_stages
from regard.interpret.look.component_ablation import position_effect, scaling_effect
from regard.interpret.look.recurrent_steps import find_recurrences, recurrent_step, rows_of
from regard.interpret.report.architecture import draw_model, model_svg
from regard.interpret.report.arithmetic_text import (
    show_arithmetic,
    show_position_effect,
    show_scaling_effect,
    show_stages,
    show_steps,
)
from regard.interpret.report.recurrent_text import show_norms, show_recurrence, show_states_at, show_step
from regard.interpret.report.sentence_text import (
    heading,
    show_all_heads,
    show_intervention,
    show_map,
    show_row,
    show_word,
)
from regard.interpret.report.state_chart import state_chart
from regard.interpret.report.view import View
from regard.interpret.tokens import Tokens, get_word
from regard.render.terminal import TerminalStyle
from regard.settings.anatomy import Recurrence, Side, Stack
from regard.storage.atomic_files import write_atomically
from regard.tokenizers.word_spans import WordSpan


def model_lines(model: Model, svg: Path | None, style: TerminalStyle) -> Iterator[str]:
    """Yield a drawing of the model's architecture as lines of text; also write it as a picture if `svg` is given."""
    settings = model.network.settings
    if svg is not None:
        write_atomically(svg, model_svg(settings))
    yield from draw_model(settings, {name: tuple(one.shape) for name, one in model.network.state_dict().items()}, style)


def save_svg(view: View, addresses: Sequence[str], path: Path, *, by_token: bool) -> str:
    """Write one attention map as an SVG picture, and return a message that names the map."""
    if len(addresses) != 1:
        anatomy = view.trace.anatomy
        examples = [*anatomy.heads[-1:], *(one.address for one in anatomy.recurrences[-1:])]
        example = "decoder.cross.mean" if len(anatomy.heads) > 1 else " or ".join(examples)
        raise LookError(f"--svg draws one map; name it, for example --trace {example}")
    if recurrences := find_recurrences(view.trace, addresses[0]):
        states = [state for state in view.norms() if state.recurrence in recurrences]
        write_atomically(path, state_chart(view.trace, states))
        return f"{path} shows the norms of the states of {addresses[0]}"
    found = view.attention(addresses[0], tokens=by_token)
    write_atomically(path, found.svg())
    return f"{path} shows {found.title}"


def view_lines(
    model: Model, view: View, addresses: Sequence[str], word: str | None, style: TerminalStyle, *, by_token: bool
) -> Iterator[str]:
    """Yield the lines of text that the options ask for; without options, yield an overview of the translation."""
    if not addresses or word is None:
        yield from heading(view, style)
        yield ""
    elif view.without is not None:
        yield from show_intervention(view)
        yield ""
    if view.without in view.trace.anatomy.removable and not addresses and word is None:
        yield from _without(model, view, style)
    elif addresses:
        for address in addresses:
            yield from _at(view, address, word, style, by_token=by_token)
    elif word is not None:
        yield from _word(view, word, style, by_token=by_token)
    else:
        yield from _overview(view, style, by_token=by_token)


def _overview(view: View, style: TerminalStyle, *, by_token: bool) -> Iterator[str]:
    """Yield the attention from the target to the source in the last layer, every head, and the norms of states."""
    anatomy = view.trace.anatomy
    word = view.trace.source.words[0].text
    main = anatomy.main_attention
    if main is None:
        yield "This model has no attention."
    elif len(view.heads) == 1:
        yield from show_map(view.attention(view.heads[0], tokens=by_token), style)
    else:
        yield from show_map(view.attention(f"{main.address}.mean", tokens=by_token), style)
        yield ""
        yield from show_all_heads(view, style)
    if anatomy.recurrences:
        yield ""
        yield from show_norms(view.trace, style)
        yield ""
    traces = [*view.heads[:1], *(one.address for one in anatomy.recurrences[-1:])]
    options = [f"--word {word}", *(f"--trace {address}" for address in traces or [anatomy.stacks[0].name])]
    yield f"More: {', '.join(options)}, --trace search, --html page.html"


def _at(view: View, address: str, word: str | None, style: TerminalStyle, *, by_token: bool) -> Iterator[str]:
    if address == "search":
        yield from show_steps(view, style)
    elif stack := next((one for one in view.trace.anatomy.stacks if one.name == address), None):
        if word is None:
            raise LookError(
                f"name the word to follow through the {address}, for example --word {view.trace.source.words[0].text}"
            )
        yield from _followed(view, stack, word, style, by_token=by_token)
    elif recurrences := find_recurrences(view.trace, address):
        yield from _recurrences(view, recurrences, word, style, by_token=by_token)
    elif word is None:
        yield from show_map(view.attention(address, tokens=by_token), style)
    elif view.trace.find_head(address) is None:
        found_map = view.attention(address, tokens=by_token)
        units = find_token(view.trace, address, word, tokens=by_token)[0].units(tokens=by_token)
        yield from show_row(found_map, units.index(get_word(word, units)), style)
    else:
        tokens, found = find_token(view.trace, address, word, tokens=by_token)
        yield from _other_tokens(tokens, found)
        yield from show_arithmetic(head_arithmetic(view.trace, address, found.begin), style)


def _other_tokens(tokens: Tokens, found: WordSpan) -> Iterator[str]:
    """Yield a line that names the other tokens of a word, if it has more than the first."""
    if found.end - found.begin > 1:
        first, *others = tokens.texts[found.begin : found.end]
        yield f"{found.text} starts with {first}; for its other tokens: --tokens --word {' or '.join(others)}"


def _recurrences(
    view: View, recurrences: Sequence[Recurrence], word: str | None, style: TerminalStyle, *, by_token: bool
) -> Iterator[str]:
    """Yield the steps of recurrent layers at the first token of a word or, without a word, all their positions."""
    for number, recurrence in enumerate(recurrences):
        if number:
            yield ""
        if word is None:
            yield from show_recurrence(view.trace, recurrence, style)
            continue
        tokens = view.trace.source if recurrence.side == "source" else view.trace.written
        found = get_word(word, tokens.units(tokens=by_token))
        yield from _other_tokens(tokens, found)
        yield from show_step(recurrent_step(view.trace, recurrence, found.begin), style)


def _followed(view: View, stack: Stack, word: str, style: TerminalStyle, *, by_token: bool) -> Iterator[str]:
    """Yield how the vector of one token changes from layer to layer of a stack.

    On the source side, it is the first token of `word`. On the target side, it is the input token from which the model
    predicts the first token of `word`.
    """
    is_source = stack.side == "source"
    found = get_word(word, (view.trace.source if is_source else view.trace.written).units(tokens=by_token))
    tokens = view.trace.source if is_source else view.trace.read
    before = "" if is_source else f"predicting {found.text}, after "
    yield f"{before}{tokens.texts[found.begin]}, which is token {tokens.ids[found.begin]} of {len(view.vocabulary)}"
    yield from show_stages(list(token_stages(view.trace, stack, found.begin)), style)
    if not is_source:
        most_probable = ", ".join(f"{name} {value:.3f}" for name, value in view.steps()[found.begin].alternatives)
        yield f"probability: multiplied by the embedding matrix, then softmax: {most_probable}"


def _word(view: View, word: str, style: TerminalStyle, *, by_token: bool) -> Iterator[str]:
    source, written = view.trace.source.units(tokens=by_token), view.trace.written.units(tokens=by_token)
    found = get_word(word, source, written)
    side: Side = "source" if any(found is one for one in source) else "target"
    yield from show_word(
        view, (source if side == "source" else written).index(found), style, side=side, tokens=by_token
    )
    recurrences = [one for one in view.trace.anatomy.recurrences if one.side == side]
    if recurrences:
        yield ""
        yield style.strong(f"Recurrent layers: {rows_of(view.trace, side)[found.begin].description}")
        yield from show_states_at(view.trace, recurrences, found.begin)
        yield f"The numbers of one step: --trace {recurrences[-1].address} --word {word}"


def _without(model: Model, view: View, style: TerminalStyle) -> Iterator[str]:
    if view.without == "positions":
        yield from show_position_effect(position_effect(model.network, view.trace.source), style)
    else:
        whole = model.trace(view.trace.source, view.trace.written)
        yield from show_scaling_effect(scaling_effect(whole, view.trace), style)
