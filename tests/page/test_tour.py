"""The guided tour: operated with the keyboard, and each of its numbers is the recorded one."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.interpret.recurrent_models import recurrent_model
from tests.page.browser import OpenedPage

from regard.interpret.look.arithmetic import head_arithmetic
from regard.interpret.report.look_data import look_opening

TEXT = "The unseen cat sees the dog, because it was tired."


@pytest.mark.parametrize("width", [1280, 390])
def test_every_number_of_the_tour_is_the_recorded_one(browser, model_of, tmp_path, width):
    view = model_of("pre").look(TEXT, target="a red dog and a tree")
    view.save(tmp_path / "a.html")
    opened = OpenedPage(browser, tmp_path / "a.html", viewport={"width": width, "height": 800}, reduced_motion="reduce")
    opened.page.focus("#tour-start")
    opened.page.keyboard.press("Enter")
    texts: dict[str, str] = {}
    for step in range(7):
        opened.page.wait_for_selector(f".pips[aria-label='Step {step + 1} of 7']")
        texts[opened.text("#coach-title")] = opened.text("#coach-text")
        assert opened.page.locator(".pointed").count() == 1
        assert opened.page.evaluate("document.activeElement.id") == "tour-next"
        box = opened.page.locator("#coach").bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width
        if step == 0:
            results = Axe().run(opened.page)
            assert results.violations_count == 0, results.generate_report()
        opened.page.keyboard.press("Enter")
    assert opened.page.locator("#coach").count() == 0
    assert opened.page.evaluate("document.activeElement.id") == "tour-start"
    assert len(texts) == 7

    opening = look_opening(view, view.head_effects())
    assert opening
    found = view.attention(opening.address)
    row = next(i for i, one in enumerate(found.rows) if one.text == "it")
    name, weight = found.ranked(row)[0]
    sentence = f"Here it gives {weight:.2f} of its attention to {name}."
    assert sentence.replace("</s>", "end") in texts["Words look at words"]
    word = view.trace.source.words[row]
    assert word.end == word.begin + 1
    arithmetic = head_arithmetic(view.trace, opening.address, word.begin)
    scores = [f"{key.score:.2f}".replace("-", "−") for key in arithmetic.keys]
    assert all(score in scores for score in re.findall(r"−?\d+\.\d+", texts["A question meets an offer"]))
    weights = [f"{key.weight:.2f}" for key in arithmetic.keys]
    shown = re.findall(r"\d+\.\d+", texts["Scores become shares"])
    assert len(shown) == 2 and all(share in weights for share in shown)
    heads = [view.attention(head) for head in view.heads if head.startswith("encoder")]
    same = sum(one.ranked(row)[0][0] == name for one in heads)
    assert f"there are {len(heads)} of them here. {same} " in texts["Many heads look at once"]
    steps = [step for step in view.steps() if any(map(str.isalpha, step.token)) and not step.token.startswith("<")]
    least = min(steps, key=lambda step: step.probability)
    assert f"written in {len(view.steps())} steps" in texts["Written token by token"]
    assert f" {least.token.removeprefix(chr(0x2581))} had probability " in texts["Written token by token"]

    # Escape ends the tour.
    opened.page.click("#tour-start")
    opened.page.wait_for_selector("#coach")
    opened.page.keyboard.press("Escape")
    assert opened.page.locator("#coach, .pointed").count() == 0
    opened.context.close()
    assert opened.errors == []


def test_a_model_whose_text_does_not_attend_to_itself_has_no_tour(browser, tmp_path):
    recurrent_model("lstm", "additive").look("the old cat", target="a red dog").save(tmp_path / "a.html")
    opened = OpenedPage(browser, tmp_path / "a.html")
    assert opened.page.locator("#tour-start").count() == 0
    opened.context.close()
