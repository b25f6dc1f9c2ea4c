"""The checks that every request must pass before a route gets it, in this order: host, origin, size, state of the
server, key, rate. Everything needs a key, if there are keys, except for the routes that are listed here.

The body is read here, up to its limit, because a key may be in it. While a route works, the gate watches the
connection: if the client closes it, the work is cancelled.
"""

import asyncio

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.errors import UserError
from regard.server.errors import (
    Draining,
    ForbiddenHost,
    HeadersTooLong,
    Hidden,
    MissingKey,
    Refusal,
    WrongKey,
)
from regard.server.http_protocol import MAX_HEADER_BYTES
from regard.server.keys import Key
from regard.server.limits import RateLimiter
from regard.server.origins import OriginRules, is_loopback_name
from regard.server.proxies import Proxies, path_of, rate_subject, set_path
from regard.server.request_body import Body, BodyMemory
from regard.server.request_log import facts
from regard.server.routes.error_answers import error_answer, family_of
from regard.server.routes.inputs import Inputs, find_key, read_inputs
from regard.server.service import Client, Service

# What a client may ask for without a key: pages, what there is to translate, and whether the server runs. A translated
# file has a name that cannot be guessed, and clients download it without their key.
OPEN_ROUTES = (
    "/",
    "/languages",
    "/spec",
    "/frontend/settings",
    "/v2/languages",
    "/health",
    "/healthz",
    "/livez",
    "/readyz",
    "/v1/docs",
    "/v1/openapi.json",
)
OPEN_FOLDERS = ("/static/", "/download_file/")

# A supervisor asks these under any address of the machine, and they tell a web page nothing.
_HEALTH_ROUTES = ("/health", "/healthz", "/livez", "/readyz")

_STATE_ROUTES = (*_HEALTH_ROUTES, "/metrics")  # answered while the server ends, and never limited

_PAGE_FILES = "/static/"  # never limited: a page has many, and a browser asks for each only once

_FILE_ROUTES = ("/translate_file", "/v2/document")

_TEXT_ROUTES = ("/translate", "/v2/translate", "/v1/translate")

# What pages of other origins may read of an answer.
_SHARED = (
    ("access-control-expose-headers", "Retry-After, X-Regard-Pivot, X-Regard-Warnings, X-Request-ID"),
    ("vary", "Origin"),
)

_NOTHING = Inputs({}, {})

_FORM_BYTES = 64 << 10  # of a form around a file

_DEFAULT_RATE = 120  # requests per minute of an address without a key, beyond the loopback interface


class Gate:
    """Lets requests pass to the application, or refuses them."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        settings = service.settings
        self._is_private = service.is_private
        self._origins = OriginRules(
            settings.allow_hosts,
            settings.allow_origins,
            only_loopback=self._is_private and not settings.unix_socket,
        )
        self._proxies = Proxies(settings.trusted_proxies, is_unix_socket=bool(settings.unix_socket))
        self._limiter = RateLimiter()
        self._memory = BodyMemory()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        set_path(scope, self._service.settings.root_path)
        path = path_of(scope)
        origin = headers.get("origin")
        if self._origins.shares_with(origin):
            send = _with_headers(send, ("access-control-allow-origin", str(origin)), *_SHARED)
        if self._service.is_draining:
            send = _with_headers(send, ("connection", "close"))
        body = Body(self._memory, _body_limit(self._service, path))
        try:
            if path not in _HEALTH_ROUTES:
                self._check_origin(headers)
            if scope["method"] == "OPTIONS" and self._origins.shares_with(origin):
                await _preflight()(scope, receive, send)
                return
            await self._pass(scope, headers, path, body, receive, send)
        except Refusal as refusal:
            self._service.metrics.count_refusal(refusal)
            answer = error_answer(family_of(path), refusal)
            if not body.is_complete and not self._service.is_draining:
                answer.headers["Connection"] = "close"  # the rest of the body is not read
            await answer(scope, receive, send)
        finally:
            body.release()

    async def _pass(self, scope: Scope, headers: Headers, path: str, body: Body, receive: Receive, send: Send) -> None:
        if sum(len(name) + len(value) for name, value in headers.raw) + len(scope["query_string"]) > MAX_HEADER_BYTES:
            raise HeadersTooLong(f"the request line and the headers have more than {MAX_HEADER_BYTES:,} bytes")
        body.check_announced(headers.get("content-length"))
        if self._service.is_draining and path not in _STATE_ROUTES:
            raise Draining("the server is restarting; try again", retry_after=5)
        scope["scheme"] = self._proxies.scheme(scope, headers)
        address = self._proxies.client_address(scope, headers)
        keys, state = self._service.keys, scope.setdefault("state", {})
        if keys is None:
            if path == "/metrics" and not self._is_open(path):
                raise Hidden("Not Found")
            self._check_rate(None, address, path)
        elif find_key(headers, _NOTHING) is not None or self._is_open(path):
            # The key of most clients is in a header: refuse wrong ones before their body is read.
            self._authenticate(scope, address, path, find_key(headers, _NOTHING))
        else:
            self._limit_address(address, counts=False)
        has_key = "client" in state and state["client"].name is not None
        if not await body.read(receive, "" if has_key or is_loopback_name(address) else rate_subject(address)):
            return  # the client has closed the connection
        if keys is not None and "client" not in state:
            request = Request(scope, body.replay())
            try:
                given = find_key(headers, await read_inputs(request))
            except UserError:
                given = None
            self._authenticate(scope, address, path, given)
        state.setdefault("client", Client(address=address))
        if path in _TEXT_ROUTES:
            self._service.queue.check_room()  # so that refusing takes little time, when there is least of it
        await self._run(scope, body, receive, send)

    def _authenticate(self, scope: Scope, address: str, path: str, given: str | None) -> None:
        """Set the client of a request, or raise a `Refusal`."""
        assert self._service.keys is not None
        key = self._service.keys.find(given) if given else None
        if key is None and not self._is_open(path):
            self._limit_address(address)
            if not given:
                raise MissingKey("Please contact the server operator to get an API key")
            raise WrongKey("Invalid API key")
        self._check_rate(key, address, path)
        client = Client(key.name, address, "valid") if key else Client(None, address, "wrong" if given else "missing")
        scope["state"]["client"] = client
        if key and (known := facts.get()):
            known.key = key.name

    def _is_open(self, path: str) -> bool:
        """Return whether a path may be asked for without a key."""
        if path == "/metrics":
            return self._service.settings.metrics or (self._service.keys is None and self._is_private)
        return path in OPEN_ROUTES or path.startswith(OPEN_FOLDERS)

    def _check_origin(self, headers: Headers) -> None:
        host = headers.get("host", "")
        if not self._origins.allows_host(host):
            raise ForbiddenHost("this host name is not allowed; the operator can allow it with --allow-host")
        if not self._origins.allows_origin(headers.get("origin"), host):
            raise ForbiddenHost("web pages of this origin may not use this server")

    def _check_rate(self, key: Key | None, address: str, path: str) -> None:
        if path in _STATE_ROUTES or path.startswith(_PAGE_FILES):
            return
        if key is not None:
            if key.requests_per_minute is not None:
                self._limiter.check(f"key {key.name}", key.requests_per_minute)
        else:
            self._limit_address(address)

    def _limit_address(self, address: str, *, counts: bool = True) -> None:
        """Raise `RateExceeded` if an address without a key, or with wrong ones, has sent too many requests."""
        rate = self._service.settings.requests_per_minute
        rate = (0 if self._is_private else _DEFAULT_RATE) if rate < 0 else rate
        if rate:
            self._limiter.check(rate_subject(address), rate, counts=counts)

    async def _run(self, scope: Scope, body: Body, receive: Receive, send: Send) -> None:
        """Run the application, and cancel it if the client closes the connection."""
        work, is_working = asyncio.current_task(), True
        assert work is not None

        def cancel(_: object) -> None:
            if is_working:
                work.cancel()

        watch = asyncio.create_task(_disconnected(receive))
        watch.add_done_callback(cancel)
        try:
            await self._app(scope, body.replay(), send)
        except asyncio.CancelledError:
            if not watch.done():
                raise  # the server has given up this request
            work.uncancel()
            self._service.metrics.cancelled.inc()
        finally:
            is_working = False
            watch.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _body_limit(service: Service, path: str) -> int:
    settings = service.settings
    return settings.file_bytes + _FORM_BYTES if path in _FILE_ROUTES else settings.body_bytes


def _with_headers(send: Send, *headers: tuple[str, str]) -> Send:
    """Return a `send` that adds headers to the answer."""
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]

    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *encoded]
        await send(message)

    return send_more


def _preflight() -> Response:
    return Response(
        status_code=204,
        headers={
            "Access-Control-Allow-Methods": "GET, POST",
            "Access-Control-Allow-Headers": "Authorization, Content-Type, KEY, X-Request-ID",
            "Access-Control-Max-Age": "600",
        },
    )
