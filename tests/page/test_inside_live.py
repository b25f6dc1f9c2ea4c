"""Inside on the page of a real server: what it shows is what the server computes, in every state, for everyone."""

import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from tests.interpret.recurrent_models import recurrent_model
from tests.page.browser import OpenedPage, number
from tests.page.served_page import SIZES, open_page, translate
from tests.server.running import RunningServer

from regard.model_folder.writer import save_folder

TIRED, WIDE = (f"The animal didn't cross the street because it was too {word}." for word in ("tired", "wide"))
FORTY = "I am tired. " * 14


def ask(server: RunningServer, text: str, **fields: Any) -> Any:
    """Return what the server answers to a request of the page."""
    body = {"text": text, "source": "en", "target": "fr", "parts": ["facts"], **fields}
    answer = server.post("/v1/look", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def open_inside(page: Page, text: str) -> str:
    """Translate a text and open Inside; return the translation."""
    translation = translate(page, text)
    page.click("#open-inside")
    page.wait_for_selector("#sentence .arcs path")
    return translation


def without_break(text: str) -> str:
    return text.replace("\n", " ")


def check_page(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_head_is_removed_and_forced_and_a_link_restores_the_view(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url, permissions=["clipboard-read", "clipboard-write"]) as page:
        translation = open_inside(page, WIDE)
        opening = ask(server, WIDE, translation=translation, parts=["opening"])["opening"]
        assert page.input_value("#map-choice") == opening["address"]
        assert page.inner_text("#finding").startswith("wide attends to street: 1.00")
        # Without the head, the translation and its probabilities are those that the server computes.
        page.click("#remove")
        page.wait_for_selector("#removal")
        removed = ask(server, WIDE, without=opening["address"])
        lines = page.locator(".with-without dd").all_inner_texts()
        assert lines == [translation, removed["facts"]["texts"]["target"]] and lines[0] != lines[1]
        assert page.inner_text("#finding").startswith("Without this head, elle becomes il")
        after = removed["facts"]["changed"]["probabilities"]
        before = [step["probability"] for step in removed["original"]["facts"]["steps"]]
        at = max(range(len(after)), key=lambda step: abs(after[step] - before[step]))
        shown = [number(text) for text in page.locator(".pairs .value").all_inner_texts()[:2]]
        assert shown == pytest.approx([before[at], after[at]], abs=0.006)
        page.wait_for_selector(".baseline")
        assert "Without each of the 59 others" in page.inner_text("#removal")
        # A word can be made to look only at another one.
        page.click("#remove")
        page.wait_for_selector("#remove[aria-pressed=false]")
        page.select_option("#change-head", label="animal")
        page.wait_for_selector("#removal")
        assert page.inner_text("#finding").startswith("If wide looks only at animal here, elle becomes il")
        forced = ask(server, WIDE, without=opening["address"], instead="14:2")
        assert page.locator(".with-without dd").nth(1).inner_text() == forced["facts"]["texts"]["target"]
        page.click("#copy-link")
        page.wait_for_selector(".look-said:not(:empty)")
        link, finding = page.url, page.inner_text("#finding")
        assert page.evaluate("navigator.clipboard.readText()") == link and link.partition("#")[0] == f"{server.url}/"
    with open_page(browser, server.url) as page:
        page.goto("about:blank")
        page.goto(link)
        page.wait_for_selector("#removal")
        assert page.inner_text("#finding") == finding
        assert page.input_value("#source") == WIDE


@pytest.mark.slow
def test_two_sentences_side_by_side(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url) as page:
        open_inside(page, TIRED)
        assert page.inner_text("#finding").startswith("tired attends to animal: 1.00")
        page.click("#compare-pair")
        page.wait_for_selector("#comparison-finding")
        assert page.inner_text("#comparison-finding").startswith("il becomes elle, fatigué becomes large")
        marked = [
            page.locator(f"#comparison .sentence >> nth={i}").locator(".mark bdi").all_inner_texts() for i in (0, 1)
        ]
        assert marked == [["tired"], ["wide"]]
        # The heads that move most, and what each does to the word that differs.
        page.wait_for_selector("#comparison ~ * th >> text=elle")
        answer = ask(server, WIDE, parts=["facts", "effects"])
        own = page.locator("table.wide tr.chosen").inner_text()
        assert own.endswith("≠") and "layer 4, head 4" in own
        assert answer["facts"]["texts"]["target"] in without_break(page.inner_text("#comparison"))
        assert "Moving most is not the same as mattering most." in page.inner_text(".comparison")
        check_page(page)


@pytest.mark.slow
def test_the_view_is_saved_as_one_file(browser: Browser, server: RunningServer, tmp_path: Path) -> None:
    with open_page(browser, server.url, accept_downloads=True) as page:
        open_inside(page, WIDE)
        page.locator("#sentence .line button").nth(7).click()
        page.click('.tile[title="encoder.4.self.2"]')
        page.wait_for_function("document.getElementById('map-title').textContent.startsWith('Layer 4, head 2')")
        finding = page.inner_text("#finding")
        with page.expect_download() as download:
            page.click("#save-page")
        assert re.fullmatch(r"regard-The-animal[\w-]*\.html", download.value.suggested_filename)
        download.value.save_as(tmp_path / "saved.html")
    opened = OpenedPage(browser, tmp_path / "saved.html")
    assert opened.text("#finding") == finding
    opened.page.wait_for_selector("#arithmetic table")
    opened.context.close()
    assert opened.errors == [] and len(opened.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_the_tour_has_seven_steps_for_everyone(browser: Browser, server: RunningServer, size: str, scheme: str) -> None:
    look: Any = {"viewport": SIZES[size], "color_scheme": scheme, "reduced_motion": "reduce"}
    with open_page(browser, server.url, **look) as page:
        page.focus("#start-tour")
        page.keyboard.press("Enter")
        texts = []
        for step in range(7):
            page.wait_for_selector(f".pips[aria-label='Step {step + 1} of 7']")
            assert page.locator(".pointed").count() == 1
            texts.append(page.inner_text("#coach-text"))
            if step in (0, 4):
                check_page(page)
            page.keyboard.press("Enter")
        assert page.locator("#coach").count() == 0
        assert page.evaluate("document.activeElement.id") == "start-tour"
        assert page.input_value("#source") == TIRED
        finding = re.match(r"it attends to animal: (\d\.\d\d) · layer", without_break(page.inner_text("#finding")))
        assert finding and f"gives {finding[1]} of its attention to animal." in texts[0]
        assert f"animal gets {finding[1]}" in texts[2]
        steps = ask(server, TIRED)["facts"]["steps"]
        assert f"written in {len(steps)} steps" in texts[6]
        page.click("#start-tour")
        page.wait_for_selector("#coach")
        page.keyboard.press("Escape")
        assert page.locator("#coach").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_in_any_part(browser: Browser, server: RunningServer, size: str, scheme: str) -> None:
    with open_page(browser, server.url, viewport=SIZES[size], color_scheme=scheme) as page:
        open_inside(page, WIDE)
        for part in ("arithmetic", "positions", "model", "beams"):
            page.evaluate("id => { document.getElementById(id).open = true; }", part)
        for found in ("#arithmetic table", "#positions canvas", "#model .stage-row", "#beams .tree"):
            page.wait_for_selector(found)
        check_page(page)
        page.select_option("#change-head", "uniform")
        page.wait_for_selector("#removal")
        assert page.inner_text("#finding").startswith("If it spreads its attention evenly, ")
        check_page(page)


@pytest.mark.slow
def test_more_than_forty_tokens_are_drawn_on_demand(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url) as page:
        translate(page, FORTY.replace(".", ",").strip(", ") + ".")
        page.click("#open-inside")
        page.wait_for_selector(".on-demand")
        assert page.locator("#sentence").count() == 0
        check_page(page)
        page.click(".on-demand button")
        page.wait_for_selector("#sentence .arcs path")


# The states of the process that looks inside.


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RunningServer]:
    running = RunningServer.start("--model", "en-fr", "--set", "serve.deadline=120")
    yield running
    running.end()


def helper_of(server: RunningServer) -> psutil.Process | None:
    children = psutil.Process(server.process.pid).children(recursive=True)
    return next((each for each in children if "regard.server.helper_process" in each.cmdline()), None)


@pytest.mark.slow
def test_a_process_that_starts_is_busy_or_ends_is_a_state_of_the_page(browser: Browser, own: RunningServer) -> None:
    with open_page(browser, own.url, errors_of=(429, 503)) as page:
        translate(page, TIRED)
        page.click("#open-inside")
        page.wait_for_selector(".look-waiting >> text=Starting the part of the server that looks inside.")
        check_page(page)
        page.wait_for_selector("#sentence .arcs path")
        assert not page.is_visible(".look-waiting")
        # The process is killed, and looked for again.
        killed = helper_of(own)
        assert killed
        os.kill(killed.pid, signal.SIGSTOP)  # so that the request has begun when the process ends
        page.click("#remove")
        page.wait_for_selector(".look-waiting:not([hidden])")
        os.kill(killed.pid, signal.SIGKILL)
        page.wait_for_selector("#look-strip[data-kind=ended]")
        assert "The part of the server that looks inside has stopped." in page.inner_text("#look-strip")
        assert page.inner_text("#finding").startswith("tired attends to animal")
        check_page(page)
        page.wait_for_selector("#removal")  # it tries again by itself
        assert not page.is_visible("#look-strip")
        # More requests than the process takes.
        stopped = helper_of(own)
        assert stopped
        os.kill(stopped.pid, signal.SIGSTOP)
        with ThreadPoolExecutor(8) as many:
            for i in range(8):
                many.submit(ask, own, f"The cat sees {i} houses.")
            while own.get("/v1/look").json()["waiting"] < 8:
                pass
            page.click("#remove")
            page.wait_for_selector("#look-strip[data-kind=busy]")
            assert re.search(r"Trying again in \d+ seconds?\.", page.inner_text("#look-strip"))
            check_page(page)
            os.kill(stopped.pid, signal.SIGCONT)
        page.wait_for_selector("#remove[aria-pressed=false]")


@pytest.mark.slow
def test_without_a_connection_the_drawing_stays_and_the_page_tries_again(
    browser: Browser, server: RunningServer
) -> None:
    with open_page(browser, server.url, errors_of=(503,)) as page:
        open_inside(page, WIDE)
        page.evaluate("() => { window.before = fetch; window.fetch = () => Promise.reject(new TypeError('offline')); }")
        page.click("#remove")
        page.wait_for_selector("#look-strip[data-kind=offline]")
        assert "What was drawn before stays." in page.inner_text("#look-strip")
        check_page(page)
        page.evaluate("() => { window.fetch = window.before; }")
        page.click("#look-strip button")
        page.wait_for_selector("#removal")


# Models of other kinds.


@pytest.mark.slow
@pytest.mark.parametrize(("attention", "sentence"), [("additive", 1), ("none", 0)])
def test_a_recurrent_model_shows_what_it_has(browser: Browser, tmp_path: Path, attention: str, sentence: int) -> None:
    model = recurrent_model("lstm", attention)
    weights, shape = model.network.state_dict(), model.network.settings
    save_folder(tmp_path, settings=shape, weights=weights, tokenizer=model.tokenizer, languages=("en", "fr"), card="")
    running = RunningServer.start("--model", tmp_path)
    try:
        # What the random model without attention writes cannot be given to it again, so the page asks for its own.
        with open_page(browser, running.url, viewport=SIZES["phone"], errors_of=(422,)) as page:
            translate(page, "the old cat sees a tree.")
            page.click("#open-inside")
            page.wait_for_selector("#state-step table")
            assert page.locator("#sentence").count() == sentence
            assert page.locator("#no-attention").count() == 1 - sentence
            assert page.locator("#all-heads:visible").count() == 0
            check_page(page)
    finally:
        running.end()
