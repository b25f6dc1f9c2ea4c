"""The verdicts of those who read: every sentence has one, every fault a reason, and the docs count them right."""

import re
from collections import Counter
from pathlib import Path

import pytest

READINGS = sorted((Path(__file__).parent / "readings").glob("*.tsv"))
DOCS = Path(__file__).parents[3] / "docs" / "language.md"


def rows(path: Path) -> list[list[str]]:
    header, *lines = path.read_text("utf-8").splitlines()
    assert header.split("\t") == ["english", "french", "verdict", "reason"]
    return [line.split("\t") for line in lines]


def test_there_are_three():
    assert [path.stem for path in READINGS] == ["first", "second", "third"]


@pytest.mark.parametrize("path", READINGS, ids=lambda path: path.stem)
def test_every_sentence_has_a_verdict_and_every_fault_a_reason(path):
    assert len(rows(path)) == 300
    for english, french, verdict, reason in rows(path):
        assert english and french
        assert verdict in ("right", "wrong", "odd")
        assert (verdict == "right") == (reason == "")


@pytest.mark.parametrize("path", READINGS, ids=lambda path: path.stem)
def test_the_docs_count_them(path):
    told = re.search(rf"^\| {path.stem} \| (\d+) \| (\d+) \| (\d+) \|", DOCS.read_text("utf-8"), re.MULTILINE)
    found = Counter(verdict for _, _, verdict, _ in rows(path))
    assert told and [int(one) for one in told.groups()] == [found[name] for name in ("right", "wrong", "odd")]


def test_what_was_wrong_is_not_said_again(sample):
    wrong = {(english, french) for path in READINGS for english, french, verdict, _ in rows(path) if verdict == "wrong"}
    assert len(wrong) == 22 and not wrong & {(pair.source, pair.target) for pair in sample}
