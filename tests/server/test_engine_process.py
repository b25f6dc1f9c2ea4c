"""A batch of an engine: what is wrong with one text does not concern the others."""

from pathlib import Path
from typing import Any

import pytest

from regard.errors import UserError
from regard.server.engine_process import Engine


def test_a_text_that_is_refused_is_refused_alone(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine({"compute_type": "float32", "models": {"tiny": str(tiny)}, "cache_bytes": 0})
    translate = engine._translate_batch

    def refuse(model: str, changes: dict[str, Any], texts: list[str], counts: dict[str, int]) -> list[dict[str, Any]]:
        if "bad" in texts:
            raise UserError("a bad text")
        return translate(model, changes, texts, counts)

    monkeypatch.setattr(engine, "_translate_batch", refuse)
    message = {"model": "tiny", "decode": {}, "texts": ["the cat", "bad", "a house"]}
    first, bad, last = engine.translate(message)["results"]
    assert bad == {"refused": "a bad text"}
    assert [first["source"], last["source"]] == ["the cat", "a house"]
