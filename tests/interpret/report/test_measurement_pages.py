"""The pages of measurements in a real browser: no request, no error, accessible, and text is never markup.

The measuring methods of a model return what the commands print, and notebooks display it.
"""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.page.browser import OpenedPage

import regard
from regard.interpret.annotated_pairs import measurement_sample
from regard.render.terminal import TerminalStyle
from regard.render.text import escape_control_characters

NAME = "<script>alert(1)</script> </s> <!-- 👩\u200d🔬 שלום \u202eevil e\u0301 中文 \x1b[31m {{data}} & it"
PAIRS = [("the old cat sees a red tree.", "two dogs"), ("it was <b>tired</b>", "</s> שלום 中文"), (" ", "the cat")] * 9


@pytest.fixture(scope="module")
def model(folder_of: Any) -> Any:
    model = regard.load(folder_of("pre"), backend="torch")
    model.name, model.languages = NAME, ("en", "fr")
    return model


@pytest.fixture(scope="module")
def reports(model: Any) -> dict[str, Any]:
    return {
        "heads": model.measure_heads(PAIRS, count=10),
        "pronouns": model.measure_pronouns(count=10),
        "probes": model.measure_probes(count=60),
    }


@pytest.mark.parametrize("kind", ["heads", "pronouns", "probes"])
def test_a_page_is_accessible_and_makes_no_request(browser, reports, tmp_path, kind):
    path = tmp_path / "a.html"
    path.write_text(reports[kind].html(), "utf-8")
    for width, scheme in ((1280, "light"), (390, "dark")):
        opened = OpenedPage(browser, path, "main", viewport={"width": width, "height": 844}, color_scheme=scheme)
        results = Axe().run(opened.page)
        assert results.violations_count == 0, results.generate_report()
        assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert escape_control_characters(NAME) in opened.text("main")
        assert opened.page.locator("svg").first.is_visible()
        opened.context.close()
        assert opened.requests == [path.as_uri()]
        assert opened.errors == []


@pytest.mark.parametrize("kind", ["heads", "pronouns", "probes"])
@pytest.mark.parametrize("colours", [0, 256])
def test_lines_have_no_control_characters_but_colours(reports, kind, colours):
    for line in reports[kind].lines(TerminalStyle(80, colours)):
        plain = re.sub(r"\x1b\[[\d;]*m", "", line)
        assert not any(ord(character) < 32 or character == "\u202e" for character in plain)


def test_a_notebook_shows_the_page_in_its_own_frame(browser, reports, tmp_path):
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>a notebook</title>{reports['pronouns']._repr_html_()}", "utf-8")
    opened = OpenedPage(browser, path, "iframe")
    assert escape_control_characters(NAME) in opened.page.frame_locator("iframe").locator("main").inner_text()
    opened.context.close()
    assert opened.errors == []


def test_the_page_of_the_pronoun_experiment_has_all_results(reports):
    report = reports["pronouns"]
    experiment, page = report.experiment, unescape(report.html())
    for head in experiment.antecedent_heads:
        assert f"<td>{head.pair_accuracy:.3f}</td>" in page and head.head in page
    assert ("<h2>Interventions</h2>" in page) == bool(experiment.interventions)
    assert f"{experiment.translation_pair_accuracy:.3f}" in page
    assert f"{experiment.untrained.best_pair_accuracy:.3f}" in page
    assert experiment.verdict.text in page and all(line in page for line in experiment.famous)
    assert report.to_dict()["verdict"]["outcome"] == experiment.verdict.outcome


def test_given_pairs_are_measured(model, reports, tmp_path):
    sample = measurement_sample(model.tokenizer, model.max_positions, model.languages, 12, pairs=PAIRS)
    assert [(pair.source, pair.target) for pair in sample.pairs] == [pair for pair in PAIRS if pair[0].strip()][:12]
    measurement = reports["heads"].measurement
    assert (measurement.pairs, measurement.data) == (10, "given pairs")
    file = tmp_path / "\u202etsv.tsv"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS if source.strip()), "utf-8")
    same = measurement_sample(model.tokenizer, model.max_positions, model.languages, 12, files=[Path(file)])
    assert same.pairs == sample.pairs and same.name.endswith("\\u{202e}tsv.tsv")


def test_measuring_alignment_in_python_does_not_store_the_head(model, folder_of, monkeypatch):
    monkeypatch.setattr("regard.interpret.measure.alignment_baselines.TRAINING_PAIRS", 20)
    result = model.measure_alignment(count=20)
    assert result.chosen.head.startswith("decoder.") and result.sentences == 20
    assert not (folder_of("pre") / "alignment.json").exists()
