"""One line of JSON for each request, and its metrics and headers.

The line has the route, not the path, and the name of the key, not the key. It never has a text, a query, a key, a file
name or an address.
"""

import contextvars
import json
import logging
import re
import secrets
import time
import traceback
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.server.metrics import Metrics
from regard.server.proxies import path_of
from regard.server.route_table import RouteTable
from regard.server.routes.error_answers import error_answer, family_of

_logger = logging.getLogger("regard.server.requests")

_REQUEST_ID = re.compile(r"[\w-]{1,64}", re.ASCII)

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_UNLOGGED = ("/health", "/livez", "/readyz", "/healthz")  # asked every few seconds by supervisors

_SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
_NO_PAGE = "default-src 'none'; frame-ancestors 'none'"
_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@dataclass
class RequestFacts:
    """What the server learns about a request while it answers it."""

    wait: float = 0.0
    characters: int = 0
    tokens: int = 0
    model: str | None = None
    pair: str | None = None
    key: str | None = None


facts: contextvars.ContextVar[RequestFacts | None] = contextvars.ContextVar("facts", default=None)


class RequestLog:
    """The outermost part of the application: identifies, times, counts and logs requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: RouteTable) -> None:
        self._app, self._metrics = app, metrics
        self.routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        given = Headers(scope=scope).get("x-request-id", "")
        request_id = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        known, status = RequestFacts(), 0
        facts.set(known)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(MutableHeaders(scope=message), request_id, is_deepl=_is_deepl(scope))
            await send(message)

        self._metrics.http_in_flight.inc()
        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            # The message of the error is not logged, because it may quote a text.
            where = traceback.extract_tb(error.__traceback__)[-1]
            _logger.error("request %s: %s in %s:%s", request_id, type(error).__name__, where.filename, where.lineno)
            if not status:
                await error_answer(family_of(path_of(scope)), error)(scope, receive, send_with_headers)
        finally:
            self._metrics.http_in_flight.dec()
            self._finish(scope, status, time.perf_counter() - began, request_id, known)

    def _finish(self, scope: Scope, status: int, seconds: float, request_id: str, known: RequestFacts) -> None:
        route = self.routes.find(path_of(scope))
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.http_requests.labels(route, method, str(status or 499)).inc()
        self._metrics.http_duration.labels(route).observe(seconds)
        if route in _UNLOGGED:
            return
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "request_id": request_id,
            "route": route,
            "method": method,
            "status": status or 499,  # 499: the client closed the connection before it got an answer
            "ms": round(1000 * seconds, 1),
            "wait_ms": round(1000 * known.wait, 1),
            "characters": known.characters,
            "tokens": known.tokens,
            "model": known.model,
            "pair": known.pair,
            "key": known.key,
        }
        _logger.info(json.dumps(line))


def _add_headers(headers: MutableHeaders, request_id: str, *, is_deepl: bool) -> None:
    headers["X-Request-ID"] = request_id
    if is_deepl:
        headers["X-Trace-ID"] = request_id
    for name, value in _SECURITY_HEADERS.items():
        headers.setdefault(name, value)
    is_page = headers.get("content-type", "").startswith("text/html")
    headers.setdefault("Content-Security-Policy", _PAGE if is_page else _NO_PAGE)


def _is_deepl(scope: Scope) -> bool:
    return family_of(path_of(scope)) == "deepl"
