"""Opens the page of a running server in a browser, and checks that it asks no other server and prints no error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize

SIZES: dict[str, ViewportSize] = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}


@contextmanager
def open_page(
    browser: Browser, url: str, *, errors_of: tuple[int, ...] = (), offline: bool = False, **options: Any
) -> Iterator[Page]:
    """Open the page.

    `errors_of` are the statuses of answers for which the browser itself prints an error; it also prints one if it is
    `offline`.
    """
    context = browser.new_context(**{"viewport": SIZES["desk"], "locale": "en-US", **options})
    page = context.new_page()
    page.set_default_timeout(300_000)  # the machine may be busy
    errors: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{url}/")
    page.wait_for_selector("body[data-ready]")
    yield page
    context.close()
    expected = [
        *(f"status of {status} " for status in errors_of),
        *(["net::ERR_INTERNET_DISCONNECTED"] if offline else []),
    ]
    assert [each for each in errors if not any(known in each for known in expected)] == []
    assert all(each.startswith((f"{url}/", "blob:")) for each in requests), requests


def translate(page: Page, text: str) -> str:
    """Replace the text, and return its translation when it is there."""
    before = page.get_attribute("body", "data-translated")
    page.fill("#source", text)
    page.wait_for_selector(f'body[data-translated]:not([data-translated="{before}"])')
    return page.inner_text("#output")
