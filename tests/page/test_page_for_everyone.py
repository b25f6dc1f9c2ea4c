"""The page with the keyboard alone, in French, at 200 % zoom, in forced colours, with other scripts and long words;
also what it loads, what it keeps in memory, and what it does with files and keys.
"""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request
from tests.page.page_states import LETTER, ignore
from tests.page.served_page import SIZES, open_page, translate
from tests.page.test_translate_page import axe, echo
from tests.server.running import RunningServer

pytestmark = pytest.mark.slow

MIXED = "שלום עולם, this is a test.\nمرحبا بالعالم.\n👩\u200d🔬🇫🇷 中文字符。\n" + "Donaudampfschifffahrt" * 12


def tab_to(page: Page, selector: str) -> None:
    """Press the tabulator key until an element has the focus."""
    for _ in range(40):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the tabulator key does not reach {selector}")


def test_another_word_is_chosen_with_the_keyboard_alone(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url) as page:
        page.keyboard.insert_text(LETTER)
        page.wait_for_selector("body[data-translated]")
        before = page.inner_text("#output")
        tab_to(page, "#output .w")
        # One word is in the order of the tabulator key, and the arrow keys go to the others.
        assert page.locator("#output .w[tabindex='0']").count() == 1
        page.keyboard.press("End")
        assert page.evaluate("document.activeElement.textContent") == before.split()[-1]
        page.keyboard.press("Home")
        for _ in range(8):
            page.keyboard.press("ArrowRight")
        word = page.evaluate("document.activeElement.textContent")
        assert word == before.split()[8] and page.locator(".back .lit").count() > 0
        page.keyboard.press("Enter")
        page.wait_for_selector(".option[aria-current]")
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.textContent") == word
        page.keyboard.press("Enter")
        page.wait_for_selector(".option[aria-current]:focus")
        page.keyboard.press("ArrowDown")
        chosen = page.evaluate("document.activeElement.querySelector('.option-word').textContent")
        page.keyboard.press("Enter")
        after = page.inner_text("#output")
        assert after.split()[:8] == before.split()[:8] and after.split()[8] == chosen != word


def test_screen_readers_hear_the_result(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url) as page:
        page.evaluate(
            """() => { window.said = []; const region = document.getElementById("status");
            const hear = () => said.push(region.textContent);
            new MutationObserver(hear).observe(region, { childList: true, characterData: true, subtree: true }); }"""
        )
        for text in ("I am", "I am tired", "I am tired today."):
            page.fill("#source", text)
        page.wait_for_selector("#status >> text=French, 4 words")
        said = page.evaluate("said")
        assert len(set(said)) == len(said) <= 3 and said[-1] == "French, 4 words"
        assert page.get_attribute("#output", "aria-live") is None
        assert (page.get_attribute("#output", "lang"), page.get_attribute("#source", "lang")) == ("fr", "en")


def test_the_interface_is_in_french(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url, locale="fr-FR") as page:
        assert page.get_attribute("html", "lang") == "fr"
        assert page.inner_text("#open-file") == "Ouvrir un fichier"
        assert translate(page, "Je suis fatigué.").startswith("I")
        axe(page)
        page.select_option("#ui-language", "en")
        page.wait_for_selector("#open-file:has-text('Open a file')")
        # The text and its translation stay, and the browser remembers the choice.
        page.wait_for_selector("#output .w")
        assert page.input_value("#source") == "Je suis fatigué."
        page.reload()
        page.wait_for_selector("#open-file:has-text('Open a file')")
        page.wait_for_selector("#output .w")
        assert page.input_value("#source") == "Je suis fatigué."


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_with_everything_open(browser: Browser, server: RunningServer, scheme: Any, size: str) -> None:
    with open_page(browser, server.url, viewport=SIZES[size], color_scheme=scheme) as page:
        translate(page, f"{LETTER}\nxyzzy 42")
        page.wait_for_selector(".wording")
        axe(page)
        page.click("#models > summary")
        page.click(".model-card summary >> nth=0")
        axe(page)
        page.click("#output .w >> nth=1")
        page.wait_for_selector(".option")
        axe(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("width", [1280, 640, 390, 320])  # 640: 1280 at 200 % zoom
def test_other_scripts_and_long_words_fit(browser: Browser, server: RunningServer, width: int) -> None:
    size: Any = {"width": width, "height": 700}
    with open_page(browser, server.url, viewport=size) as page:
        page.route("**/v1/translate", lambda route: route.fulfill(json=echo(route.request.post_data_json)))
        assert translate(page, MIXED) == MIXED
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        tops = page.evaluate(
            """() => [".back", "#source"].map(each => document.querySelector(each).getBoundingClientRect())
            .map(({ top, width }) => [top, width])"""
        )
        assert tops[0] == tops[1]  # the marks lie behind their words
        axe(page)


@pytest.mark.parametrize("options", [{"forced_colors": "active"}, {"reduced_motion": "reduce"}])
def test_forced_colours_and_reduced_motion(browser: Browser, server: RunningServer, options: Any) -> None:
    with open_page(browser, server.url, **options) as page:
        translate(page, LETTER)
        page.hover("#output .w >> nth=3")
        if "forced_colors" in options:
            assert page.evaluate("getComputedStyle(document.querySelector('.lit')).outlineStyle") == "solid"
        page.route("**/v1/translate", ignore)
        page.fill("#source", f"{LETTER}\nMore")
        page.wait_for_selector(".progress:visible")
        name = page.evaluate("getComputedStyle(document.querySelector('.progress i')).animationName")
        assert name == ("none" if "reduced_motion" in options else "progress")
        axe(page)


def test_the_first_paint_transfers_less_than_100_kilobytes(browser: Browser, server: RunningServer) -> None:
    requests: list[Request] = []
    with open_page(browser, server.url) as page:
        page.on("requestfinished", lambda request: requests.append(request))
        page.reload()
        page.wait_for_selector("body[data-ready]")
        translate(page, LETTER)
        page.wait_for_selector(".wording")
        sizes = {request.url: sum_of(request.sizes()) for request in requests}
    assert not any("inside.js" in url for url in sizes)
    files = [each for each in sizes if "/static/" in each]
    transferred = sum(
        len(gzip.compress(server.get(f"/static/{url.partition('/static/')[2]}").content)) for url in files
    )
    assert len(files) > 10 and transferred < 60_000
    assert sum(sizes.values()) < 100_000, sizes


def sum_of(sizes: Any) -> int:
    return int(sizes["responseBodySize"] + sizes["responseHeadersSize"])


def test_memory_is_flat_over_1000_translations(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url) as page:
        page.route("**/v1/translate", lambda route: route.fulfill(json=echo(route.request.post_data_json)))
        page.route("**/v1/detect", lambda route: route.fulfill(json={"detections": [[]]}))
        session = page.context.new_cdp_session(page)
        used = []
        for number in range(1600):
            translate(page, f"Sentence {number} of a long text with some words in it.")
            if number in (599, 1599):
                session.send("HeapProfiler.collectGarbage")
                used.append(session.send("Runtime.getHeapUsage")["usedSize"])
                used.append(page.evaluate("document.querySelectorAll('*').length"))
        assert used[2] < 1.1 * used[0] and used[3] <= used[1] + 5, used


def test_typing_is_never_blocked(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url) as page:
        page.route("**/v1/*", ignore)  # a server that does not answer at all
        page.type("#source", LETTER)
        assert page.input_value("#source") == LETTER
        assert page.locator("#source[disabled], #source[readonly]").count() == 0


def test_files_are_opened_dropped_and_translated(browser: Browser, server: RunningServer, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("I am tired.\n", "utf-8")
    (tmp_path / "page.html").write_text("<p>I am <b>tired</b>.</p>", "utf-8")
    (tmp_path / "long.txt").write_text("I am tired.\n" * 500, "utf-8")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    with open_page(browser, server.url) as page:
        page.set_input_files("input[type=file]", tmp_path / "note.txt")
        page.wait_for_selector("#output >> text=fatigué")
        for name in ("page.html", "long.txt"):
            page.set_input_files("input[type=file]", tmp_path / name)
            with page.expect_download() as download:
                page.click("#strip a[download]")
            stem, _, suffix = name.partition(".")
            assert download.value.suggested_filename == f"{stem}_fr.{suffix}"
            translated = Path(download.value.path()).read_text("utf-8")
            assert "fatigué" in translated and translated.count("<b>") == (name == "page.html")
        page.set_input_files("input[type=file]", tmp_path / "photo.png")
        page.wait_for_selector("#strip >> text=photo.png cannot be translated.")
        axe(page)
        drop = """() => { const data = new DataTransfer(); data.items.add(new File(["Where is the cat?"], "a.txt"));
            const event = new DragEvent("drop", { dataTransfer: data, bubbles: true });
            document.querySelector(".translator").dispatchEvent(event); }"""
        page.evaluate(drop)
        page.wait_for_selector("#output >> text=chat")


def test_a_key_is_asked_for_and_kept_in_the_tab(
    browser: Browser, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    from regard.server.keys import add_key

    key = add_key(tmp_path / "keys.toml", "reader", {})
    server = RunningServer.start("--model", make_model(max_positions=2048), "--keys", tmp_path / "keys.toml")
    try:
        with open_page(browser, server.url, errors_of=(401, 403)) as page:
            page.fill("#source", "the cat")
            page.wait_for_selector("#strip[data-kind=key]")
            axe(page)
            page.fill(".key-field", "wrong")
            page.click("text=Use this key")
            page.wait_for_selector("#strip[data-kind='key.wrong']")
            page.fill(".key-field", key)
            page.keyboard.press("Enter")
            page.wait_for_selector("#output .w")
            assert key not in page.url
            page.reload()
            page.wait_for_selector("#output .w")
    finally:
        server.end()


def test_a_slow_server_that_limits_requests_is_waited_for(browser: Browser, make_model: Callable[..., Path]) -> None:
    """The server itself says when to try again, and the page does so."""
    limit = ("--set", "serve.requests_per_minute=30")
    server = RunningServer.start("--model", make_model(max_positions=2048), *limit)
    try:
        with open_page(browser, server.url, errors_of=(429,)) as page:
            for number in range(40):
                page.fill("#source", f"the cat sees a house {number}")
                page.wait_for_timeout(250)
                if page.locator("#strip[data-kind=overloaded] .ring").is_visible():
                    break
            page.wait_for_selector("#strip[data-kind=overloaded] .ring")
            page.wait_for_selector("#strip", state="hidden")
            assert page.inner_text("#output").strip()
    finally:
        server.end()
