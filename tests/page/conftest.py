"""The page is tested with the models of the interpretation tests, and with real servers."""

from tests.interpret.conftest import _cache, model
from tests.server.conftest import server

__all__ = ["_cache", "model", "server"]
