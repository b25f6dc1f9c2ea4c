"""Routes for those who run the server: whether it lives, whether it is ready, and its metrics."""

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

    async def metrics(_: Request) -> Response:
        """Return all metrics in the text format of Prometheus."""
        return Response(service.render_metrics(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return [
        Route("/metrics", metrics, methods=["GET"]),
        Route("/health", ready, methods=["GET"]),
        Route("/readyz", ready, methods=["GET"]),
        Route("/livez", live, methods=["GET"]),
        Route("/healthz", live, methods=["GET"]),
    ]
