"""The ASGI application: the routes of all interfaces, behind the checks that every request must pass."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.server.errors import Refusal
from regard.server.service import Client, Service, Work


def make_app(service: Service) -> FastAPI:
    """Return the application of a service, which it starts and ends."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.end()

    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.service = service
    app.add_middleware(_ClientMiddleware)
    app.add_exception_handler(Refusal, _refused)

    # A minimal form of two routes, until those of LibreTranslate are there.
    @app.get("/health")
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok"}, 200 if service.is_ready() else 503)

    @app.post("/translate")
    async def translate(request: Request) -> JSONResponse:
        body = await request.json()
        texts = body["q"] if isinstance(body["q"], list) else [body["q"]]
        work = Work(tuple(texts), body["source"], body["target"], {}, request.state.client)
        found = [each.text for each in await service.translate(work)]
        return JSONResponse({"translatedText": found if isinstance(body["q"], list) else found[0]})

    return app


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refusal)
    headers = {"Retry-After": str(error.retry_after)} if error.retry_after else None
    return JSONResponse({"error": error.message}, error.status, headers)


class _ClientMiddleware:
    """Puts the client at `request.state.client`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            address = scope["client"][0] if scope.get("client") else ""
            scope.setdefault("state", {})["client"] = Client(address=address)
        await self._app(scope, receive, send)


class _Server(uvicorn.Server):
    """Says where it listens once it does."""

    def __init__(self, config: uvicorn.Config, started: Callable[[str], None]) -> None:
        super().__init__(config)
        self._say_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in self.servers:
            host, port = listener.sockets[0].getsockname()[:2]
            self._say_started(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")


def run(service: Service, started: Callable[[str], None]) -> None:
    """Serve until the process is told to end; `started` gets the address once the server can be reached."""
    settings = service.settings
    config = uvicorn.Config(
        make_app(service),
        host=settings.host,
        port=settings.port,
        http="h11",
        access_log=False,
        server_header=False,
        log_level="warning",
    )
    _Server(config, started).run()
