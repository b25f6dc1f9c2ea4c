"""`regard serve`: serves models over HTTP."""

import importlib.util
from typing import Any

import click

from regard.cli.main import main
from regard.console import say
from regard.errors import UserError
from regard.settings.serve import ServeSettings

_LIBRARIES = ("fastapi", "uvicorn", "prometheus_client", "python_multipart")  # of the extra `serve`


@main.group(invoke_without_command=True)
@click.option(
    "-m", "--model", "models", multiple=True, help="A model folder, or the name of a bundled model; can be repeated."
)
@click.option("--host", help="Address to listen on. Default: 127.0.0.1.")
@click.option("--port", type=int, help="Port to listen on. Default: 5000.")
@click.option("--engines", type=int, help="Engine processes. Default: 1.")
@click.pass_context
def serve(context: click.Context, /, **flags: Any) -> None:
    """Serve models over HTTP to clients of LibreTranslate and DeepL."""
    if context.invoked_subcommand:
        return
    if missing := next((name for name in _LIBRARIES if importlib.util.find_spec(name) is None), None):
        raise UserError(f"the server needs {missing}; install it with: pip install regard[serve]")
    from regard.server.app import run
    from regard.server.catalog import Catalog
    from regard.server.service import Service

    given: dict[str, Any] = {name: value for name, value in flags.items() if value not in (None, ())}
    settings = ServeSettings(**given)
    service = Service(settings, Catalog.load(settings.models))
    run(service, lambda url: say(f"serving at {url}"))
