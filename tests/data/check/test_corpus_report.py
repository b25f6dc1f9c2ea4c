"""The report counts every kind of problem with file and line, omits good data, and needs little memory."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from regard.data.check.corpus_report import MEANINGS, SINGULAR, CorpusReport, Example, Finding, check_corpora
from regard.data.formats.corpus import Corpus, corpora
from regard.errors import DataError
from regard.progress import run_to_end

Write = Callable[[str, Sequence[tuple[str, str]]], Corpus]
GOOD = [(f"this is sentence number {number} of many", f"ceci est la phrase numéro {number}") for number in range(100)]


def check(train: Sequence[Corpus], valid: Sequence[Corpus] = (), test: Sequence[Corpus] = ()) -> CorpusReport:
    return run_to_end(check_corpora(train, valid, test))


def findings(report: CorpusReport, split: str = "training") -> dict[str, Finding]:
    return {finding.kind: finding for finding in report.findings if finding.split == split}


def locations(finding: Finding) -> list[tuple[str, int]]:
    return [(example.file, example.line) for example in finding.examples]


def test_good_data_has_no_findings(corpus: Write) -> None:
    report = check([corpus("a", GOOD)])
    assert report.findings == ()
    assert [(facts.name, facts.split, facts.pairs, facts.unreadable) for facts in report.corpora] == [
        ("a.en + a.fr", "training", 100, 0)
    ]


def test_lengths_have_mean_median_p95_and_maximum(corpus: Write) -> None:
    pairs = [("a" * length, "b c") for length in range(1, 101)] + [("", "b c")]
    (split,) = check([corpus("a", pairs)]).splits
    characters, words = split.lengths["source"]["characters"], split.lengths["source"]["words"]
    assert (characters.mean, characters.median, characters.p95, characters.maximum) == (50.5, 50, 95, 100)
    assert (words.mean, words.maximum) == (1.0, 1)
    assert split.lengths["target"]["words"].mean == 2.0
    assert split.pairs == 101


@pytest.mark.parametrize(
    ("kind", "pair", "file"),
    [
        ("source empty", ("", "x"), "b.en"),
        ("source empty", ("", ""), "b.en"),
        ("target empty", ("x", " \u00a0"), "b.fr"),
        ("copied", ("not translated at all", " not translated at all"), "b.en"),
        ("odd lengths", ("short", "very long " * 20), "b.en"),
        ("odd lengths", ("very long " * 20, "court"), "b.en"),
        ("control characters", ("a\0b", "ab"), "b.en"),
        ("control characters", ("ab", "a\x0bb"), "b.fr"),
        ("control characters", ("ab", "a\x0cb"), "b.fr"),
        ("control characters", ("a\rb", "ab"), "b.en"),
        ("line separators", ("a\u0085b", "ab"), "b.en"),
        ("line separators", ("ab", "a\u2028b"), "b.fr"),
        ("line separators", ("ab", "a\u2029b"), "b.fr"),
        ("direction marks", ("a\u202eb", "ab"), "b.en"),
        ("replacement characters", ("ab", "a\ufffd"), "b.fr"),
        ("byte order marks", ("a\ufeffb", "ab"), "b.en"),
        ("source in another script", ("по-русски", "en français"), "b.en"),
        ("target in another script", ("in English", "по-русски"), "b.fr"),
        ("duplicates", GOOD[7], "b.en"),
        ("sources with several targets", (GOOD[7][0], "autrement"), "b.en"),
    ],
)
def test_each_kind_is_found_with_file_and_line(corpus: Write, kind: str, pair: tuple[str, str], file: str) -> None:
    report = check([corpus("a", GOOD), corpus("b", [("one more", "encore une"), pair])])
    kinds = findings(report)
    assert kinds[kind].count == 1
    assert kinds[kind].meaning.startswith(MEANINGS[kind])
    assert locations(kinds[kind]) == [(file, 2)]


def test_unreadable_lines_are_counted(corpus: Write, tmp_path: Path) -> None:
    path = tmp_path / "c.tsv"
    path.write_bytes(b"a\tb\n" * 30 + b"\xff\tb\nc\n")
    report = check([corpus("a", GOOD), Corpus((path,))])
    finding = findings(report)["unreadable"]
    assert finding.count == 2
    assert [(e.file, e.line, e.text) for e in finding.examples] == [
        ("c.tsv", 31, "not UTF-8"),
        ("c.tsv", 32, "not 2 columns"),
    ]
    assert [(facts.pairs, facts.unreadable) for facts in report.corpora] == [(100, 0), (30, 2)]


def test_overlap_of_training_with_the_other_splits(corpus: Write) -> None:
    nearly = ("this is SENTENCE number 5 of very many!", "x")
    valid = [GOOD[3], (GOOD[4][0], "autre"), ("quite another thing altogether", "tout autre chose")]
    report = check([corpus("a", GOOD)], [corpus("v", valid)], [corpus("t", [GOOD[9], nearly, ("new", "neuf")])])
    validation, test = findings(report, "validation"), findings(report, "test")
    kinds = "pairs also in training", "sources also in training", "near duplicates of training sources"
    assert [validation[kind].count if kind in validation else 0 for kind in kinds] == [1, 1, 0]
    assert [test[kind].count if kind in test else 0 for kind in kinds] == [1, 0, 1]
    assert validation[kinds[0]].examples[0].text == "is a.en:4"
    assert locations(validation[kinds[1]]) == [("v.en", 2)]


def test_near_duplicates_of_training_sources_are_found(corpus: Write) -> None:
    text = "the very same eight words or a few more"
    train, test = [*GOOD, (text, "x")], [("The very same eight words, or a few less!", "y"), (text.upper(), "z")]
    found = findings(check([corpus("a", train)], [], [corpus("t", test)]), "test")
    finding = found["near duplicates of training sources"]
    assert finding.count == 2
    assert [example.text for example in finding.examples] == ["like a.en:101"] * 2


def test_an_exact_duplicate_is_not_reported_as_a_near_duplicate(corpus: Write) -> None:
    text = "the very same eight words or a few more"
    train = [*GOOD, (text + " yet", "x"), (text, "x")]
    kinds = findings(check([corpus("a", train)], [], [corpus("t", [(text, "y")])]), "test")
    assert "sources also in training" in kinds
    assert "near duplicates of training sources" not in kinds


ENGLISH = "The government said that it would be the first to know whether these things are right or wrong {}"
FRENCH = "Le gouvernement a dit qu'il serait le premier à savoir si ces choses sont justes ou mauvaises {}"


def test_swapped_sides_are_detected(corpus: Write) -> None:
    pairs = [(ENGLISH.format(number), FRENCH.format(number)) for number in range(200)]
    swapped = [(FRENCH.format(-number), ENGLISH.format(-number)) for number in range(1, 100)]
    report = check([corpus("a", pairs), corpus("b", swapped)], [corpus("v", swapped)])
    assert [(f.split, f.count, locations(f)) for f in report.findings if f.kind == "swapped sides"] == [
        ("training", 99, [("b.en", 1)]),
        ("validation", 99, [("v.en", 1)]),
    ]
    assert not any(f.kind == "swapped sides" for f in check([corpus("a", pairs), corpus("c", pairs[:99])]).findings)


def test_only_important_findings_are_warnings(corpus: Write) -> None:
    few = check([corpus("a", [*GOOD, *[("same", "same")] * 5])], [corpus("v", GOOD[:1])])
    assert [f.sentence() for f in few.warnings()] == [
        "validation data: 1 pair also in training (scores on them are too high); the first is v.en:1"
    ]
    many = check([corpus("a", [*GOOD, *[(f"same {n}", f"same {n}") for n in range(20)], *[("", "x")] * 50])])
    assert [f.sentence() for f in many.warnings()] == [
        "training data: 20 copied (source and target are the same; kept; they teach the model to leave text "
        "untranslated); the first is a.en:101"
    ]


def test_nothing_to_train_on_is_an_error(corpus: Write) -> None:
    with pytest.raises(DataError) as error:
        check([corpus("a", [("", "x"), ("y", " ")]), corpus("b", [("", "")])])
    assert str(error.value) == (
        "there is nothing to train on: every pair of a.en + a.fr, b.en + b.fr has an empty side; fill in the texts, or "
        "give other files"
    )


@pytest.mark.parametrize("extra_lines", [*range(-10, 0), *range(1, 11)])
def test_a_difference_in_line_count_is_always_detected(tmp_path: Path, extra_lines: int) -> None:
    source, target = tmp_path / "a.en", tmp_path / "a.fr"
    source.write_bytes(b"x\n" * 50)
    target.write_bytes(b"y\n" * (50 + extra_lines))
    with pytest.raises(
        DataError, match=rf"a\.en has 50, .*a\.fr has {50 + extra_lines}; .*remove line {min(50, 50 + extra_lines) + 1}"
    ):
        check(corpora([source, target]))


def test_the_report_does_not_depend_on_the_block_size(corpus: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [*GOOD, ("", "x"), ("a\0", "a\0"), ("я", "x"), *GOOD[:5], ("short", "long " * 50)]
    train, valid = [corpus("a", pairs), corpus("b", pairs[50:])], [corpus("v", GOOD[3:9])]
    expected = check(train, valid)
    monkeypatch.setattr("regard.data.check.corpus_report._PAIRS_AT_ONCE", 7)
    assert check(train, valid) == expected
    monkeypatch.setattr("regard.data.check.corpus_report._CHARACTERS_AT_ONCE", 50)
    assert check(train, valid) == expected


MEMORY = """
import resource, sys
from pathlib import Path
from regard.data.check.corpus_report import check_corpora
from regard.data.formats.corpus import corpora

folder = Path(sys.argv[1])
peaks = []
for pairs in (60_000, 360_000):
    path = folder / f"{pairs}.tsv"
    with path.open("w") as file:
        file.writelines(f"the source {n} {n * 7919 % 100003}\\tle texte {n * 31 % 50021}\\n" for n in range(pairs))
    list(check_corpora(corpora([path]), corpora([folder / "v.tsv"])))
    peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
print((peaks[1] - peaks[0]) / 300_000)
"""


def test_memory_grows_by_less_than_16_bytes_per_pair(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    (tmp_path / "v.tsv").write_text("".join(f"the source {n} 1\tx\n" for n in range(1000)), "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run(
        [sys.executable, "-c", MEMORY, str(tmp_path)], capture_output=True, text=True, env=environment, check=False
    )
    assert process.returncode == 0, process.stderr
    assert float(process.stdout) < 16


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("duplicates", "1 duplicate"),
        ("odd lengths", "1 odd length"),
        ("control characters", "1 text with control characters"),
        ("sources with several targets", "1 source with several targets"),
        ("near duplicates of training sources", "1 near duplicate of a training source"),
        ("source empty", "1 source empty"),
    ],
)
def test_one_occurrence_is_written_in_the_singular(kind: str, one: str) -> None:
    finding = Finding(kind, "training", 1, MEANINGS[kind], (Example("a.en", 7, ""),))
    assert finding.amount() == one
    assert finding.sentence() == f"training data: {one} ({MEANINGS[kind]}); the first is a.en:7"
    assert replace(finding, count=2_000).amount() == f"2,000 {kind}"


def test_every_kind_in_the_plural_has_a_singular() -> None:
    adjectives = ("unreadable", "empty", "copied", "script")
    assert set(SINGULAR) == {kind for kind in MEANINGS if not kind.endswith(adjectives)}
