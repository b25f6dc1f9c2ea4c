"""Every state of the page: what it says, that nothing is lost, and that it is accessible in both themes and widths."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.page.page_states import LETTER, MORE, STATES, STATUSES
from tests.page.served_page import SIZES, open_page, translate
from tests.page.test_translate_page import axe
from tests.server.running import RunningServer

pytestmark = pytest.mark.slow

# What the strip or the box says.
SAYS = {
    "slow": "This takes longer than usual. Your text is kept",
    "overloaded": "Many people are translating right now. Your text is kept. Trying again in",
    "failing": "The server says: The server encountered an internal error.",
    "offline": "No connection. Your text is kept.",
    "too-long": "characters too many. Nothing was cut",
    "draining": "The server is restarting. Your text is kept.",
    "no-pair": "No model here translates from English to French.",
    "helper-starting": "The first time, the server needs some seconds",
}


@contextmanager
def in_state(browser: Browser, server: RunningServer, name: str, **options: Any) -> Iterator[Page]:
    with open_page(browser, server.url, errors_of=STATUSES.get(name, ()), offline=name == "offline", **options) as page:
        STATES[name](page)
        yield page
        page.context.set_offline(False)


@pytest.mark.parametrize("name", STATES)
def test_each_state_says_what_is_kept_and_keeps_it(browser: Browser, server: RunningServer, name: str) -> None:
    with in_state(browser, server, name) as page:
        if name in SAYS:
            box = "#other-words" if name == "helper-starting" else "#strip"
            assert SAYS[name] in page.inner_text(box)
            assert page.locator(box).bounding_box()["y"] < SIZES["desk"]["height"]  # type: ignore[index]
        if name == "empty":
            assert page.locator(".example").count() == 3
            return
        text = page.input_value("#source")
        assert text.startswith(LETTER) or name == "too-long"
        shown = page.inner_text("#output")
        assert shown.count("\n") == 2 and shown.startswith("Merci"), shown  # the last translation is still there
        if name == "too-long":
            assert page.locator(".back .over").text_content() == text[5000:]
            assert page.inner_text("#source-count").startswith("250 over")
        if name not in ("typing", "slow", "helper-starting"):
            assert str(page.text_content("#alert")) in page.inner_text("#strip")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", STATES)
def test_axe_finds_no_violation_in_any_state(
    browser: Browser, server: RunningServer, name: str, scheme: str, size: str, tmp_path: Path
) -> None:
    with in_state(browser, server, name, viewport=SIZES[size], color_scheme=scheme) as page:
        axe(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert len(page.screenshot(path=tmp_path / "state.png")) > 10_000


def test_translation_resumes_by_itself(browser: Browser, server: RunningServer) -> None:
    for name in ("offline", "overloaded", "draining"):
        with in_state(browser, server, name) as page:
            page.unroute_all()
            page.context.set_offline(False)
            if name == "overloaded":  # after a minute, or at once if the reader writes on
                page.press("#source", "End")
                page.type("#source", " you.")
            page.wait_for_selector("#strip", state="hidden")
            assert page.inner_text("#output").count("\n") == 3


def test_a_text_that_is_too_long_is_translated_up_to_the_mark(browser: Browser, server: RunningServer) -> None:
    with in_state(browser, server, "too-long") as page:
        page.click("text=Translate up to the mark")
        page.wait_for_selector("#output >> text=train")
        assert len(page.input_value("#source")) == 5250
        page.fill("#source", MORE)
        page.wait_for_selector("#output >> text=Merci")
        assert page.locator(".back .over").count() == 0


def test_the_requests_of_a_slow_server_can_be_cancelled(browser: Browser, server: RunningServer) -> None:
    with in_state(browser, server, "slow") as page:
        page.click("#strip >> text=Cancel")
        page.wait_for_selector("#strip[data-kind=stopped]")
        page.unroute_all()
        page.click("#strip >> text=Try now")
        page.wait_for_selector("#strip", state="hidden")
        assert translate(page, "I am tired.").startswith("Je suis")
