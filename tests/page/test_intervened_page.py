"""The arithmetic of an intervened model shows recorded numbers, and its sums hold."""

import math
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser
from tests.page.browser import OpenedPage, number

TEXT, TARGET = "the old cat sees a tree.", "a red dog paints."


@pytest.mark.parametrize("without", ["scaling", "encoder.1.self.1"])
def test_the_shown_sums_hold(browser: Browser, model_of: Any, tmp_path: Path, without: str) -> None:
    view = model_of("pre").look(TEXT, target=TARGET, without=without)
    view.save(tmp_path / "a.html")
    opened = OpenedPage(browser, tmp_path / "a.html", viewport={"width": 1280, "height": 900})
    assert f"without {without}" in opened.page.inner_text("body")
    opened.choose(kind="encoder.self", address="encoder.1.self.1")
    opened.page.wait_for_selector("#arithmetic table")
    assert f"without {without}" in opened.text("#arithmetic .warning")
    table = opened.page.locator("#arithmetic table").nth(0)
    root = math.sqrt(view.trace.anatomy.attentions[0].head_width)
    names = [name.strip() for name in table.locator("thead th").all_inner_texts()]
    scaled = f"÷ {root:.2f}"
    assert names[3 if scaled in names else 2].startswith("e^(")
    names[3 if scaled in names else 2] = "exp"
    rows = [line.split("\t") for line in table.locator("tbody tr").all_inner_texts()]
    keys = [dict(zip(names[1:], map(number, row[1:]), strict=True)) for row in rows]
    assert (scaled in names) == (without != "scaling")
    used = [key.get(scaled, key["score"]) for key in keys]
    exponentials = [math.exp(score - max(used)) for score in used]
    for i, key in enumerate(keys):
        assert used[i] == pytest.approx(key["score"] / (1 if without == "scaling" else root), abs=1e-3)
        assert key["exp"] == pytest.approx(exponentials[i], abs=1e-3)
        weight = key["exp"] / sum(exponentials) if without == "scaling" else 0
        assert key["share"] == pytest.approx(weight, abs=1e-3)
    opened.context.close()
    assert opened.errors == []
