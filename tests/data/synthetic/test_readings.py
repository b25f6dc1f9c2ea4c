"""Verdicts of human readers: every sentence has one, every fault has a reason, and the docs state the right counts."""

import re
from collections import Counter
from pathlib import Path

import pytest

READINGS = sorted((Path(__file__).parent / "readings").glob("*.tsv"))
DOCS = Path(__file__).parents[3] / "docs" / "explanation" / "language.md"


def rows(path: Path) -> list[list[str]]:
    header, *lines = path.read_text("utf-8").splitlines()
    assert header.split("\t") == ["english", "french", "verdict", "reason"]
    return [line.split("\t") for line in lines]


def test_there_are_three_readings():
    assert [path.stem for path in READINGS] == ["first", "second", "third"]


@pytest.mark.parametrize("path", READINGS, ids=lambda path: path.stem)
def test_every_sentence_has_a_verdict_and_every_fault_a_reason(path):
    assert len(rows(path)) == 300
    for english, french, verdict, reason in rows(path):
        assert english and french
        assert verdict in ("right", "wrong", "odd")
        assert (verdict == "right") == (reason == "")


@pytest.mark.parametrize("path", READINGS, ids=lambda path: path.stem)
def test_the_docs_state_the_counts_of_verdicts(path):
    row = re.search(rf"^\| {path.stem} \| (\d+) \| (\d+) \| (\d+) \|", DOCS.read_text("utf-8"), re.MULTILINE)
    counts = Counter(verdict for _, _, verdict, _ in rows(path))
    assert row and [int(count) for count in row.groups()] == [counts[name] for name in ("right", "wrong", "odd")]


def test_no_wrong_sentence_is_generated_again(sample):
    wrong = {(english, french) for path in READINGS for english, french, verdict, _ in rows(path) if verdict == "wrong"}
    assert len(wrong) == 22 and not wrong & {(pair.source, pair.target) for pair in sample}
