"""Reading pairs: unchanged and in place; every invalid record is reported."""

import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.data.formats.corpus import Corpus, check_direction, corpora, detect_languages
from regard.data.formats.pairs import Pairs, read_references
from regard.data.formats.records import InvalidRecord, Pair
from regard.errors import DataError

Write = Callable[[str, bytes], Path]


def test_files_form_corpora_in_the_given_order(write: Write) -> None:
    a_en, a_fr, b, c_en, c_fr = (write(name, b"x\tx\n") for name in ("a.en", "a.fr", "b.tsv", "c.en", "c.fr"))
    assert corpora([a_en, a_fr, b, c_en, c_fr]) == [Corpus((a_en, a_fr)), Corpus((b,)), Corpus((c_en, c_fr))]
    assert [corpus.name for corpus in corpora([a_en, a_fr, b])] == ["a.en + a.fr", "b.tsv"]


def test_compressed_tsv_is_a_tsv(write: Write) -> None:
    path = write("b.tsv.gz", gzip.compress(b"a\tb\n"))
    assert corpora([path]) == [Corpus((path,))]
    assert list(Pairs(Corpus((path,)))) == [Pair("a", "b", 1)]


def test_a_file_without_partner_is_explained(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.en: this file has no partner; give a source file and a target file"):
        corpora([write("a.en", b"x\n"), write("b.tsv", b"a\tb\n")])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.en: no such file; check the name and the current folder"):
        corpora([tmp_path / "absent.en"])


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="this is a folder; give the files in it"):
        corpora([tmp_path])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="not a regular file and can be read only once"):
        corpora([tmp_path / "pipe"])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["train.en", "train.fr.gz"], ("en", "fr")),
        (["train.en.txt", "train.pt-BR.txt"], ("en", "pt-BR")),
        (["a.tsv"], (None, None)),
        (["a.tsv", "a.en", "a.fr"], ("en", "fr")),
        (["a.en", "a.fr", "b.de", "b.fr"], (None, "fr")),
        (["train.src", "train.tgt"], (None, None)),
        (["source.txt", "target.txt"], (None, None)),
        (["source", "target.Fr"], (None, None)),
    ],
)
def test_languages_are_detected_from_suffixes(write: Write, names: list[str], expected: tuple[str, str]) -> None:
    assert detect_languages(corpora([write(name, b"x") for name in names])) == expected


@pytest.mark.parametrize(("source", "target"), [(3, 2), (2, 3), (1, 9), (9, 1), (0, 2), (2, 0)])
def test_files_of_different_length_are_reported_with_their_counts(write: Write, source: int, target: int) -> None:
    corpus = Corpus((write("a.en", b"x\n" * source), write("a.fr", b"y\n" * target)))
    with pytest.raises(
        DataError, match=rf"a\.en has {source}, .*a\.fr has {target}; .*remove line {min(source, target) + 1}"
    ):
        list(Pairs(corpus))


def test_pairs_have_line_numbers(write: Write) -> None:
    corpus = Corpus((write("a.en", b"a\n\nc"), write("a.fr", b"x\ny\n\n")))
    assert list(Pairs(corpus)) == [Pair("a", "x", 1), Pair("", "y", 2), Pair("c", "", 3)]


def test_bytes_read_reaches_the_size_on_disk(write: Write) -> None:
    paths = write("a.en.gz", gzip.compress(b"a\n" * 10_000)), write("a.fr", b"b\n" * 10_000)
    pairs = Pairs(Corpus(paths))
    assert len(list(pairs)) == 10_000
    assert pairs.bytes_read == sum(path.stat().st_size for path in paths)


def test_a_missing_tab_is_an_error(write: Write) -> None:
    corpus = Corpus((write("a.tsv", b"a\tb\n" + b"c" * 100 + b"\n"),))
    with pytest.raises(DataError, match=r"a\.tsv:2: expected 2 columns .* found 1; separate source .* is 'c{60}'…"):
        list(Pairs(corpus))


def test_a_third_column_is_an_error(write: Write) -> None:
    with pytest.raises(
        DataError, match=r"a\.tsv:1: expected 2 .* found 3; remove the other columns; the line is 'a\\tb\\tc'"
    ):
        list(Pairs(Corpus((write("a.tsv", b"a\tb\tc\n"),))))


def test_an_empty_corpus_is_an_error(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.tsv: there are no lines in it"):
        list(Pairs(Corpus((write("a.tsv", b""),))))
    with pytest.raises(DataError, match=r"a\.en \+ a\.fr: there are no lines in it"):
        list(Pairs(Corpus((write("a.en", b""), write("a.fr", b"")))))


def test_references_from_a_tsv(write: Write) -> None:
    path = write("test.tsv", b"a\tb\tc\nd\te\t\n")
    assert list(read_references([path])) == [("a", ("b", "c")), ("d", ("e", ""))]


def test_references_from_aligned_files(write: Write) -> None:
    paths = [write("s", b"a\nb\n"), write("r1", b"c\nd\n"), write("r2", b"e\nf\n")]
    assert list(read_references(paths)) == [("a", ("c", "e")), ("b", ("d", "f"))]


def test_every_source_needs_the_same_number_of_references(write: Write) -> None:
    with pytest.raises(DataError, match=r"test\.tsv:2: expected 3 columns separated by tabs, found 2"):
        list(read_references([write("test.tsv", b"a\tb\tc\nd\te\n")]))
    with pytest.raises(DataError, match=r"test\.tsv:1: expected 2 columns separated by tabs, found 1"):
        list(read_references([write("test.tsv", b"a\n")]))
    with pytest.raises(DataError, match=r"s has 1, .*r1 has 1, .*r2 has 2"):
        list(read_references([write("s", b"a\n"), write("r1", b"b\n"), write("r2", b"c\nd\n")]))


def test_references_need_a_tsv_or_two_files(write: Write) -> None:
    for paths in ([], [write("test.en", b"a\n")], [write("test.en", b"a\n"), write("test.tsv", b"a\tb\n")]):
        with pytest.raises(DataError, match=r"expected a source file and one or more reference files"):
            list(read_references(paths))


def test_empty_references_are_an_error(write: Write) -> None:
    with pytest.raises(DataError, match=r"test\.tsv: there are no lines in it; nothing to compare with"):
        list(read_references([write("test.tsv", b"")]))


def test_two_files_of_one_language_are_refused_unless_the_model_has_languages(write: Write) -> None:
    found = corpora([write("a.de", b"x\n"), write("b.de", b"y\n")])
    with pytest.raises(DataError, match=r"both sides of a\.de \+ b\.de are named de; .*--languages de de"):
        check_direction(found)
    check_direction(found, ("de", "de"))
    check_direction(found, ("en", "fr"))  # the languages of the model take precedence


def test_one_invalid_line_in_ten_is_left_out_and_reported(write: Write) -> None:
    path = write("a.tsv", b"a\tb\n" * 9 + b"c\n")
    *pairs, last = Pairs(Corpus((path,)))
    assert pairs == [Pair("a", "b", number) for number in range(1, 10)]
    assert isinstance(last, InvalidRecord)
    assert (last.path, last.line, last.reason) == (path, 10, "not 2 columns")


def test_more_than_one_invalid_line_in_ten_is_an_error(write: Write) -> None:
    path = write("a.tsv", b"a\tb\n" * 8 + b"c\n")
    with pytest.raises(DataError) as error:
        list(Pairs(Corpus((path,))))
    assert str(error.value) == (
        f"{path}:9: expected 2 columns separated by tabs, found 1; separate source and target by one tab; the line is "
        "'c' (invalid entries: 1 of 9; this is the first; up to one in 10 would be left out and listed)"
    )


def test_an_invalid_line_removes_its_pair(write: Write) -> None:
    good = b"x\n" * 20
    source, target = write("a.en", b"1\n\xff\n3\n" + good), write("a.fr", b"1\n2\n\xff\n" + good)
    found = list(Pairs(Corpus((source, target))))
    assert found[0] == Pair("1", "1", 1)
    assert [(record.path, record.line) for record in found[1:3] if isinstance(record, InvalidRecord)] == [
        (source, 2),
        (target, 3),
    ]
    assert found[3] == Pair("x", "x", 4)


@pytest.mark.parametrize(("text", "weight"), [("0.3", 0.3), ("2", 2.0), ("1e-3", 0.001)])
def test_a_corpus_may_have_a_weight(write: Write, text: str, weight: float) -> None:
    tsv, source, target = write("a.tsv", b""), write("a.en", b""), write("a.fr", b"")
    assert corpora([Path(f"{tsv}={text}"), source, Path(f"{target}={text}")]) == [
        Corpus((tsv,), weight),
        Corpus((source, target), weight),
    ]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "much", ""])
def test_an_invalid_weight_is_refused(write: Write, text: str) -> None:
    path = write("a.tsv", b"")
    with pytest.raises(DataError) as error:
        corpora([Path(f"{path}={text}")])
    assert str(error.value) == (
        f"{path}={text}: the weight of a corpus is a number above 0, such as {path}=0.3 to sample three in ten pairs "
        f"per epoch or {path}=2 to sample each pair twice, not {text!r}"
    )


def test_the_weight_of_two_files_follows_the_target_file(write: Write) -> None:
    source, target = write("a.en", b""), write("a.fr", b"")
    with pytest.raises(DataError) as error:
        corpora([Path(f"{source}=2"), target])
    assert str(error.value) == f"{source}=2: write the weight after the target file: {source} TARGET=2"


def test_a_file_name_may_contain_an_equals_sign(write: Write) -> None:
    path = write("a=2.tsv", b"")
    assert corpora([path]) == [Corpus((path,))]


@pytest.mark.parametrize("end", ["", ".gz", ".zst", ".GZ"])
@pytest.mark.parametrize("kind", [".tsv", ".jsonl", ".tmx", ".po", ".mo"])
def test_the_suffix_tells_that_a_file_holds_both_sides(write: Write, kind: str, end: str) -> None:
    path = write(f"a{kind}{end}", b"")
    assert corpora([path]) == [Corpus((path,))]


def test_corpora_of_opposite_directions_are_refused(write: Write) -> None:
    found = corpora([write(name, b"x\n") for name in ("a.en", "a.fr", "b.fr", "b.en")])
    with pytest.raises(DataError) as error:
        check_direction(found)
    assert str(error.value) == (
        "a.en + a.fr goes from en to fr, but b.fr + b.en from fr to en; give the source first everywhere, or state "
        "the languages: --languages en fr"
    )
    check_direction(found[:1] * 2)
    check_direction(found[:1], ("en", "fr"))
    with pytest.raises(DataError, match=r"^the model goes from en to fr, but b\.fr \+ b\.en from fr to en; "):
        check_direction(found[1:], ("en", "fr"))


def test_a_tmx_file_tells_its_direction_too(write: Write) -> None:
    unit = '<tu><tuv xml:lang="en-GB"><seg>a</seg></tuv><tuv xml:lang="fr"><seg>b</seg></tuv></tu>'
    memory = f'<tmx version="1.4"><header srclang="fr"/><body>{unit}</body></tmx>'.encode()
    paths = [write("a.en", b"x\n"), write("a.fr", b"y\n"), write("b.tmx", memory)]
    with pytest.raises(DataError, match=r"^a\.en \+ a\.fr goes from en to fr, but b\.tmx from fr to en; "):
        check_direction(corpora(paths))
    check_direction(corpora(paths, languages=("en", "fr")))


def test_two_varieties_of_a_language_count_as_two_languages(write: Write) -> None:
    found = corpora([write(name, b"x\n") for name in ("a.pt_BR", "a.pt_PT", "b.pt_PT", "b.pt_BR")])
    check_direction(found[:1])
    with pytest.raises(DataError, match=r"goes from pt_BR to pt_PT, but"):
        check_direction(found)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have only names of valid text")
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"donn\xe9es.tsv")
    path.write_bytes(b"a\tb\n")
    with pytest.raises(DataError, match="the name is not UTF-8 and cannot be written into reports; rename the file"):
        corpora([path])


def test_references_from_other_formats(write: Write) -> None:
    path = write("test.jsonl", b'{"source": "a", "target": "b"}\n')
    assert list(read_references([path])) == [("a", ("b",))]
    with pytest.raises(DataError, match=r"test\.jsonl:2: this is not JSON"):
        list(read_references([write("test.jsonl", path.read_bytes() * 1 + b"{\n" + path.read_bytes() * 30)]))
