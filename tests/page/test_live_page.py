"""The same modules with data over HTTP, unbundled and under a strict policy: what a page file cannot do works there."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.page.browser import number
from tests.page.live_server import live_server

TEXT = "the old cat sees a tree."


@pytest.fixture
def live(browser, model_of):
    with live_server(model_of("pre")) as (address, bodies):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(300_000)
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        yield page, bodies
        context.close()
        assert errors == [] and all(url.startswith(address) for url in requests)


def show(page, text: str, **options: int) -> None:
    page.evaluate("([text, options]) => window.show({ text, target: null, without: null }, options)", [text, options])


def test_a_head_is_removed_and_put_back_and_sentences_are_compared(live, model_of):
    page, bodies = live
    model = model_of("pre")
    show(page, TEXT)
    view = model.look(TEXT)
    assert [body["parts"] for body in bodies[:1]] == [["facts", "maps"]]
    # The vectors of a head are asked for when the arithmetic shows them, and effects only when something needs them.
    head = page.input_value("#map-choice")
    assert head in [address for body in bodies for address in body["vectors"]]
    assert not any("effects" in body["parts"] for body in bodies)
    page.click("#remove")
    page.wait_for_selector("#remove[aria-pressed=true]")
    without = model.look(TEXT, without=head)
    lines = page.locator(".with-without dd").all_inner_texts()
    assert [line.split() for line in lines] == [view.text.split(), without.text.split()]
    assert page.evaluate("document.activeElement.id") == "remove"
    assert page.input_value("#map-choice") == head
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    page.click("#remove")
    page.wait_for_selector("#remove[aria-pressed=false]")
    assert page.locator("#removal").count() == 0
    # Another sentence is compared with this one.
    page.fill("#compare-text", "the old dog sees a tree.")
    page.press("#compare-text", "Enter")
    page.wait_for_selector("#comparison-finding")
    assert page.locator("#comparison .sentence >> nth=1").locator(".mark bdi").all_inner_texts() == ["dog"]
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_a_new_text_keeps_the_selection_and_a_long_one_is_drawn_on_demand(live, model_of):
    page, _ = live
    show(page, TEXT)
    page.select_option("#map-choice", "encoder.2.self.2")
    page.wait_for_function("document.getElementById('finding').textContent.includes('layer 2, head 2')")
    page.locator("#sentence .line button").nth(1).click()
    page.evaluate("document.getElementById('positions').open = true")
    other = "the red cat sees a tree."
    show(page, other)
    assert page.input_value("#map-choice") == "encoder.2.self.2"
    found = model_of("pre").look(other).attention("encoder.2.self.2")
    name, weight = found.ranked(1)[0]
    shown = {"</s>": "end"}.get(name, name)
    assert page.inner_text("#finding") == f"{found.rows[1].text} attends to {shown}: {weight:.2f} · layer 2, head 2"
    assert page.evaluate("document.getElementById('positions').open")
    # Of two mounts at the same time, the later one stays.
    page.evaluate(
        "texts => Promise.all(texts.map(text => window.show({ text, target: null, without: null })))", [TEXT, other]
    )
    assert page.locator("#sentence").count() == 1
    assert page.locator("#sentence .line bdi").nth(1).inner_text() == "red"
    show(page, TEXT, ask=3)
    assert page.locator("#sentence").count() == 0
    page.click("text=Draw it")
    page.wait_for_selector("#sentence .arcs path")
    assert number(page.locator("#row-list .number").first.inner_text()) > 0
