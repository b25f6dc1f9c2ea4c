"""The cache of parts: the same translations as without it, each part computed once, and bounded memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from regard.inference.translator import Translator
from regard.inference.translator_loader import load_translator
from regard.server.part_cache import PartCache

TEXTS = ["the cat sees a house", "a red house\nthe cat", "the cat sees a house", "", "see https://example.org"]


@pytest.fixture(scope="module")
def translator(make_model: Callable[..., Path]) -> Translator:
    return load_translator(make_model())


def translate(translator: Translator, cache: PartCache, texts: list[str]) -> tuple[list[str], int, int]:
    view = cache.view("model")
    found = [each.text for each in translator.translate_iterable(texts, remembered=view)]
    view.close(failed=False)
    return found, view.hits, view.misses


def test_cached_translations_equal_computed_ones(translator: Translator):
    cache = PartCache(1 << 20)
    expected = [each.text for each in translator.translate(TEXTS)]
    assert translate(translator, cache, TEXTS) == (expected, 0, 4)
    assert translate(translator, cache, TEXTS) == (expected, 4, 0)


def test_only_the_new_sentence_is_computed(translator: Translator):
    cache = PartCache(1 << 20)
    translate(translator, cache, ["the cat\na house"])
    assert translate(translator, cache, ["the cat\na house\nred"])[1:] == (2, 1)


def test_settings_and_models_do_not_share_translations(translator: Translator):
    cache = PartCache(1 << 20)
    translate(translator, cache, TEXTS)
    other = cache.view("other model")
    assert not any((part, False) in other for part in TEXTS)


def test_the_least_recently_used_parts_are_dropped(translator: Translator):
    cache = PartCache(1 << 20)
    translate(translator, cache, ["the cat"])
    size = cache.bytes
    small = PartCache(3 * size)
    for text in ("cat the", "the cat", "cat the", "the red", "red the"):
        translate(translator, small, [text])
        assert small.bytes <= 3 * size
    assert translate(translator, small, ["cat the"])[1:] == (1, 0)
    assert translate(translator, small, ["the cat"])[1:] == (0, 1)


def test_a_failed_call_leaves_nothing_behind(translator: Translator):
    cache = PartCache(1 << 20)
    view = cache.view("model")
    view["the cat", False] = []
    view.close(failed=True)
    assert translate(translator, cache, ["the cat"]) == ([translator.translate("the cat").text], 0, 1)
