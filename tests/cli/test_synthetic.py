"""`regard synthetic`: the files it writes."""

import json
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import pytest
from tests.cli.runner import call

from regard.data.formats.corpus import Corpus
from regard.data.formats.pairs import Pairs
from regard.data.synthetic.generator import pairs


def test_the_written_pairs_can_be_read_for_training(tmp_path: Path) -> None:
    done = call(
        "synthetic", "--out", tmp_path / "pairs.tsv", "--count", 30, "--annotations", "--seed", 7, "--split", "valid"
    )
    assert (done.code, done.output) == (0, b"")
    assert done.said == "".join(f"wrote {tmp_path / name}: 30 lines\n" for name in ("pairs.tsv", "pairs.jsonl"))
    expected = list(islice(pairs(7, "valid"), 30))
    found = list(Pairs(Corpus((tmp_path / "pairs.tsv",))).or_raise())
    assert [(pair.source, pair.target) for pair in found] == [(pair.source, pair.target) for pair in expected]
    truths = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text("utf-8").splitlines()]
    assert truths == json.loads(json.dumps([asdict(pair.annotations) for pair in expected]))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.jsonl", "pairs.tsv"]


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.jsonl"])
def test_existing_files_are_not_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    done = call("synthetic", "--out", tmp_path / "pairs.tsv", "--annotations", "--count", 1)
    assert (done.code, done.said) == (
        2,
        f"error: {tmp_path / name} already exists; choose another --out\n",
    )
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "pairs.txt"], "error: pairs.txt: give a name that ends in .tsv, such as pairs.tsv\n"),
        (["--out", "none/pairs.tsv"], "error: none/pairs.tsv: the folder none does not exist; create it first\n"),
        (
            ["--out", "pairs.tsv", "--split", "dev"],
            "error: the synthetic language has no split 'dev'; choose one of train, valid, test, noun-pairs, "
            "noun-words, longer\n",
        ),
        (["--out", "pairs.tsv", "--count", "0"], "Invalid value for '--count': 0 is not in the range x>=1."),
    ],
)
def test_bad_options_of_synthetic_are_refused(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("synthetic", *words)
    assert done.code == 2
    assert message in done.said
    assert list(tmp_path.iterdir()) == []
