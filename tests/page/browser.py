"""Pages in a real browser with the network cut."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Position

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Opened:
    """A page that is open, and what it asked for and complained of."""

    def __init__(self, browser: Browser, path: Path, ready: str = "body[data-ready]", **options: Any) -> None:
        self.context = browser.new_context(offline=True, **options)
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(ready, timeout=60_000)

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def choose(self, **choices: str) -> None:
        for name, value in choices.items():
            drawn = self.page.get_attribute("body", "data-drawn")
            if self.page.input_value(f"#{name}") != value:
                self.page.select_option(f"#{name}", value)
                self.page.wait_for_function("before => document.body.dataset.drawn !== before", arg=drawn)

    def cell(self, row: int, column: int) -> Position:
        place = json.loads(self.page.get_attribute("#map", "data-geometry") or "")
        half = place["cell"] / 2
        return {
            "x": place["left"] + place["cell"] * column + half,
            "y": place["top"] + place["cell"] * row + half,
        }
