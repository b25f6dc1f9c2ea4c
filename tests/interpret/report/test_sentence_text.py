"""Text for a terminal: plain maps have a line per row, coloured maps fit the width, control characters are escaped."""

import json
import re

import pytest
import wcwidth

import regard
from regard.cli.look_output import model_lines, save_svg, view_lines
from regard.errors import LookError
from regard.interpret.report.sentence_text import heading, show_map
from regard.render.terminal import TerminalStyle, terminal_style
from regard.render.text import pad
from regard.settings.decode import DecodeSettings

TEXT = "the old cat sees a red tree and it was tired."
HOSTILE = "<script>alert(1)</script> </s> 👩\u200d🔬 שלום \u202eevil e\u0301 中文 \x1b[31mred & it"
DECODE = DecodeSettings(beam_size=2, max_length_offset=9)
CODE = re.compile(r"\x1b\[[0-9;]*m")
STYLES = [TerminalStyle(80), TerminalStyle(80, 256), TerminalStyle(120, 1 << 24), TerminalStyle(40, 256)]
OPTIONS: list[tuple[tuple[str, ...], bool, bool]] = [
    ((), False, False),
    ((), True, False),
    ((), True, True),
    (("encoder.1.self.2",), False, False),
    (("decoder.2.cross.1", "decoder.self.rollout"), False, True),
    (("encoder.1.self.mean",), True, False),
    (("encoder.1.self.2",), True, False),
    (("encoder",), True, False),
    (("search",), False, False),
]


def lines(model, text, addresses, word, style, *, tokens=False, without=None) -> list[str]:
    view = model.look(text, DECODE, without=without)
    return "\n".join(view_lines(model, view, addresses, word, style, by_token=tokens)).split("\n")


@pytest.mark.parametrize("style", STYLES, ids=str)
@pytest.mark.parametrize(("addresses", "word", "tokens"), OPTIONS)
def test_control_characters_of_a_text_never_reach_the_terminal(model_of, addresses, word, tokens, style):
    name = ("▁it" if tokens else "it") if word else None
    for line in lines(model_of("pre"), HOSTILE, addresses, name, style, tokens=tokens):
        bare = CODE.sub("", line) if style.colours else line
        assert not any(ord(character) < 32 or character == "\u202e" for character in bare)
        if not style.colours:
            assert "\x1b" not in line


@pytest.mark.parametrize("style", STYLES[1:], ids=str)
@pytest.mark.parametrize("address", ["encoder.1.self.2", "decoder.2.cross.1", "decoder.self.max"])
def test_maps_fit_the_width(model_of, address, style):
    title, *table = show_map(model_of("pre").look(HOSTILE, DECODE).attention(address, tokens=True), style)
    assert address.split(".")[0] in title or "target" in title
    assert all(wcwidth.width(CODE.sub("", line)) <= style.width for line in table)


def test_a_plain_map_has_a_line_for_each_row(model_of):
    model = model_of("pre")
    found = lines(model, TEXT, ("decoder.1.cross.2",), None, TerminalStyle(80))
    view = model.look(TEXT, DECODE)
    expected = view.attention("decoder.1.cross.2")
    best = expected.ranked(0)[0]
    assert f"{expected.rows[0].description}: {best[0]} {best[1]:.2f}, " in "\n".join(found)
    assert found[4] == expected.title


def test_a_coloured_map_has_every_number(model_of):
    view = model_of("pre").look(TEXT, DECODE)
    found = lines(model_of("pre"), TEXT, ("encoder.1.self.1",), None, TerminalStyle(200, 256))
    values = view.attention("encoder.1.self.1").values
    rows = [CODE.sub("", line) for line in found if CODE.search(line)][-len(values) :]
    for line, row in zip(rows, values, strict=True):
        assert re.findall(r"\.\d\d|1\.0", line.partition(" ")[2]) == [
            f"{v:.2f}"[1:] if v < 0.995 else "1.0" for v in row
        ]


def test_masked_cells_show_a_dot_and_no_number(model_of):
    view = model_of("pre").look(TEXT, target="a red dog.")
    found = view_lines(model_of("pre"), view, ("decoder.1.self.1",), None, TerminalStyle(200, 256), by_token=True)
    assert sum(line.count("·") for line in found) == int(view.attention("decoder.1.self.1", tokens=True).masked.sum())


def test_a_word_that_occurs_only_in_the_target_is_found(model_of):
    view = model_of("pre").look(TEXT, DECODE, target="a zebra.")
    found = "\n".join(view_lines(model_of("pre"), view, (), "zebra", TerminalStyle(80), by_token=False))
    assert "decoder.1.cross, mean of 2 heads: after a, predicting zebra" in found
    assert "encoder.1.self" not in found


@pytest.mark.parametrize(("without", "expected"), [("positions", "has no effect"), ("scaling", "without scaling")])
def test_the_effect_of_removing_a_component_is_shown(model_of, without, expected):
    shown = "\n".join(lines(model_of("post"), TEXT, (), None, TerminalStyle(80), without=without))
    assert expected in shown
    assert f"Computed without {without}: " in shown
    assert "\nThe target is the translation of the full model.\n" in shown
    given = model_of("post").look(TEXT, DECODE, target="a b", without=without)
    assert any(line.startswith(f"Computed without {without}: ") for line in heading(given, TerminalStyle(80)))
    assert "translation of the full model" not in "\n".join(heading(given, TerminalStyle(80)))


@pytest.mark.parametrize(
    ("addresses", "word", "message"),
    [
        (("encoder",), None, "name the word to follow through the encoder, for example --word the"),
        (("encoder.1.self.1",), "zebra", "no word 'zebra'"),
        (("sea",), None, "there is no map 'sea'"),
        ((), "zebra", "no word 'zebra'"),
    ],
)
def test_an_unknown_map_or_word_is_refused(model_of, addresses, word, message):
    with pytest.raises(LookError, match=message):
        lines(model_of("pre"), TEXT, addresses, word, TerminalStyle(80))


@pytest.mark.parametrize("style", [TerminalStyle(80), TerminalStyle(120, 256)], ids=str)
def test_the_model_is_drawn_with_all_its_parameters(model, style, tmp_path):
    found = "\n".join(model_lines(model, tmp_path / "model.svg", style))
    count = sum(tensor.numel() for tensor in model.network.state_dict().values())
    assert found.rstrip().endswith(f"{count:,}")
    settings = model.network.settings
    assert f"encoder, {settings.encoder_layers} layers" in found
    assert f"decoder, {settings.decoder_layers} layers" in found
    assert f"{settings.heads} heads of {settings.width // settings.heads}" in (tmp_path / "model.svg").read_text()


def test_svg_draws_one_map(model_of, tmp_path):
    view = model_of("pre").look(TEXT, DECODE)
    message = save_svg(view, ["decoder.cross.mean"], tmp_path / "a.svg", by_token=False)
    assert message.endswith("a.svg shows mean of 2 heads in each of 2 layers: target attends to source")
    assert (tmp_path / "a.svg").read_text().startswith("<svg ")
    with pytest.raises(LookError, match="--svg draws one map; name it"):
        save_svg(view, [], tmp_path / "b.svg", by_token=False)


@pytest.mark.parametrize(
    ("environment", "is_terminal", "colours"),
    [
        ({}, True, 256),
        ({"COLORTERM": "truecolor"}, True, 1 << 24),
        ({"NO_COLOR": "1"}, True, 0),
        ({"TERM": "dumb"}, True, 0),
        ({}, False, 0),
        ({"FORCE_COLOR": "1"}, False, 256),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, 0),
    ],
)
def test_colours_depend_on_the_environment(environment, is_terminal, colours):
    assert terminal_style(environment, is_terminal).colours == colours


@pytest.mark.parametrize("text", ["a", "中文中文中文中文", "e\u0301" * 9, "👩\u200d🔬" * 9, "שלום שלום שלום"])
def test_padding_counts_terminal_columns(text):
    assert wcwidth.width(pad(text, 10)) == 10


def test_the_path_of_the_model_is_in_no_output(folder_of):
    model = regard.load(folder_of("pre"))
    view = model.look(TEXT, DECODE)
    assert view.model == folder_of("pre").name
    for text in (view.html(), json.dumps(view.to_dict())):
        assert view.model in text and str(folder_of("pre").parent) not in text
