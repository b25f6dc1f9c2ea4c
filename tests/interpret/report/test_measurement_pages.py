"""Pages of what was measured, in a real browser: no request, no error, open to all, and text stays text.

The methods of a model give what the commands show, and show themselves in a notebook.
"""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.page.browser import Opened

import regard
from regard.interpret.annotated_pairs import measurement_sample
from regard.render.html_page import HtmlReport
from regard.render.terminal import TerminalStyle
from regard.render.text import escape_control_characters

NAME = "<script>alert(1)</script> </s> <!-- 👩\u200d🔬 שלום \u202eevil e\u0301 中文 \x1b[31m {{data}} & it"
PAIRS = [("the old cat sees a red tree.", "two dogs"), ("it was <b>tired</b>", "</s> שלום 中文"), (" ", "the cat")] * 9


@pytest.fixture(scope="module")
def model(folder_of: Any) -> Any:
    found = regard.load(folder_of("pre"), fast=None)
    found.name, found.languages = NAME, ("en", "fr")
    return found


@pytest.fixture(scope="module")
def measured(model: Any) -> dict[str, HtmlReport]:
    return {
        "heads": model.measure_heads(PAIRS, count=10),
        "it": model.measure_pronouns(count=10),
        "layers": model.measure_probes(count=60),
    }


@pytest.mark.parametrize("kind", ["heads", "it", "layers"])
def test_a_page_is_open_to_all_and_asks_for_nothing(browser, measured, tmp_path, kind):
    path = tmp_path / "a.html"
    path.write_text(measured[kind].html(), "utf-8")
    for width, scheme in ((1280, "light"), (390, "dark")):
        opened = Opened(browser, path, "main", viewport={"width": width, "height": 844}, color_scheme=scheme)
        results = Axe().run(opened.page)
        assert results.violations_count == 0, results.generate_report()
        assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert escape_control_characters(NAME) in opened.text("main")
        assert opened.page.locator("svg").first.is_visible()
        opened.context.close()
        assert opened.requests == [path.as_uri()]
        assert opened.errors == []


@pytest.mark.parametrize("kind", ["heads", "it", "layers"])
@pytest.mark.parametrize("colours", [0, 256])
def test_nothing_acts_on_a_terminal(measured, kind, colours):
    for line in measured[kind].lines(TerminalStyle(80, colours)):
        assert not any(ord(sign) < 32 or sign == "\u202e" for sign in re.sub(r"\x1b\[[\d;]*m", "", line))


def test_a_notebook_shows_the_page_in_a_frame_of_its_own(browser, measured, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>a notebook</title>{measured['it']._repr_html_()}", "utf-8")
    opened = Opened(browser, path, "iframe")
    assert escape_control_characters(NAME) in opened.page.frame_locator("iframe").locator("main").inner_text()
    opened.context.close()
    assert opened.errors == []


def test_the_page_of_it_has_all_that_was_found(measured):
    found, page = measured["it"].experiment, unescape(measured["it"].html())
    for one in found.antecedent_heads:
        assert f"<td>{one.moves:.3f}</td>" in page and one.head in page
    for one in found.interventions:
        assert f"<td>{one.right:.3f}</td><td>{one.change:+.3f}</td>" in page and one.name in page
    assert f"{found.follows:.3f}" in page and f"{found.untrained:.3f}" in page
    assert found.verdict in page and all(line in page for line in found.famous)
    assert measured["it"].svg().count("<circle") == len(found.antecedent_heads) + len(found.interventions) + 2
    assert measured["it"].json()["verdict"] == found.verdict


def test_pairs_that_are_given_are_measured_on(model, measured, tmp_path):
    sample = measurement_sample(model.tokenizer, model.max_positions, model.languages, 12, pairs=PAIRS)
    assert [(item.source, item.target) for item in sample.pairs] == [pair for pair in PAIRS if pair[0].strip()][:12]
    assert (measured["heads"].pairs, measured["heads"].data) == (10, "pairs that were given")
    file = tmp_path / "\u202etsv.tsv"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS if source.strip()), "utf-8")
    same = measurement_sample(model.tokenizer, model.max_positions, model.languages, 12, files=[Path(file)])
    assert same.pairs == sample.pairs and same.name.endswith("\\u{202e}tsv.tsv")


def test_alignment_is_measured_without_storing_it(model, folder_of):
    found = model.measure_alignment(count=20)
    assert found.chosen.head.startswith("decoder.") and found.sentences == 20
    assert not (folder_of("pre") / "alignment.json").exists()
