"""An engine process: loads models, and translates batches of texts that the front process sends."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

from regard.errors import UserError
from regard.server.wire import Message
from regard.server.worker_loop import describe_error, run_worker

_logger = logging.getLogger(__name__)


class Engine:
    """The models of an engine process, and the cache of the parts of texts that they have translated."""

    def __init__(self, options: Message) -> None:
        from regard.inference.translator_loader import load_translator
        from regard.server.part_cache import PartCache

        compute_type = options["compute_type"]
        self._translators = {
            name: load_translator(Path(path), compute_type=compute_type) for name, path in options["models"].items()
        }
        self._cache = PartCache(options["cache_bytes"])

    def translate(self, message: Message) -> Message:
        """Return a translation or an error for each text of a batch, and what was in the cache."""
        counts = {"hits": 0, "misses": 0, "added_bytes": 0}
        results = self._translate(message["model"], message["decode"], message["texts"], counts)
        return {"results": results, "cache_bytes": self._cache.bytes} | counts

    def _translate(
        self, model: str, changes: dict[str, Any], texts: list[str], counts: dict[str, int]
    ) -> list[dict[str, Any]]:
        """Return a result for each text. If a batch fails, each of its texts is tried alone."""
        try:
            return self._translate_batch(model, changes, texts, counts)
        except Exception as error:
            if len(texts) > 1:
                return [result for text in texts for result in self._translate(model, changes, [text], counts)]
            if isinstance(error, UserError):
                return [{"refused": str(error)}]
            _logger.error("a text was not translated: %s", describe_error(error))
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


if __name__ == "__main__":
    run_worker(lambda options: Engine(options).translate)
