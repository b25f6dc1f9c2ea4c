"""The profiles of a run are those of its training texts."""

import random
from pathlib import Path

import pytest

from regard.data.formats.corpus import corpora
from regard.data.formats.records import LanguagePair
from regard.data.prepare import language_profiles
from regard.data.prepare.language_profiles import build_language_profiles
from regard.data.prepare.text_store import TextStore, build_text_store
from regard.language_id import LanguageProfile
from regard.progress import run_to_end

PAIRS = [(f"the word {chr(97 + number % 26)}{number}", f"le mot été {'z' * (number % 9)}") for number in range(100)]


def store(folder: Path, pairs: list[tuple[str, str]]) -> TextStore:
    folder.mkdir()
    train, valid = folder / "train.tsv", folder / "valid.tsv"
    train.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf-8")
    valid.write_text("xylophone\txylophone\n", "utf-8")
    return run_to_end(build_text_store(folder / "texts", corpora([train]), corpora([valid]), seed=1))


def profiles(texts: TextStore, languages: LanguagePair = ("en", "fr")) -> dict[str, LanguageProfile]:
    return run_to_end(build_language_profiles(texts.train, languages))


def test_each_side_has_the_profile_of_its_training_texts(tmp_path: Path) -> None:
    expected = [LanguageProfile.of(pair[side] for pair in PAIRS) for side in (0, 1)]
    assert profiles(store(tmp_path / "a", PAIRS)) == {"en": expected[0], "fr": expected[1]}


def test_the_order_of_the_lines_makes_no_difference(tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(PAIRS, len(PAIRS))
    first, second = profiles(store(tmp_path / "a", PAIRS)), profiles(store(tmp_path / "b", shuffled))
    assert [list(each.counts.items()) for each in first.values()] == [
        list(each.counts.items()) for each in second.values()
    ]


def test_a_large_corpus_is_sampled_evenly_and_long_texts_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_profiles, "_SAMPLE_TEXTS", 10)
    monkeypatch.setattr(language_profiles, "_MAX_CHARACTERS", 8)
    assert profiles(store(tmp_path / "a", PAIRS))["en"] == LanguageProfile.of(source[:8] for source, _ in PAIRS[::10])


def test_only_known_languages_with_words_have_a_profile(tmp_path: Path) -> None:
    texts = store(tmp_path / "a", [(str(number), f"mot {number}") for number in range(9)])
    assert profiles(texts).keys() == {"fr"}
    assert profiles(texts, (None, None)) == {}
