"""`regard check`: its report as text and JSON."""

import json
from pathlib import Path

import pytest
from tests.cli.runner import bad_corpora, call, sentences, write


def dirty(folder: Path) -> Path:
    """A corpus with one of everything that is common."""
    lines = [f"{text}\t{' '.join(reversed(text.split()))} z" for text in sentences(60)]
    path = write(folder / "dirty.tsv", [*lines, "\tx", "y\t", "same here\tsame here", lines[0], "a\u2028b\tc"])
    path.write_bytes(path.read_bytes() + b"\xff\tx\n")
    return path


def test_check_reports_findings(tmp_path: Path) -> None:
    test = write(tmp_path / "test.tsv", ["new to all\tx", f"{sentences(60)[3]}\tx"])
    done = call("check", dirty(tmp_path), "--test", test, "--set", "tokenizer.vocab_size=300")
    assert done.code == 0, done.said
    shown = done.output.decode("utf-8")
    for line in [
        "training: dirty.tsv, 65 pairs\n",
        "Lengths                         mean  median     p95  longest\n",
        "test       target words          1.0       1       1        1\n",
        "; target ",
        " tokens per word, at most ",
        "  a source text in tokens: ▁",
        "test: test.tsv, 2 pairs\n",
        "  training: 1 unreadable (1.5%): not valid pairs; left out\n      dirty.tsv:66  not UTF-8\n",
        "  training: 1 source empty (1.5%): left out\n      dirty.tsv:61  \n",
        "  training: 1 target empty (1.5%): left out\n      dirty.tsv:62  \n",
        "      dirty.tsv:63  same here\n",
        "      dirty.tsv:64  like dirty.tsv:1\n",
        "      dirty.tsv:65  a\\u2028b\n",
        "      test.tsv:2  is dirty.tsv:4\n",
        "regard train would keep 63 pairs\n  and leave out 1: source empty\n",
        "  and leave out 1: unreadable\n",
        "Time on this machine (size tiny, chosen for 65 training pairs and ",
        "(estimated from the previous size)\n",
    ]:
        assert line in shown, line


def test_check_says_when_the_time_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.training.planning.choices.affordable_steps", lambda speed: 100)
    shown = call("check", dirty(tmp_path), "--set", "tokenizer.vocab_size=300").output.decode("utf-8")
    assert shown.count(" (limited to 2 hours; --steps 500 would be better)\n") == 2


def test_check_as_json(tmp_path: Path) -> None:
    done = call("check", dirty(tmp_path), "--json", "--set", "tokenizer.vocab_size=300")
    report = json.loads(done.output)
    assert list(report) == ["corpora", "splits", "findings", "forecast"]
    assert report["forecast"]["kept"] == 63
    assert {
        key: value
        for finding in report["findings"]
        if finding["kind"] == "duplicates"
        for key, value in finding.items()
        if key in ("kind", "split", "count")
    } == {"kind": "duplicates", "split": "training", "count": 1}


def test_check_writes_one_duplicate_in_the_singular(tmp_path: Path) -> None:
    lines = call("check", dirty(tmp_path), "--set", "tokenizer.vocab_size=300").lines
    assert [line.partition(" (")[0] for line in lines if "duplicate" in line] == ["  training: 1 duplicate"]


def test_check_reads_standard_input(tmp_path: Path) -> None:
    done = call("check", "-", "--json", "--set", "tokenizer.vocab_size=300", typed=dirty(tmp_path).read_bytes())
    assert json.loads(done.output)["corpora"][0] == {
        "name": "standard input", "split": "training", "weight": 1.0, "pairs": 65, "unreadable": 1
    }  # fmt: skip
    assert call("check", "-").said.startswith("error: standard input: there are no lines in it")


@pytest.mark.parametrize("case", ["missing", "no partner", "one line less", "not UTF-8", "empty", "only blank lines"])
def test_check_refuses_what_train_refuses(tmp_path: Path, case: str) -> None:
    files, message = bad_corpora(tmp_path)[case]
    done = call("check", *files)
    assert (done.code, done.output) == (2, b"")
    assert f"error: {message}" in done.said


def test_a_clean_corpus_has_no_findings(folder: Path) -> None:
    good = write(folder / "fresh.tsv", [f"{text} x\ty {text}" for text in sentences(60)])
    shown = call("check", good, "--set", "tokenizer.vocab_size=300").output.decode("utf-8")
    assert "\nNo findings.\n" in shown
