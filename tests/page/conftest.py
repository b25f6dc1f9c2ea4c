"""The page is tested with the models of the interpretation tests."""

from tests.interpret.conftest import _cache, model

__all__ = ["_cache", "model"]
