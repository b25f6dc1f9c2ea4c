"""Brings the page into each of its states. What the server would answer is answered here where a real server cannot be
made to do so at will: requests are intercepted.
"""

import json
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route
from tests.page.served_page import translate

LETTER = "Thank you for your letter.\nWe had a quiet week at the seaside.\nThe train was late, so I missed the film."
MORE = f"{LETTER}\nWe look forward to"


def refuse(page: Page, status: int, code: str, message: str = "refused", **headers: str) -> None:
    """Let the server refuse all further translations."""
    body = json.dumps({"error": {"code": code, "message": message}})
    kind = "application/json"
    page.route(
        "**/v1/translate", lambda route: route.fulfill(status=status, headers=headers, body=body, content_type=kind)
    )


def ignore(route: Route) -> None:
    """Leave a request without an answer."""


def empty(page: Page) -> None:
    page.wait_for_selector(".examples:visible")


def typing(page: Page) -> None:
    translate(page, LETTER)
    page.route("**/v1/translate", ignore)
    page.fill("#source", MORE)
    page.wait_for_selector(".progress:visible")


def slow(page: Page) -> None:
    typing(page)
    page.wait_for_selector("#strip[data-kind=slow]")


def overloaded(page: Page) -> None:
    translate(page, LETTER)
    refuse(page, 429, "queue_full", **{"Retry-After": "60"})
    page.fill("#source", MORE)
    page.wait_for_selector("#strip[data-kind=overloaded] .ring")


def failing(page: Page) -> None:
    translate(page, LETTER)
    refuse(page, 500, "internal_error", "The server encountered an internal error.")
    page.fill("#source", MORE)
    page.wait_for_selector("#strip[data-kind=failing]")


def offline(page: Page) -> None:
    translate(page, LETTER)
    page.context.set_offline(True)
    page.fill("#source", MORE)
    page.wait_for_selector("#strip[data-kind=offline]")


def too_long(page: Page) -> None:
    translate(page, LETTER)
    page.fill("#source", "The train was late, so I missed the film. " * 125)
    page.wait_for_selector("#strip[data-kind=long]")


def draining(page: Page) -> None:
    translate(page, LETTER)
    refuse(page, 503, "draining", **{"Retry-After": "5"})
    page.fill("#source", MORE)
    page.wait_for_selector("#strip[data-kind=draining]")


def no_pair(page: Page) -> None:
    translate(page, LETTER)
    refuse(page, 404, "unknown_pair")
    page.fill("#source", MORE)
    page.wait_for_selector("#strip[data-kind=pair]")


def helper_starting(page: Page) -> None:
    translate(page, LETTER)
    page.route("**/v1/alternatives", ignore)
    page.click("#output .w >> nth=9")
    page.wait_for_selector("#other-words >> text=The first time")


STATES: dict[str, Callable[[Page], None]] = {
    "empty": empty,
    "typing": typing,
    "slow": slow,
    "overloaded": overloaded,
    "failing": failing,
    "offline": offline,
    "too-long": too_long,
    "draining": draining,
    "no-pair": no_pair,
    "helper-starting": helper_starting,
}

STATUSES: dict[str, tuple[Any, ...]] = {"overloaded": (429,), "failing": (500,), "draining": (503,), "no-pair": (404,)}
