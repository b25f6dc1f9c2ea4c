"""The ASGI application: the routes of all interfaces, behind the checks that every request must pass."""

from fastapi import FastAPI

from regard.server.gate import Gate
from regard.server.request_log import RequestLog
from regard.server.route_table import RouteTable
from regard.server.routes import deepl, libretranslate, operations, v1, web_page
from regard.server.routes.document_jobs import DocumentJobs
from regard.server.routes.error_answers import add_error_handlers
from regard.server.service import Service


def make_app(service: Service) -> RequestLog:
    """Return the application of a service, which must be started."""
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.service = service
    add_error_handlers(app)
    jobs = DocumentJobs(service)
    routes = [*web_page.routes(service), *operations.routes(service)]
    routes += [*libretranslate.routes(service, jobs), *deepl.routes(service, jobs)]
    own = v1.router(service)
    app.router.routes.extend(routes)
    app.include_router(own)
    table = RouteTable(getattr(route, "path", "") for route in (*routes, *own.routes))
    # Around the application, so that they also see its answers to errors.
    return RequestLog(Gate(app, service), service.metrics, table)
