"""The page at "/" on a server of the bundled models: a text is translated while it is typed."""

from playwright.sync_api import Browser
from tests.page.served_page import open_page, translate
from tests.server.running import RunningServer


def test_a_text_is_translated_while_it_is_typed(browser: Browser, server: RunningServer) -> None:
    with open_page(browser, server.url) as page:
        lines = ["Thank you for your letter.", "I am tired."]
        expected = "\n".join(server.translate(line).json()["translatedText"] for line in lines)
        assert translate(page, "\n".join(lines)) == expected
        assert page.locator("#source-language option:checked").inner_text() == "English (detected)"
        assert "s=" not in page.url and "letter" not in page.url
        # Words that belong together are marked together.
        page.hover("#output .w >> text=lettre.")
        assert page.locator(".back .lit").all_inner_texts() == ["letter."]
        page.click("#swap")
        page.wait_for_selector("#output[lang=en]")
        assert page.input_value("#source") == expected
