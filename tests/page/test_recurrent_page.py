"""The page of recurrent models in a real browser: the numbers are the recorded ones, and nothing empty is shown."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.interpret.recurrent_models import recurrent_model
from tests.page.browser import OpenedPage, number, unfold

from regard.interpret.look.arithmetic import head_arithmetic
from regard.interpret.report import look_data

TEXT, TARGET = "the old cat sees a tree.", "a red dog."


def parts(opened: OpenedPage) -> list[str]:
    """Return the headings of the parts of the page."""
    return opened.page.locator(".parts > details h2").all_inner_texts()


def rows(opened: OpenedPage, table: str, number: int) -> list[list[str]]:
    """Return the cells of a table, without those that hold a picture."""
    texts = opened.page.locator(table).nth(number).locator("tbody tr").all_inner_texts()
    return [[cell.strip() for cell in text.split("\t")] for text in texts]


@pytest.fixture
def open_page(browser, tmp_path):
    opened = []

    def open_(view, addresses=(), **options):
        view.save(tmp_path / "a.html", addresses)
        opened.append(OpenedPage(browser, tmp_path / "a.html", **options))
        return opened[-1]

    yield open_
    for each in opened:
        each.context.close()
        assert each.errors == [] and len(each.requests) == 1


def test_every_tab_of_a_model_with_additive_attention_shows_the_recorded_numbers(open_page):
    view = recurrent_model("lstm", "additive").look(TEXT, target=TARGET)
    opened = open_page(view, viewport={"width": 390, "height": 844}, color_scheme="dark")
    opening = look_data.look_opening(view, view.head_effects())
    assert opening
    weight = view.attention("decoder.2.cross.1").values[opening.row].max()
    assert parts(opened)[1:] == ["States of the recurrent layers", "Written token by token", "The model"]
    assert parts(opened)[0].startswith("How ")
    assert not opened.page.is_visible("#all-heads") and not opened.page.is_visible("#map-choice")
    assert opened.text("#map-title") == "Layer 2, head 1: every word · Target → Source"
    assert f": {weight:.2f} · layer 2, head 1" in opened.text("#finding").replace("\n", " ")
    unfold(opened, "arithmetic", "states", "writing", "model")
    results = Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()
    assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    opened.page.select_option("#arithmetic-row", "0")
    opened.page.select_option("#arithmetic-key", "0")
    opened.page.wait_for_function(
        "document.querySelector('#arithmetic tr.chosen') === document.querySelector('#arithmetic tbody tr')"
    )
    unfold(opened, "arithmetic")
    expected = head_arithmetic(view.trace, "decoder.2.cross.1", 0)
    assert expected.score_vector is not None and expected.keys[0].tanh is not None
    for cells, key in zip(rows(opened, "#arithmetic table", 0), expected.keys, strict=True):
        assert [number(cell) for cell in cells[1:]] == pytest.approx([key.score, key.exponential, key.weight], abs=1e-4)
    for cells, *numbers in zip(
        rows(opened, "#arithmetic table", 1), expected.query, expected.keys[0].key, expected.keys[0].tanh,
        expected.score_vector, expected.keys[0].products, strict=True,
    ):  # fmt: skip
        assert [number(cell) for cell in cells[1:]] == pytest.approx(numbers, abs=1e-4)
    for table, vector in ((3, expected.mixed), (4, expected.joined), (5, expected.output)):
        found = [number(cells[1]) for cells in rows(opened, "#arithmetic table", table)]
        assert found == pytest.approx(list(vector), abs=1e-4)

    assert opened.page.input_value("#state-layer") == "decoder.2"
    opened.page.select_option("#state-layer", "encoder.1.backwards")
    opened.page.select_option("#state-position", "2")
    opened.page.wait_for_function("document.getElementById('state-text').textContent.includes('4 units')")
    opened.page.wait_for_function("document.querySelectorAll('#state-step table')[1].rows.length === 5")
    word = view.trace.source.texts[2]
    step = view.recurrent_step("encoder.1.backwards", word, tokens=True)
    units = rows(opened, "#state-step table", 1)
    assert [int(cells[0]) - 1 for cells in units] == list(step.largest_changes(4))
    for cells in units:
        found = [number(cell) for cell in cells[1:]]
        assert found == pytest.approx([vector[int(cells[0]) - 1] for vector in step.vectors.values()], abs=1e-4)
    assert f"= {step.worked('cell', int(units[0][0]) - 1)} = " in opened.text("#state-step .formulas")
    assert opened.page.locator("#states .norms polyline").count() == 12


def test_the_page_of_a_model_without_attention_has_no_empty_part(open_page):
    view = recurrent_model("gru", "none").look(TEXT, target=TARGET)
    opened = open_page(view, ["decoder.1"], viewport={"width": 1280, "height": 900})
    assert parts(opened) == ["States of the recurrent layers", "Written token by token", "The model"]
    assert "This model has no attention." in opened.text("#no-attention")
    assert opened.page.locator("#step-attention-part, #sentence, #map, #arithmetic").count() == 0
    opened.page.select_option("#state-layer", "decoder.2")
    opened.page.wait_for_selector("#state-step .command")
    assert "This page does not contain the vectors of decoder.2." in opened.text("#state-step")
    assert "--trace decoder.2 --tokens --word" in opened.text("#state-step .command")


def test_only_as_many_recurrent_layers_as_fit_have_vectors(monkeypatch):
    trace = recurrent_model("lstm").look(TEXT, target=TARGET).trace
    assert len(look_data.recurrences_that_fit(trace)) == 6
    monkeypatch.setattr(look_data, "_MAX_VECTOR_BYTES", 2000)
    chosen = look_data.recurrences_that_fit(trace)
    assert [one.address for one in chosen] == ["decoder.2"]


def test_a_transformer_has_no_tab_for_states(open_page, model_of):
    opened = open_page(model_of("pre").look(TEXT, target=TARGET))
    assert opened.page.locator("#states").count() == 0
