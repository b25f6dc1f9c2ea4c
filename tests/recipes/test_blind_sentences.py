"""The blind comparison: the order hides the model, and judging finds it again."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]


def test_a_judge_who_knows_the_better_side_is_understood(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blind = script("blind_sentences")
    sources = [f"sentence {number}" for number in range(40)]
    files = {name: tmp_path / f"{name}.tsv" for name in ("before", "after", "hidden")}
    for name in ("before", "after"):
        files[name].write_text("".join(f"{source}\t{name} {source}\n" for source in sources), "utf-8")

    def run(command: str) -> None:
        words = [command, str(files["before"]), str(files["after"]), "7", str(files["hidden"])]
        monkeypatch.setattr(sys, "argv", ["blind_sentences.py", *words])
        blind.main()

    run("shuffle")
    rows = [line.split("\t") for line in files["hidden"].read_text("utf-8").splitlines()]
    assert sorted(row[1] for row in rows) == sorted(sources)
    first = sum(row[2].startswith("after") for row in rows)
    assert 10 < first < 30
    judged = [["A" if row[2].startswith("after") else "B", *row[1:]] for row in rows]
    judged[0][0], judged[1][0] = "=", "B" if judged[1][0] == "A" else "A"
    files["hidden"].write_text("".join("\t".join(row) + "\n" for row in judged), "utf-8")
    run("judge")
    assert capsys.readouterr().out == "after is better: 38, before is better: 1, equal: 1\n"


def test_the_stored_translations_are_those_of_the_sentences(script: Script, repository: Path) -> None:
    blind = script("blind_sentences")
    sources = [line.split("\t")[2] for line in blind.SENTENCES.read_text("utf-8").splitlines()[1:]]
    before = blind.read(repository / "recipes" / "sentences-before.tsv")
    assert [source for source, _ in before] == sources and len(sources) == len(set(sources)) == 40
