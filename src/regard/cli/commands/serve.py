"""`regard serve`: serves models over HTTP."""

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regard.cli.main import main
from regard.cli.options import CONFIG
from regard.console import say, show_lines
from regard.errors import UserError
from regard.settings.serve import ServeSettings

if TYPE_CHECKING:
    from regard.server.service import Service

_LIBRARIES = ("fastapi", "uvicorn", "prometheus_client", "python_multipart")  # of the extra `serve`

_KEYS = click.Path(path_type=Path, dir_okay=False)


@main.group(invoke_without_command=True)
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    help="A model folder, or the name of a bundled model; can be repeated. Default: all bundled models.",
)
@click.option("--host", help=f"Address to listen on. Default: {ServeSettings.host}.")
@click.option("--port", type=int, help=f"Port to listen on; 0 chooses a free one. Default: {ServeSettings.port}.")
@click.option("--unix-socket", help="Listen on a UNIX socket with this path, instead of host and port.")
@click.option("--engines", type=int, help="Processes that translate. Each loads all models. Default: 1.")
@click.option("--keys", help="File of keys; requests then need one of them.")
@click.option("--state", help="Folder for the usage of each key.")
@click.option("--allow-host", "allow_hosts", multiple=True, help="Host name that requests may name; can be repeated.")
@click.option("--root-path", help="Path under which a proxy offers the server, such as /translate.")
@CONFIG
@click.option("--set", "overrides", multiple=True, metavar="serve.NAME=VALUE", help="Change another setting.")
@click.option("--check", is_flag=True, help="Check the configuration, print all values with their source, and end.")
@click.pass_context
def serve(
    context: click.Context, /, config: Path | None, overrides: tuple[str, ...], check: bool, **flags: Any
) -> None:
    """Serve models to clients of LibreTranslate and DeepL over HTTP.

    \b
    regard serve                          # the bundled models at http://127.0.0.1:5000
    regard serve --model my-model --host 0.0.0.0 --port 8080 --keys keys.toml
    regard serve --config serve.toml --check
    regard serve new-key mastodon         # prints a key, and stores its hash in keys.toml
    """
    if context.invoked_subcommand:
        return
    _check_installed()
    from regard.server.config import read_configuration
    from regard.server.service import Service

    given = {name: value for name, value in flags.items() if value not in (None, ())}
    configuration = read_configuration(given, overrides, config, os.environ)
    service = Service(configuration.settings, configuration.decode)
    if check:
        show_lines(configuration.lines())
        return
    _say_who_can_use(service)
    from regard.server.listener import serve as listen

    listen(service, lambda address: say(f"serving at {address}"))


@serve.command("new-key")
@click.argument("name")
@click.option("--keys", type=_KEYS, default="keys.toml", show_default=True, help="File to which the hash is added.")
@click.option("--characters-per-month", type=click.IntRange(1), help="Maximum number of characters in a month.")
@click.option("--requests-per-minute", type=click.IntRange(1), help="Maximum number of requests in a minute.")
def new_key(name: str, keys: Path, **limits: int | None) -> None:
    """Make a key for the client NAME and print it once; only its hash is stored.

    A running server reads the file again when it gets SIGHUP.
    """
    from regard.server.keys import add_key

    show_lines([add_key(keys, name, limits)])
    say(f"{keys} has the hash of this key for {name}; the key itself is stored nowhere, so keep it")


def _check_installed() -> None:
    if os.name == "nt":
        raise UserError("the server runs on Linux and macOS, not on Windows; use it in a container or in WSL")
    if missing := next((name for name in _LIBRARIES if importlib.util.find_spec(name) is None), None):
        raise UserError(f"the server needs {missing}; install it with: pip install regard[serve]")


def _say_who_can_use(service: "Service") -> None:
    """Say what a server that others can reach lets them do."""
    settings = service.settings
    if settings.unix_socket or service.is_private:
        return
    others = f"every computer that can reach {settings.host}:{settings.port}"
    if service.keys is None:
        say(f"{others} can use the server without a key; ask for keys with --keys")
    if not settings.allow_hosts:
        say("requests may name any host; allow only your own with --allow-host")
