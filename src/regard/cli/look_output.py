"""Which view answers which question, for the command line."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from regard.errors import LookError
from regard.files import write_atomically
from regard.inside.arithmetic import chosen_piece, follow, walk
from regard.inside.maps import split_address
from regard.inside.model import Model
from regard.inside.stacks import draw_model, model_svg
from regard.inside.terminal import Paper, heading, show_all_heads, show_map, show_row, show_word
from regard.inside.view import View
from regard.inside.walkthrough import show_lost_order, show_saturation, show_stages, show_steps, show_walk
from regard.inside.without import PARTS, lost_order, saturation
from regard.inside.words import chosen_word


def paper_of(environment: Mapping[str, str], is_terminal: bool) -> Paper:
    """How wide the terminal is and what colours it has; NO_COLOR turns them off, FORCE_COLOR on (for a pager)."""
    width = shutil.get_terminal_size().columns
    forced = bool(environment.get("FORCE_COLOR"))
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb" or not (is_terminal or forced):
        return Paper(width)
    full = environment.get("COLORTERM") in ("truecolor", "24bit")
    return Paper(width, 1 << 24 if full else 256)


def model_lines(model: Model, svg: Path | None, paper: Paper) -> Iterator[str]:
    """The model drawn, and its weights."""
    settings = model.torch.settings
    if svg is not None:
        write_atomically(svg, model_svg(settings))
    yield from draw_model(settings, {name: tuple(one.shape) for name, one in model.torch.state_dict().items()}, paper)


def save_svg(view: View, addresses: Sequence[str], path: Path, *, pieces: bool) -> str:
    """Write the picture of one map; say what it is."""
    if len(addresses) != 1:
        raise LookError("--svg draws one map; name it, as --trace decoder.cross.mean")
    found = view.attention(addresses[0], pieces=pieces)
    write_atomically(path, found.svg())
    return f"{path} shows {found.title}"


def view_lines(
    model: Model, view: View, addresses: Sequence[str], word: str | None, paper: Paper, *, pieces: bool
) -> Iterator[str]:
    """What was asked for, or, if nothing was, the whole at a glance."""
    if not addresses or word is None:
        yield from heading(view, paper)
        yield ""
    if view.without in PARTS and not addresses and word is None:
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


def _at(view: View, address: str, word: str | None, paper: Paper, *, pieces: bool) -> Iterator[str]:
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
        units = chosen_piece(view.trace, address, word, pieces=pieces)[0].units(pieces=pieces)
        yield from show_row(found_map, units.index(chosen_word(word, units)), paper)
    else:
        tokens, found = chosen_piece(view.trace, address, word, pieces=pieces)
        if found.end - found.begin > 1:
            first, *others = tokens.pieces[found.begin : found.end]
            yield f"{found.text} begins with {first}; for its other pieces: --pieces --word {' or '.join(others)}"
        yield from show_walk(walk(view.trace, address, found.begin), paper)


def _followed(view: View, stack: str, word: str, paper: Paper, *, pieces: bool) -> Iterator[str]:
    """One piece from text to its last vector; in the decoder, the piece read before the word is written."""
    _, found = chosen_piece(view.trace, stack, word, pieces=pieces)
    tokens = view.trace.source if stack == "encoder" else view.trace.read
    before = "" if stack == "encoder" else f"about to write {found.text}, after reading "
    yield f"{before}{tokens.pieces[found.begin]}, which is piece {tokens.ids[found.begin]} of {len(view.names)}"
    yield from show_stages(list(follow(view.trace, stack, found.begin)), paper)
    if stack == "decoder":
        likeliest = ", ".join(f"{name} {value:.3f}" for name, value in view.steps()[found.begin].alternatives)
        yield f"probability: times the embedding's matrix, then softmax: {likeliest}"


def _word(view: View, word: str, paper: Paper, *, pieces: bool) -> Iterator[str]:
    source, written = view.trace.source.units(pieces=pieces), view.trace.written.units(pieces=pieces)
    found = chosen_word(word, source, written)
    decoder = not any(found is one for one in source)
    yield from show_word(view, (written if decoder else source).index(found), paper, decoder=decoder, pieces=pieces)


def _without(model: Model, view: View, paper: Paper) -> Iterator[str]:
    if view.without == "positions":
        yield from show_lost_order(lost_order(model.torch, view.trace.source), paper)
    else:
        whole = model.recorded(view.trace.source, view.trace.written)
        yield from show_saturation(saturation(whole, view.trace), paper)
