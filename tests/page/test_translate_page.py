"""The page at "/" on a server of the bundled models: the main path, and texts that try to be more than text."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from tests.page.served_page import SIZES, open_page, translate
from tests.server.running import RunningServer

LINES = ["Thank you for your letter.", "The train was late, so I missed the beginning of the film."]

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "</script><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)} {0} {word}",
    "&lt;b&gt; &amp; &#60;i&#62; <!-- -->",
    "<style>*{display:none}</style>",
    "__proto__ constructor toString",
    "\u202eevil\u202c \u2066isolate\u2069 \u200b\u200d\ufeff",
    "שלום עולם",
    "👩\u200d🔬 e\u0301 🇫🇷 中文 \U0001d54f",
    "a" * 300,
    "\x07\x1b[31mred\x00",
    "' OR 1=1 --",
    "../../etc/passwd %2e%2e %00 \\\\server\\share",
    "http://example.org/?q=<b> mailto:a@example.org",
    "- list\n1. one\n```\n<code>\n```",
]


def axe(page: Page) -> None:
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def hostile_strings(count: int) -> list[str]:
    """Return strings that are made of hostile parts, each on a line of its own or within words."""
    chance = random.Random(1)
    made = [part for part in HOSTILE if "\n" not in part]
    while len(made) < count:
        parts = chance.sample(HOSTILE, 2)
        made.append(
            chance.choice(["I see ", "", '"', "<"]) + " ".join(parts).replace("\n", " ") + chance.choice([".", ""])
        )
    return made


def test_a_letter_is_translated_and_one_word_replaced(browser: Browser, server: RunningServer) -> None:
    expected = [server.translate(line).json()["translatedText"] for line in LINES]
    with open_page(browser, server.url) as page:
        assert page.evaluate("document.activeElement.id") == "source"
        assert translate(page, "\n".join(LINES)) == "\n".join(expected)
        assert page.locator("#source-language option:checked").inner_text() == "English (detected)"
        assert "letter" not in page.url
        # Words that belong together are marked together, in both directions.
        page.hover("#output .w >> text=lettre.")
        assert page.locator(".back .lit").all_inner_texts() == ["letter."]
        page.hover(".back [data-word] >> nth=4", force=True)
        assert page.locator("#output .lit").all_inner_texts() == ["lettre."]
        # Another word is chosen, and the rest follows.
        words = {"text": LINES[1], "target": "fr", "source": "en", "translation": expected[1], "word": 7, "count": 6}
        alternatives = server.post("/v1/alternatives", json=words).json()["alternatives"]
        page.locator("#output .output-sentence").nth(1).locator(".w").nth(7).click()
        page.wait_for_selector(".option")
        assert page.locator(".option-word").all_inner_texts() == [each["word"] for each in alternatives]
        other = next(each for each in alternatives if each["text"] != expected[1])
        page.locator(".option", has_text=other["word"]).first.click()
        assert page.inner_text("#output") == f"{expected[0]}\n{other['text']}"
        unsure = [word["text"] for word in other["words"] if word["probability"] < 0.3]
        assert page.locator("#output .output-sentence >> nth=1").locator(".unsure").all_inner_texts() == unsure
        # The first translation is in the list of others, and brings the sentence back.
        page.wait_for_selector(".wording")
        page.locator(".wording", has_text=expected[1]).click()
        assert page.inner_text("#output") == "\n".join(expected)
        axe(page)
        page.click("#swap")
        page.wait_for_selector("#output[lang=en]")
        assert page.input_value("#source") == "\n".join(expected)


def test_hostile_text_is_shown_as_text(browser: Browser, make_model: Callable[..., Path]) -> None:
    """A tiny model writes nonsense, but fast: what matters is that every text is drawn as text, on both sides."""
    strings = hostile_strings(500)
    server = RunningServer.start("--model", make_model(max_positions=2048))
    try:
        with open_page(browser, server.url) as page:
            for first in range(0, len(strings), 50):
                text = "\n".join(strings[first : first + 50])[:5000].replace("\x00", "")
                translate(page, text)
                assert page.input_value("#source") == text
                assert page.locator(".back").text_content() == f"{text}\u200b"
                assert page.locator("#output *:not(span), .back *:not(span)").count() == 0
                assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            # What the server answers is drawn as text, too.
            page.route("**/v1/translate", lambda route: route.fulfill(json=echo(route.request.post_data_json)))
            text = "\n".join(f"Echo {each}" for each in HOSTILE[:5])
            assert translate(page, text) == text
            assert page.locator("#output *:not(span)").count() == 0
            page.wait_for_selector(".wording")
            assert page.locator("#wordings img, #wordings script, #wordings svg[onload]").count() == 0
            page.set_viewport_size(SIZES["phone"])
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        server.end()


def echo(request: Any) -> dict[str, Any]:
    """Return each text as its own translation, and one that is not."""
    texts = request["text"] if isinstance(request["text"], list) else [request["text"]]
    other = [{"text": f"{HOSTILE[3]} {HOSTILE[1]}", "log_probability": -9.0, "score": -3.0, "words": []}]
    return {
        "translations": [
            {"text": text, "log_probability": -1.0, "words": [], "alternatives": other, "warnings": []}
            for text in texts
        ]
    }
