"""Listens for connections, and ends when the process gets a signal.

The first SIGTERM or SIGINT lets requests finish: from then on /readyz and /health say 503, and new work is refused.
After `drain_delay`, in which a load balancer may notice that, no connections are accepted any more. Ten seconds later
at the latest, or with a second signal, the process ends. SIGHUP reads keys and models again.
"""

import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import traceback
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import uvicorn

from regard.errors import UserError
from regard.server.app import make_app
from regard.server.errors import ServeError
from regard.server.http_protocol import MAX_HEADER_BYTES, protocol_class
from regard.server.service import Service
from regard.server.systemd import Supervisor

_GRACE_SECONDS = 8  # for requests, after connections are no longer accepted
_HARD_SECONDS = 10.0
_IDLE_SECONDS = 75  # of a connection without requests; a proxy must close it first, and nginx does after 60 seconds

_logger = logging.getLogger(__name__)

logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it logs bytes of forms that it cannot read


class Listener(uvicorn.Server):
    """The server of an application, with its own signals."""

    def __init__(self, service: Service, started: Callable[[str], None]) -> None:
        settings = service.settings
        super().__init__(
            uvicorn.Config(
                make_app(service),
                host=settings.host,
                port=settings.port,
                uds=settings.unix_socket or None,
                http=protocol_class(settings.receive_seconds),
                h11_max_incomplete_event_size=MAX_HEADER_BYTES,
                ws="none",
                lifespan="off",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                log_config=None,
                log_level="error",
                timeout_graceful_shutdown=_GRACE_SECONDS,
                timeout_keep_alive=_IDLE_SECONDS,
            )
        )
        self._service, self._say_started = service, started
        self._supervisor = Supervisor()
        self._tasks: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the engine processes, then listen."""
        _raise_file_limit()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGHUP, lambda: self._run(self._reload()))
        loop.set_exception_handler(_log_error)
        if not self.config.uds:
            _check_address(self.config.host, self.config.port)
        await self._service.start()
        await super().startup(sockets)
        for address in self._addresses():
            self._say_started(address)
        gc.freeze()  # what exists now stays; the garbage collector need not visit it again and again
        self._supervisor.tell("READY=1")
        self._run(self._supervisor.keep_alive())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests finish, then end the engine processes."""
        await super().shutdown(sockets)
        await self._service.end()
        if self.config.uds:
            Path(self.config.uds).unlink(missing_ok=True)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: `startup` sets what they do."""
        yield

    def _addresses(self) -> Iterator[str]:
        if self.config.uds:
            yield f"unix:{self.config.uds}"
            return
        for listener in self.servers:
            host, port = listener.sockets[0].getsockname()[:2]
            yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def _end(self) -> None:
        if self._service.is_draining:
            os._exit(1)
        self._service.is_draining = True
        self._supervisor.tell("STOPPING=1")
        self._run(self._drain())

    async def _drain(self) -> None:
        delay = self._service.settings.drain_delay
        await asyncio.sleep(delay)
        asyncio.get_running_loop().call_later(_HARD_SECONDS, os._exit, 1)
        self.should_exit = True

    async def _reload(self) -> None:
        try:
            await self._service.reload()
        except UserError as error:
            _logger.error("keys and models were not read again, the previous ones stay: %s", error)
        else:
            _logger.info("keys and models were read again")

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _raise_file_limit() -> None:
    """Allow as many connections as the system permits; by default, it permits more than the limit of a new process."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # macOS refuses some limits that it reports
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _check_address(host: str, port: int) -> None:
    """Raise a `ServeError` if the server could not listen, before it loads models."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind(address)
    except OSError as error:
        raise ServeError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another --port or --host"
        ) from None


def _log_error(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error of a task without its message, which may quote a text."""
    error = context.get("exception")
    where = traceback.extract_tb(error.__traceback__)[-1:] if error else []
    place = f" in {where[0].filename}:{where[0].lineno}" if where else ""
    _logger.error("%s: %s%s", context["message"].split(":")[0], type(error).__name__, place)


def serve(service: Service, started: Callable[[str], None]) -> None:
    """Serve until the process is told to end; `started` gets the address once the server can be reached."""
    Listener(service, started).run()
