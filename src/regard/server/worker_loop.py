"""What engine processes and the helper process have in common: they answer messages of the front process.

The main thread reads messages, so that it answers pings while a second thread works, and ends the process when the
front process has ended. Errors are reported without their messages, which may quote a text.
"""

import logging
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from regard.errors import UserError
from regard.machine.process import tune
from regard.server.wire import Message, receive, send

_logger = logging.getLogger(__name__)

Work = Callable[[Message], Message]


def run_worker(make_work: Callable[[Message], Work]) -> None:
    """Answer the messages on the socket whose descriptor is the first argument of this process, until it ends.

    The first message is given to `make_work`, which returns the function that answers all others.
    """
    # A terminal and some supervisors send their signals to all processes; the front process decides when others end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    tune()
    _Worker(socket.socket(fileno=int(sys.argv[1]))).run(make_work)


def describe_error(error: Exception) -> str:
    """Return the type of an error and where it occurred, but not its message."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {where.filename}:{where.lineno}"


class _Worker:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = Lock()
        self._messages: SimpleQueue[Message] = SimpleQueue()

    def run(self, make_work: Callable[[Message], Work]) -> None:
        first = receive(self._connection)
        if first is None:
            return
        try:
            work = make_work(first)
        except UserError as error:
            self._send({"failed": str(error)})
            return
        self._send({"ready": True, "resident_bytes": _resident_bytes()})
        Thread(target=self._work, args=[work], daemon=True).start()
        while (message := receive(self._connection)) is not None:
            if "ping" in message:
                self._send({"pong": True, "resident_bytes": _resident_bytes()})
            else:
                self._messages.put(message)
        os._exit(0)  # the front process has ended; do not wait for the work that is being done

    def _work(self, work: Work) -> None:
        while True:
            message = self._messages.get()
            began = time.perf_counter()
            try:
                answer: dict[str, Any] = work(message)
            except UserError as error:
                answer = {"refused": str(error)}
            except Exception as error:
                _logger.error("a request to this process failed: %s", describe_error(error))
                answer = {"failed": type(error).__name__}
            self._send({"id": message["id"], "seconds": time.perf_counter() - began} | answer)

    def _send(self, message: Message) -> None:
        with self._sending:
            send(self._connection, message)


def _resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)
