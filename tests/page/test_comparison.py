"""Two sentences side by side: the second comes from another saved page, and the numbers are those of both."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.page.browser import OpenedPage, number

FIRST, SECOND = "the old cat sees a tree.", "the old dog sees a red tree."


@pytest.fixture
def views(model_of):
    return [model_of("pre").look(text, target="a red dog") for text in (FIRST, SECOND)]


@pytest.mark.parametrize("width", [1280, 390])
def test_another_saved_page_is_shown_beside_this_one(browser, views, tmp_path, width):
    for name, view in zip("ab", views, strict=True):
        view.save(tmp_path / f"{name}.html")
    opened = OpenedPage(browser, tmp_path / "a.html", viewport={"width": width, "height": 900})
    opened.page.set_input_files("#compare-file", tmp_path / "b.html")
    opened.page.wait_for_selector("#comparison-finding")
    opened.choose(address="encoder.2.self.1")
    opened.page.wait_for_function(
        "document.getElementById('comparison-finding').textContent.includes('layer 2, head 1')"
    )
    opened.page.locator("#comparison .sentence >> nth=0").locator("button").nth(3).click()
    opened.page.wait_for_selector("#comparison .sentence >> nth=0 >> button.from[data-row='3']")
    maps = [view.attention("encoder.2.self.1") for view in views]
    words = [opened.page.locator(f"#comparison .sentence >> nth={i}").locator(".from bdi").inner_text() for i in (0, 1)]
    assert words == ["sees", "sees"]
    # The words that differ are marked: "cat" and "dog", and the additional "red".
    marked = [
        opened.page.locator(f"#comparison .sentence >> nth={i}").locator(".mark bdi").all_inner_texts() for i in (0, 1)
    ]
    assert marked == [["cat"], ["dog", "red"]]
    for line in opened.page.locator(".changes li").all():
        name, numbers = line.locator(".word").inner_text(), line.locator("> :last-child").inner_text()
        before, after = (number(part) for part in numbers.rpartition(" ")[0].split(" → "))
        shown = name.split(" / ")
        for one, value, word in zip(maps, (before, after), (shown[0], shown[-1]), strict=True):
            word = {"end": "</s>"}.get(word, word)
            expected = one.values[3][list(one.columns).index(word)] if word in one.columns else 0
            assert value == pytest.approx(expected, abs=0.0051)
    results = Axe().run(opened.page)
    assert results.violations_count == 0, results.generate_report()
    assert opened.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    opened.page.click("#compare-stop")
    assert opened.page.locator("#comparison").count() == 0
    # Something else than a page, and the page of a model with other heads, are refused.
    (tmp_path / "c.html").write_text("<p id=data>no</p>", "utf-8")
    opened.page.set_input_files("#compare-file", tmp_path / "c.html")
    opened.page.wait_for_selector("text=is not a page that")
    opened.context.close()
    assert opened.errors == [] and len(opened.requests) == 1
