"""Which view answers which question, for the command line."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.api import Model
from regard.errors import LookError
from regard.interpret.interventions import COMPONENTS
from regard.interpret.look.arithmetic import find_token, head_arithmetic, token_stages
from regard.interpret.look.component_ablation import position_effect, scaling_effect
from regard.interpret.report.architecture import draw_model, model_svg
from regard.interpret.report.arithmetic_text import (
    show_arithmetic,
    show_position_effect,
    show_scaling_effect,
    show_stages,
    show_steps,
)
from regard.interpret.report.sentence_text import heading, show_all_heads, show_map, show_row, show_word
from regard.interpret.report.view import View
from regard.interpret.tokens import chosen_word
from regard.interpret.trace import split_address
from regard.render.terminal import TerminalStyle
from regard.storage.atomic_files import write_atomically


def model_lines(model: Model, svg: Path | None, paper: TerminalStyle) -> Iterator[str]:
    """The model drawn, and its weights."""
    settings = model.network.settings
    if svg is not None:
        write_atomically(svg, model_svg(settings))
    yield from draw_model(settings, {name: tuple(one.shape) for name, one in model.network.state_dict().items()}, paper)


def save_svg(view: View, addresses: Sequence[str], path: Path, *, pieces: bool) -> str:
    """Write the picture of one map; say what it is."""
    if len(addresses) != 1:
        raise LookError("--svg draws one map; name it, as --trace decoder.cross.mean")
    found = view.attention(addresses[0], pieces=pieces)
    write_atomically(path, found.svg())
    return f"{path} shows {found.title}"


def view_lines(
    model: Model, view: View, addresses: Sequence[str], word: str | None, paper: TerminalStyle, *, pieces: bool
) -> Iterator[str]:
    """What was asked for, or, if nothing was, the whole at a glance."""
    if not addresses or word is None:
        yield from heading(view, paper)
        yield ""
    if view.without in COMPONENTS and not addresses and word is None:
        yield from _without(model, view, paper)
    elif addresses:
        for address in addresses:
            yield from _at(view, address, word, paper, pieces=pieces)
    elif word is not None:
        yield from _word(view, word, paper, pieces=pieces)
    else:
        last = f"decoder.{view.trace.settings.decoder_layers}.cross.mean"
        yield from show_map(view.attention(last, pieces=pieces), paper)
        yield ""
        yield from show_all_heads(view, paper)
        word = view.trace.source.words[0].text
        yield f"More: --word {word}, --trace {view.heads[0]}, --trace search, --html page.html"


def _at(view: View, address: str, word: str | None, paper: TerminalStyle, *, pieces: bool) -> Iterator[str]:
    if address == "search":
        yield from show_steps(view, paper)
    elif address in ("encoder", "decoder"):
        if word is None:
            raise LookError(
                f"say which word to follow through the {address}, as --word {view.trace.source.words[0].text}"
            )
        yield from _followed(view, address, word, paper, pieces=pieces)
    elif word is None:
        yield from show_map(view.attention(address, pieces=pieces), paper)
    elif split_address(view.trace, address) is None:
        found_map = view.attention(address, pieces=pieces)
        units = find_token(view.trace, address, word, pieces=pieces)[0].units(pieces=pieces)
        yield from show_row(found_map, units.index(chosen_word(word, units)), paper)
    else:
        tokens, found = find_token(view.trace, address, word, pieces=pieces)
        if found.end - found.begin > 1:
            first, *others = tokens.texts[found.begin : found.end]
            yield f"{found.text} begins with {first}; for its other pieces: --pieces --word {' or '.join(others)}"
        yield from show_arithmetic(head_arithmetic(view.trace, address, found.begin), paper)


def _followed(view: View, stack: str, word: str, paper: TerminalStyle, *, pieces: bool) -> Iterator[str]:
    """One piece from text to its last vector; in the decoder, the piece read before the word is written."""
    _, found = find_token(view.trace, stack, word, pieces=pieces)
    tokens = view.trace.source if stack == "encoder" else view.trace.read
    before = "" if stack == "encoder" else f"about to write {found.text}, after reading "
    yield f"{before}{tokens.texts[found.begin]}, which is piece {tokens.ids[found.begin]} of {len(view.names)}"
    yield from show_stages(list(token_stages(view.trace, stack, found.begin)), paper)
    if stack == "decoder":
        likeliest = ", ".join(f"{name} {value:.3f}" for name, value in view.steps()[found.begin].alternatives)
        yield f"probability: times the embedding's matrix, then softmax: {likeliest}"


def _word(view: View, word: str, paper: TerminalStyle, *, pieces: bool) -> Iterator[str]:
    source, written = view.trace.source.units(pieces=pieces), view.trace.written.units(pieces=pieces)
    found = chosen_word(word, source, written)
    decoder = not any(found is one for one in source)
    yield from show_word(view, (written if decoder else source).index(found), paper, decoder=decoder, pieces=pieces)


def _without(model: Model, view: View, paper: TerminalStyle) -> Iterator[str]:
    if view.without == "positions":
        yield from show_position_effect(position_effect(model.network, view.trace.source), paper)
    else:
        whole = model.trace(view.trace.source, view.trace.written)
        yield from show_scaling_effect(scaling_effect(whole, view.trace), paper)
