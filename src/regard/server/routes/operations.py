"""Routes for those who run the server: whether it lives, and whether it is ready. They need no key."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from regard.server.service import Service


def routes(service: Service) -> list[Route]:
    """Return the routes."""

    async def live(_: Request) -> Response:
        """Answer as long as the front process runs; engine processes may be starting or dead."""
        return JSONResponse({"status": "ok"})

    async def ready(_: Request) -> Response:
        """Answer 200 if a request could be translated now. This is LibreTranslate's /health."""
        if service.is_ready():
            return JSONResponse({"status": "ok"})
        return JSONResponse({"status": "draining" if service.is_draining else "starting"}, 503)

    return [
        Route("/health", ready, methods=["GET"]),
        Route("/readyz", ready, methods=["GET"]),
        Route("/livez", live, methods=["GET"]),
        Route("/healthz", live, methods=["GET"]),
    ]
