"""An engine process: loads models, and translates batches of texts that the front process sends.

The main thread reads messages, so that it answers pings during a translation, and ends the process when the front
process has ended. A second thread translates. Errors are reported without their messages, which may quote a text.
"""

import logging
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from regard.errors import UserError
from regard.machine.process import tune
from regard.server.wire import Message, receive, send

_logger = logging.getLogger(__name__)


class Engine:
    """The models of an engine process and its connection to the front process."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = Lock()
        self._batches: SimpleQueue[Message] = SimpleQueue()
        self._translators: dict[str, Any] = {}

    def run(self) -> None:
        """Load the models that the first message names, then answer messages until the connection ends."""
        first = receive(self._connection)
        if first is None:
            return
        try:
            self._load(first["models"], first["compute_type"])
        except UserError as error:
            self._send({"failed": str(error)})
            return
        self._send({"ready": True, "pid": os.getpid(), "resident_bytes": _resident_bytes()})
        Thread(target=self._translate_all, daemon=True).start()
        while (message := receive(self._connection)) is not None:
            if "ping" in message:
                self._send({"pong": message["ping"], "resident_bytes": _resident_bytes()})
            else:
                self._batches.put(message)
        os._exit(0)  # the front process has ended; do not wait for the batch that is being translated

    def _load(self, models: dict[str, str], compute_type: str) -> None:
        from regard.inference.translator_loader import load_translator

        for name, path in models.items():
            self._translators[name] = load_translator(Path(path), compute_type=compute_type)

    def _translate_all(self) -> None:
        while True:
            message = self._batches.get()
            began = time.perf_counter()
            results = self._translate(message["model"], message["decode"], message["texts"])
            self._send({"id": message["id"], "results": results, "seconds": time.perf_counter() - began})

    def _translate(self, model: str, changes: dict[str, Any], texts: list[str]) -> list[dict[str, Any]]:
        """Return a translation or an error for each text. If a batch fails, each of its texts is tried alone."""
        from dataclasses import replace

        translator = self._translators[model]
        try:
            decode = replace(translator.decode, **changes)
            return [each.to_dict() for each in translator.translate(texts, decode)]
        except UserError as error:
            return [{"refused": str(error)}] * len(texts)
        except Exception as error:
            if len(texts) > 1:
                return [result for text in texts for result in self._translate(model, changes, [text])]
            where = traceback.extract_tb(error.__traceback__)[-1]
            _logger.error("a text was not translated: %s in %s:%s", type(error).__name__, where.filename, where.lineno)
            return [{"failed": type(error).__name__}]

    def _send(self, message: Message) -> None:
        with self._sending:
            send(self._connection, message)


def _resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


def main(descriptor: int) -> None:
    """Run the engine on an inherited socket."""
    # A terminal and some supervisors send their signals to all processes; the front process decides when engines end.
    for number in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", None)):
        if number is not None:
            signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    tune()
    Engine(socket.socket(fileno=descriptor)).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
