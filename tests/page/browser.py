"""Opens pages in a real browser without a network."""

import json
from collections.abc import Callable
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


class OpenedPage:
    """An open page with its requests and its error messages."""

    def __init__(self, browser: Browser, path: Path, ready: str = "body[data-ready]", **options: Any) -> None:
        self.context = browser.new_context(offline=True, **options)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(300_000)  # the machine may be busy
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(ready)

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def choose(self, *, kind: str = "", address: str = "", units: str = "") -> None:
        """Choose a kind of attention, a map of this kind, and whether it shows words or tokens."""
        if kind and self.page.get_attribute(f'#kinds [value="{kind}"]', "aria-pressed") != "true":
            self._draws(lambda: self.page.click(f'#kinds [value="{kind}"]'))
        if address and self.page.input_value("#map-choice") != address:
            self._draws(lambda: self.page.select_option("#map-choice", address))
        if units and self.page.get_attribute(f'#units [value="{units}"]', "aria-pressed") != "true":
            self._draws(lambda: self.page.click(f'#units [value="{units}"]'))

    def cell(self, row: int, column: int) -> Position:
        geometry = json.loads(self.page.get_attribute("#map", "data-geometry") or "")
        half = geometry["cell"] / 2
        return {
            "x": geometry["left"] + geometry["cell"] * column + half,
            "y": geometry["top"] + geometry["cell"] * row + half,
        }

    def _draws(self, action: Callable[[], object]) -> None:
        """Do something and wait until the page has drawn the result."""
        drawn = self.page.get_attribute("body", "data-drawn")
        action()
        self.page.wait_for_function("before => document.body.dataset.drawn !== before", arg=drawn)


def unfold(opened: OpenedPage, *folds: str) -> None:
    """Open parts of the page, and all that is folded in them."""
    for fold in folds:
        opened.page.wait_for_selector(f"#{fold}")
        opened.page.evaluate("id => document.getElementById(id).open = true", fold)
        opened.page.wait_for_selector(f"#{fold} .fold > *")
        opened.page.evaluate("id => document.querySelectorAll(`#${id} details`).forEach(d => d.open = true)", fold)


def number(text: str) -> float:
    return float(text.replace("−", "-"))
