"""The ASGI application: the routes of all interfaces, behind the checks that every request must pass."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.server.routes import deepl, libretranslate, operations, v1
from regard.server.routes.document_jobs import DocumentJobs
from regard.server.routes.error_answers import add_error_handlers
from regard.server.service import Client, Service


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
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.service = service
    app.add_middleware(_ClientMiddleware)
    add_error_handlers(app)
    jobs = DocumentJobs(service)
    for family in (operations.routes(service), libretranslate.routes(service, jobs), deepl.routes(service, jobs)):
        app.router.routes.extend(family)
    app.include_router(v1.router(service))
    return app


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
