"""Removing a head in the page: the numbers are those of an intervention, and the original is beside them."""

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.page.browser import OpenedPage, number

from regard.render.text import escape_control_characters

TEXT = "The unseen cat didn't see the tired dog, and it was red."


@pytest.fixture
def open_page(browser, tmp_path):
    opened = []

    def open_(view, **options):
        view.save(tmp_path / "a.html")
        opened.append(OpenedPage(browser, tmp_path / "a.html", **options))
        return opened[-1]

    yield open_
    for each in opened:
        each.context.close()
        assert each.errors == [] and len(each.requests) == 1


def test_any_head_can_be_removed_and_the_probabilities_are_those_of_the_intervention(open_page, model_of):
    view = model_of("pre").look(TEXT, target="a red dog paints.")
    opened = open_page(view, viewport={"width": 1280, "height": 900})
    head = opened.page.input_value("#map-choice")
    opened.page.click("#remove")
    opened.page.wait_for_selector("#removal")
    without = model_of("pre").look(TEXT, target="a red dog paints.", without=head)
    before = np.array([step.probability for step in view.steps()])
    after = np.array([step.probability for step in without.steps()])
    at = int(np.abs(after - before).argmax())
    shown = [number(text.removeprefix("< ")) for text in opened.page.locator(".pairs .value").all_inner_texts()]
    assert shown[:2] == pytest.approx([before[at], after[at]], abs=0.006)
    assert f"Token {at + 1} of the translation" in opened.text("#removal")
    assert "removed" in opened.text("#finding")
    assert opened.page.get_attribute("#sentence .arcs path >> nth=0", "stroke-dasharray")
    others = [view.head_effects().probabilities_HT[i][at] for i, one in enumerate(view.heads) if one != head]
    assert f"Without each of the {len(others)} others: {min(others):.2f} to {max(others):.2f}." in opened.text(
        "#removal"
    )
    results = Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()
    # The captions of all heads show the same probability without each of them.
    opened.page.click("#heads-mode [value=remove]")
    opened.page.wait_for_selector("#heads-mode [value=remove][aria-pressed=true]")
    for tile in opened.page.locator(".tile").all():
        value = view.head_effects().probabilities_HT[view.heads.index(tile.get_attribute("title"))][at]
        assert number(tile.locator(".caption span").inner_text()) == pytest.approx(value, abs=0.0051)
    # The button has the focus and puts the head back.
    opened.page.focus("#remove")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector("#removal", state="detached")
    assert " attends to " in opened.text("#finding")


def test_a_page_without_a_head_shows_the_original_beside_it_and_puts_it_back(open_page, model_of):
    view = model_of("pre").look(TEXT, without="encoder.1.self.2")
    opened = open_page(view, viewport={"width": 390, "height": 844})
    assert opened.page.get_attribute("#remove", "aria-pressed") == "true"
    lines = opened.page.locator(".with-without dd").all_inner_texts()
    assert lines == [escape_control_characters(text) for text in (view.full_model_text, view.text)]
    assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    results = Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()
    opened.page.click("#remove")
    opened.page.wait_for_selector("#remove[aria-pressed=false]")
    found = view.original.attention("encoder.1.self.2")
    row = int(opened.page.get_attribute("#sentence .from", "data-row"))
    assert opened.text("#finding").replace("\n", " ").startswith(f"{found.rows[row].text} attends to ")
    # Removing it again shows the inspection without it; another head cannot be computed, but its effect is known.
    opened.page.click("#remove")
    opened.page.wait_for_selector("#remove[aria-pressed=true]")
    assert opened.page.locator(".with-without dd").count() == 2
