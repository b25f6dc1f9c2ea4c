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
from dataclasses import replace
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
        self._cache: Any = None

    def run(self) -> None:
        """Load the models that the first message names, then answer messages until the connection ends."""
        first = receive(self._connection)
        if first is None:
            return
        try:
            self._load(first)
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

    def _load(self, options: Message) -> None:
        from regard.inference.translator_loader import load_translator
        from regard.server.part_cache import PartCache

        for name, path in options["models"].items():
            self._translators[name] = load_translator(Path(path), compute_type=options["compute_type"])
        self._cache = PartCache(options["cache_bytes"])

    def _translate_all(self) -> None:
        while True:
            message = self._batches.get()
            began = time.perf_counter()
            counts = {"hits": 0, "misses": 0, "added_bytes": 0}
            results = self._translate(message["model"], message["decode"], message["texts"], counts)
            seconds = time.perf_counter() - began
            answer = {"id": message["id"], "results": results, "seconds": seconds, "cache_bytes": self._cache.bytes}
            self._send(answer | counts)

    def _translate(
        self, model: str, changes: dict[str, Any], texts: list[str], counts: dict[str, int]
    ) -> list[dict[str, Any]]:
        """Return a translation or an error for each text. If a batch fails, each of its texts is tried alone."""
        try:
            return self._translate_batch(model, changes, texts, counts)
        except UserError as error:
            return [{"refused": str(error)}] * len(texts)
        except Exception as error:
            if len(texts) > 1:
                return [result for text in texts for result in self._translate(model, changes, [text], counts)]
            where = traceback.extract_tb(error.__traceback__)[-1]
            _logger.error("a text was not translated: %s in %s:%s", type(error).__name__, where.filename, where.lineno)
            return [{"failed": type(error).__name__}]

    def _translate_batch(
        self, model: str, changes: dict[str, Any], texts: list[str], counts: dict[str, int]
    ) -> list[dict[str, Any]]:
        if model not in self._translators:
            raise UserError("this model is no longer served")
        translator = self._translators[model]
        decode = replace(translator.decode, **changes)
        parts = self._cache.view(f"{model} {decode!r}")
        failed = True
        try:
            found = [each.to_dict() for each in translator.translate_iterable(texts, decode, remembered=parts)]
            failed = False
        finally:
            parts.close(failed=failed)
        counts["hits"] += parts.hits
        counts["misses"] += parts.misses
        counts["added_bytes"] += parts.added_bytes()
        return found

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
