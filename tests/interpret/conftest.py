"""Small models for the interpretation tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.interpret.small_models import SHAPES

from regard.interchange.ctranslate2 import cache as cache_module


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "user_cache_path", lambda name: tmp_path / "cache" / name)


@pytest.fixture(params=SHAPES)
def model(request: pytest.FixtureRequest, model_of: Callable[[str], Any]) -> Any:
    """Return a model of each shape in turn."""
    return model_of(request.param)
