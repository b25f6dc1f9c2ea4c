"""NOTICE and the model card name every source of the training data."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


def test_every_source_and_licence_is_named(script: Callable[[str], ModuleType]) -> None:
    licences, domains = script("licences"), script("domains")
    notice = " ".join(licences.notice_text(["a", "b"]).split())
    card = licences.card_section()
    for source in (source for domain in domains.DOMAINS for source in domain.sources):
        assert source.address in notice
        for text in (source.title, source.licence):
            assert text in notice and text in card
    assert "The 2 authors" in notice and notice.endswith("a, b")


def test_the_section_of_a_card_is_replaced(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    licences = script("licences")
    card = tmp_path / "card.md"
    card.write_text("# A translator\n\n## Licence\nFill in.\n", "utf-8")
    monkeypatch.setattr(sys, "argv", ["licences.py", str(card)])
    licences.main()
    assert card.read_text("utf-8") == "# A translator\n\n" + licences.card_section()
