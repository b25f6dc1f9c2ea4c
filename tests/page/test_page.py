"""The exported page in a real browser without a network: no requests, no errors, the recorded values, accessible.

The tests need Chromium (`apt-get install chromium`) and fail without it.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser
from tests.page.browser import OpenedPage, number, unfold

from regard.errors import LookError
from regard.interpret.look.arithmetic import head_arithmetic
from regard.interpret.look.attention_map import Row
from regard.interpret.report.look_data import heads_that_fit
from regard.interpret.report.view import View
from regard.page.assets import bundled_script
from regard.settings.decode import DecodeSettings

TEXT = "The unseen cat didn't see the tired dog, and it was red."
HOSTILE = "<script>alert(1)</script> </s> <!-- 👩\u200d🔬 שלום \u202eevil e\u0301 中文 \x07 {{data}} & it"


@pytest.fixture(scope="module")
def view(model_of: Any) -> View:
    view: View = model_of("deep decoder").look(TEXT, DecodeSettings(beam_size=3, max_length_offset=9), target=None)
    return view


@pytest.fixture(scope="module")
def saved(view: View, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "a.html"
    view.save(path)
    return path


@pytest.fixture
def opened(browser: Browser, saved: Path) -> Iterator[OpenedPage]:
    opened = OpenedPage(browser, saved, viewport={"width": 1280, "height": 900})
    yield opened
    opened.context.close()
    assert opened.requests == [saved.as_uri()]
    assert opened.errors == []


FOLDS = ["arithmetic", "writing", "positions", "model"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{"width": 1280, "height": 900}, {"width": 390, "height": 844}], ids=["desk", "phone"])
def test_axe_finds_no_violation(browser, saved, scheme, size):
    opened = OpenedPage(browser, saved, viewport=size, color_scheme=scheme)
    unfold(opened, *FOLDS)
    results = Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()
    opened.choose(kind="decoder.cross", units="tokens")
    results = Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()
    # No element is wider than the screen.
    assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    opened.context.close()
    assert opened.errors == []


def test_the_page_of_a_long_text_works(browser, model_of, tmp_path):
    text = " ".join(["the old cat sees a red tree and it was tired,"] * 9)
    view = model_of("post").look(text, target=text)
    view.save(tmp_path / "a.html")
    opened = OpenedPage(browser, tmp_path / "a.html", viewport={"width": 390, "height": 844})
    assert Axe().run(opened.page).violations_count == 0
    assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    opened.choose(kind="decoder.cross", address="decoder.2.cross.mean")
    last = len(view.trace.source.words) - 1
    opened.page.hover("#map", position=opened.cell(3, last))
    assert opened.text("#readout").startswith(f"{described(view.attention('decoder.2.cross.mean').rows[3])} → end: ")
    opened.context.close()
    assert opened.errors == []


def described(row: Row) -> str:
    """Return what the page says of a row, in which special tokens have names of their own."""
    names = {"<s>": "start", "</s>": "end"}
    text = names.get(row.text, row.text)
    return text if row.read is None else f"after {names.get(row.read, row.read)}, about to write {text}"


@pytest.mark.parametrize("units", ["tokens", "words"])
def test_pointing_at_a_cell_shows_the_recorded_weight(opened, view, units):
    opened.choose(units=units)
    for address in (
        "encoder.1.self.1",
        "decoder.3.cross.4",
        "decoder.2.self.2",
        "decoder.1.cross.max",
        "decoder.1.self.mean",
    ):
        opened.choose(kind=kind_of(address), address=address)
        found = view.attention(address, tokens=units == "tokens")
        tolerance = 0.0005 + 0.0001  # of the three decimals and of the 16 bits
        names = {"<s>": "start", "</s>": "end"} if units == "words" else {}
        for row, column in ((0, 0), (len(found.rows) - 1, len(found.columns) // 2), (len(found.rows) // 2, 0)):
            opened.page.hover("#map", position=opened.cell(row, column))
            readout = opened.text("#readout")
            text = (
                described(found.rows[row])
                if names
                else found.rows[row].description.replace("predicting", "about to write")
            )
            name = found.columns[column]
            assert readout.startswith(f"{text} → {names.get(name, name)}: "), readout
            assert abs(float(readout.rpartition(" ")[2]) - found.values[row, column]) <= tolerance
            first = found.ranked(row)[0][0]
            shown = opened.text("#row-list li .name")
            assert shown == names.get(first, first) or len(set(found.values[row])) < len(found.columns)


def kind_of(address: str) -> str:
    stack, _, sublayer, _ = address.split(".")
    return f"{stack}.{sublayer}"


def test_maps_over_all_layers_have_correct_titles(opened, view):
    opened.choose(units="tokens", kind="decoder.cross", address="decoder.cross.rollout")
    assert opened.text("#map-title").startswith("Rollout through 3 layers")
    found = view.attention("decoder.cross.rollout", tokens=True)
    opened.page.hover("#map", position=opened.cell(0, 1))
    assert abs(float(opened.text("#readout").rpartition(" ")[2]) - found.values[0, 1]) <= 0.0006
    opened.choose(address="decoder.cross.max")
    assert opened.text("#map-title").startswith("All layers, maximum of 12 heads")


def test_masked_cells_are_labelled(opened):
    opened.choose(units="tokens", kind="decoder.self")
    opened.page.hover("#map", position=opened.cell(0, 1))
    assert opened.text("#readout").endswith("masked, because it comes later")


def test_the_keyboard_moves_between_cells_and_opens_the_arithmetic(opened, view):
    opened.choose(units="tokens", kind="encoder.self", address="encoder.1.self.2")
    opened.page.focus("#map")
    for _ in view.trace.source.texts:
        opened.page.keyboard.press("ArrowLeft")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowDown"):
        opened.page.keyboard.press(key)
    found = view.attention("encoder.1.self.2", tokens=True)
    assert opened.text("#readout").startswith(f"{found.rows[1].text} → {found.columns[2]}: ")
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate("document.activeElement.closest('#arithmetic') !== null")
    opened.page.wait_for_function("document.getElementById('arithmetic-row').value === '1'")
    assert opened.page.input_value("#arithmetic-key") == "2"


def test_a_click_shows_the_arithmetic_with_the_recorded_numbers(opened, view):
    opened.choose(units="tokens", kind="decoder.cross", address="decoder.1.cross.3")
    opened.page.click("#map", position=opened.cell(1, 2))
    opened.page.wait_for_function("document.getElementById('arithmetic-row').value === '1'")
    opened.page.wait_for_function("document.getElementById('arithmetic-key').value === '2'")
    unfold(opened, "arithmetic")
    expected = head_arithmetic(view.trace, "decoder.1.cross.3", 1)
    rows = opened.page.locator("#arithmetic table").nth(0).locator("tbody tr").all_inner_texts()
    for line, key in zip(rows, expected.keys, strict=True):
        name, *numbers = line.split("\t")
        assert name == key.token
        assert [number(each) for each in numbers] == pytest.approx(
            [key.score, key.scaled, key.exponential, key.weight], abs=1e-4
        )
    products = opened.page.locator("#arithmetic table").nth(1).locator("tbody tr").all_inner_texts()
    numbers = np.array([[number(each) for each in line.split("\t")[1:]] for line in products])
    key = expected.keys[2]
    assert numbers == pytest.approx(np.stack([expected.query, key.key, key.products], axis=1), abs=1e-4)
    mixed = opened.page.locator("#arithmetic table").nth(3).locator("tbody tr").all_inner_texts()
    assert [number(line.split("\t")[1]) for line in mixed] == pytest.approx(list(expected.mixed), abs=1e-4)
    # Selecting another token shows its products.
    opened.page.locator("#arithmetic table").nth(0).locator("button").nth(0).click()
    opened.page.wait_for_function("document.getElementById('arithmetic-key').value === '0'")
    assert opened.text("#sum-products summary").startswith(f"{expected.keys[0].token}: ")


def test_arcs_connect_words_and_the_finding_follows_the_selected_word(opened, view):
    opened.choose(kind="encoder.self", address="encoder.1.self.1")
    found = view.attention("encoder.1.self.1")
    opened.page.locator("#sentence .line button").nth(2).click()
    assert opened.text("#sentence .from bdi") == found.rows[2].text
    assert opened.page.get_attribute("#sentence .line button >> nth=2", "aria-pressed") == "true"
    name, weight = found.ranked(2)[0]
    assert opened.text("#row-list li .name") == name
    assert opened.text("#finding") == f"{found.rows[2].text} attends to {name}: {weight:.2f} · layer 1, head 1"
    assert opened.page.locator("#sentence .arcs path").count() == int((found.values[2] >= 0.008).sum())
    # The arrow keys move from word to word.
    opened.page.keyboard.press("ArrowRight")
    following = found.ranked(3)[0][0].replace("</s>", "end")
    assert opened.text("#finding").startswith(f"{found.rows[3].text} attends to {following}: ")
    # The finding also follows the pointer, and returns to the selected word.
    opened.page.locator("#sentence .line button").nth(0).hover()
    assert opened.text("#finding").startswith(f"{found.rows[0].text} attends to ")
    opened.page.hover("#header")
    assert opened.text("#finding").startswith(f"{found.rows[3].text} attends to ")


def test_every_head_has_a_small_map_that_opens_it(opened, view):
    for kind in ("encoder.self", "decoder.self", "decoder.cross"):
        opened.choose(kind=kind)
        tiles = opened.page.locator(".tile")
        heads = [head for head in view.heads if kind_of(head) == kind]
        assert [tile.get_attribute("title") for tile in tiles.all()] == heads
    last = opened.page.locator(".tile").nth(-1)
    last.click()
    opened.page.wait_for_function("document.getElementById('map-title').textContent.startsWith('Layer 3, head 4')")
    assert opened.page.input_value("#map-choice") == "decoder.3.cross.4"
    assert last.get_attribute("aria-pressed") == "true"
    found = view.attention("decoder.3.cross.4")
    name, weight = found.ranked(0)[0]
    name = {"</s>": "end"}.get(name, name)
    assert last.get_attribute("aria-label") == f"Layer 3, head 4: looks most at {name}, {weight:.2f}"
    # A small map shows dots.
    assert last.locator("canvas").evaluate(
        "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean)"
    )


def test_writing_shows_every_step(opened, view):
    unfold(opened, "writing")
    for place, step in enumerate(view.steps(), start=1):
        assert opened.text("#step-text") == (
            f"Step {place} of {len(view.steps())}: after {step.read}, {step.token} had probability "
            f"{step.probability:.3f}."
        )
        names = opened.page.locator("#alternatives .name").all_inner_texts()
        assert names == [name for name, _ in step.alternatives]
        if place < len(view.steps()):
            opened.page.click("#step-next")
    assert opened.page.locator(".tree g").count() == sum(len(beams) for beams in view.search.steps)
    assert opened.page.locator("#beams ol li").count() == len(view.search.hypotheses)


def test_positions_and_model_are_shown(opened, view):
    unfold(opened, "positions", "model")
    opened.page.wait_for_selector("#positions-frame canvas")
    opened.page.hover("#positions-frame canvas", position={"x": 1, "y": 1})
    readout = opened.text("#positions-readout")
    assert readout.startswith(f"position 0 ({view.trace.source.texts[0]}), dimension 1: ")
    assert float(readout.rpartition(" ")[2].replace("−", "-")) == pytest.approx(
        float(view.positional_encoding[0, 0]), abs=0.01
    )
    assert "Cross-attention" in opened.text("#model .stacks")
    # The vectors of a token at each stage are the recorded ones, but for the steps in which they are stored.
    opened.page.select_option("#model-token-target", "1")
    stages = opened.page.locator(".stack >> nth=1").locator("[data-address]")
    addresses = [vector.address for vector in view.trace.anatomy.stacks[1].vectors]
    assert [stage.get_attribute("data-address") for stage in stages.all()] == addresses
    for stage, address in zip(stages.all(), addresses, strict=True):
        norm = number(stage.locator(".norm").inner_text())
        vectors = view.trace[address]
        assert norm == pytest.approx(
            float(np.linalg.norm(vectors[1])), abs=0.01 + float(np.abs(vectors).max()) / 127 * 4
        )
    assert f"{view.parameters:,} parameters" in opened.text("#model-text")


def test_hostile_text_is_shown_as_text(browser, model_of, tmp_path):
    view = model_of("pre").look(
        HOSTILE, DecodeSettings(beam_size=2, max_length_offset=9), target="<script>alert(2)</script> </s> 中 & שלום"
    )
    view.save(tmp_path / "a.html")
    opened = OpenedPage(browser, tmp_path / "a.html")
    assert opened.text("#texts .text >> nth=0") == HOSTILE.replace("\u202e", "\\u{202e}").replace("\x07", "\\u{7}")
    assert opened.text("#texts .text >> nth=1") == view.text
    opened.choose(units="tokens", kind="encoder.self")
    shown = opened.page.locator("#sentence .line bdi").all_inner_texts()
    assert shown == list(view.trace.source.texts)
    unfold(opened, *FOLDS)
    opened.context.close()
    assert opened.requests == [(tmp_path / "a.html").as_uri()]
    assert opened.errors == []


def test_a_head_without_vectors_in_the_file_shows_a_command(browser, model_of, tmp_path):
    view = model_of("pre").look(TEXT, DecodeSettings(beam_size=1, max_length_offset=9))
    view.save(tmp_path / "a.html", ["decoder.1.cross.2"])
    opened = OpenedPage(browser, tmp_path / "a.html")
    opened.choose(kind="decoder.cross", address="decoder.1.cross.2")
    opened.page.wait_for_selector("#arithmetic table")
    opened.choose(kind="encoder.self", address="encoder.2.self.1")
    opened.page.wait_for_selector("#arithmetic-body > .command")
    assert "--trace encoder.2.self.1 --tokens --word" in opened.text("#arithmetic-body > .command >> nth=0")
    opened.context.close()


def test_a_notebook_shows_the_page_in_a_frame(browser, view, tmp_path):
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>a notebook</title>{view._repr_html_()}", "utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.goto((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator("body[data-ready]").wait_for()
    assert frame.locator("#map").is_visible()
    assert errors == []
    context.close()


# The tests below need no browser.


def test_the_content_security_policy_allows_only_the_script_and_the_style(saved):
    page = saved.read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    for element, tag in (("script", r'<script type="module">'), ("style", "<style>")):
        inner = page.partition(tag)[2].partition(f"</{element}>")[0]
        digest = base64.b64encode(hashlib.sha256(inner.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none';")
    assert not re.search(r'(src|href)="?(https?:|//)', page)


def test_maps_are_within_the_stated_error_and_vectors_are_exact(view, saved):
    data = json.loads(saved.read_text("utf-8").partition('id="data">')[2].partition("</script>")[0])
    for head in view.heads:
        weights = view.trace[f"{head}.weight"]
        packed = np.frombuffer(
            zlib.decompress(base64.b64decode(data["maps"][head].removeprefix("weights "))), "<u2"
        ).reshape(weights.shape)
        assert np.abs(packed / 65535 - weights).max() <= 0.00001
    # The vectors of all heads fit for a short text.
    assert set(data["vectors"]) == {*view.heads, "encoder", "decoder", "positions"}
    for head in view.heads:
        assert set(data["vectors"][head]) == {"query", "key", "value", "scaled", "weight"}
        for name, packed in data["vectors"][head].items():
            found = np.frombuffer(zlib.decompress(base64.b64decode(packed.removeprefix("float32 "))), np.float32)
            assert np.array_equal(found, view.trace[f"{head}.{name}"].ravel())


def test_a_page_has_the_vectors_of_the_given_heads(view):
    data = view.html(["decoder.2.self.1"]).partition('id="data">')[2].partition("</script>")[0]
    assert list(json.loads(data)["vectors"]) == ["decoder.2.self.1", "encoder", "decoder", "positions"]
    with pytest.raises(
        LookError, match=r"decoder.2.self.mean is not one head; the address of a head is, for example, encoder.1.self.1"
    ):
        view.html(["decoder.2.self.mean"])


def test_only_as_many_heads_as_fit_have_vectors(view, monkeypatch):
    assert len(heads_that_fit(view.trace)) == len(view.heads)
    monkeypatch.setattr("regard.interpret.report.look_data._MAX_VECTOR_BYTES", 20000)
    chosen = heads_that_fit(view.trace)
    assert 0 < len(chosen) < len(view.heads)
    assert chosen[0] == "encoder.1.self.1"


def test_the_bundled_script_has_no_import_and_no_closing_script_tag():
    script = bundled_script("file.js")
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert "</script" not in script


def test_json_has_every_number_exactly(view, tmp_path):
    view.save(tmp_path / "a.json", ["encoder.1.self.2"])
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))
    for head in view.heads:
        assert np.array_equal(np.array(found["numbers"][f"{head}.weight"], np.float32), view.trace[f"{head}.weight"])
    for name in ("query", "key", "value", "score", "scaled", "mixed"):
        again = np.array(found["numbers"][f"encoder.1.self.2.{name}"], np.float32)
        assert np.array_equal(again, view.trace[f"encoder.1.self.2.{name}"])
    assert found["tokens"]["written"] == list(view.trace.written.texts)
    with pytest.raises(LookError, match=r"a view is saved as .html or .json"):
        view.save(tmp_path / "a.png")
