"""Reading pairs: nothing changed, nothing shifted, every fault named."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.lines import Lines
from regard.data.pairs import Corpus, Pairs, corpora, languages, read_references
from regard.data.records import Pair
from regard.errors import DataError

Write = Callable[[str, bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write_file


def test_files_pair_up_in_the_order_given(write: Write) -> None:
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
def test_languages_come_from_suffixes(write: Write, names: list[str], expected: tuple[str, str]) -> None:
    assert languages(corpora([write(name, b"x") for name in names])) == expected


def test_lines_end_at_newline_alone(write: Write) -> None:
    lines = ["a\u2028b", "c\u0085d", "e\rf", "g\x0bh\x0c", "  i\u00a0 ", "j\0k", "", "l\x1c\r"]
    path = write("a.en", "\n".join(lines).encode())
    assert list(Lines(path)) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_every_line_comes_back(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "any"
    # A byte order mark at the start and a carriage return at an end are the two documented exceptions.
    lines = [line.rstrip("\r").lstrip("\ufeff") for line in lines]
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    assert list(Lines(path)) == lines


def test_windows_line_ends_lose_one_carriage_return(write: Write) -> None:
    assert list(Lines(write("a", b"a\r\nb\r\r\nc\r"))) == ["a", "b\r", "c\r"]


def test_byte_order_mark_goes_only_at_the_start(write: Write) -> None:
    mark = "\ufeff".encode()
    assert list(Lines(write("a", mark + b"a\n" + mark + b"b\n"))) == ["a", "\ufeffb"]


@pytest.mark.parametrize(("data", "count"), [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"a\nb", 2)])
def test_a_final_newline_begins_no_line(write: Write, data: bytes, count: int) -> None:
    assert len(list(Lines(write("a", data)))) == count


def test_gzip_shows_in_the_bytes_not_the_name(write: Write) -> None:
    assert list(Lines(write("a.txt", gzip.compress(b"a\nb\n")))) == ["a", "b"]
    assert list(Lines(write("a.gz", b"a\nb\n"))) == ["a", "b"]
    two_members = gzip.compress(b"a\n") + gzip.compress(b"b\n")
    assert list(Lines(write("two.gz", two_members))) == ["a", "b"]


def test_cut_off_gzip_is_an_error(write: Write) -> None:
    path = write("a.gz", gzip.compress(os.urandom(3000).hex().encode())[:-20])
    with pytest.raises(DataError, match=r"a\.gz: the gzip data is damaged or cut off \(.*gzip -t .*a\.gz"):
        list(Lines(path))


def test_broken_gzip_is_an_error(write: Write) -> None:
    data = bytearray(gzip.compress(os.urandom(3000).hex().encode()))
    data[100:120] = bytes(20)
    with pytest.raises(DataError, match="the gzip data is damaged or cut off"):
        list(Lines(write("a.gz", bytes(data))))


def test_an_unreadable_file_is_an_error(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.en", b"a\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"a\.en: cannot be read \(Permission denied\); check its permissions"):
        list(Lines(path))


def test_a_bad_byte_has_file_line_and_column(write: Write) -> None:
    path = write("a.en", b"good\nna\xefve\n")
    with pytest.raises(DataError, match=r"a\.en:2: byte 3 of the line \(0xef\) is not UTF-8.*iconv -f latin1 -t utf-8"):
        list(Lines(path))


def test_utf16_is_recognised(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.en:1: byte 1 .* if it is utf-16, convert it: iconv -f utf-16"):
        list(Lines(write("a.en", "hello\n".encode("utf-16"))))


def test_encoded_surrogates_are_not_utf8(write: Write) -> None:
    with pytest.raises(DataError, match="byte 1 of the line"):
        list(Lines(write("a.en", b"\xed\xa0\x80\n")))


@pytest.mark.parametrize(("source", "target"), [(3, 2), (2, 3), (1, 9), (9, 1), (0, 2), (2, 0)])
def test_unequal_files_show_both_counts(write: Write, source: int, target: int) -> None:
    corpus = Corpus((write("a.en", b"x\n" * source), write("a.fr", b"y\n" * target)))
    with pytest.raises(
        DataError, match=rf"a\.en has {source}, .*a\.fr has {target}; .*before line {min(source, target) + 1}"
    ):
        list(Pairs(corpus))


def test_pairs_have_line_numbers(write: Write) -> None:
    corpus = Corpus((write("a.en", b"a\n\nc"), write("a.fr", b"x\ny\n\n")))
    assert list(Pairs(corpus)) == [Pair("a", "x", 1), Pair("", "y", 2), Pair("c", "", 3)]


def test_bytes_read_end_at_the_size_on_disk(write: Write) -> None:
    paths = write("a.en.gz", gzip.compress(b"a\n" * 10_000)), write("a.fr", b"b\n" * 10_000)
    reading = Pairs(Corpus(paths))
    assert len(list(reading)) == 10_000
    assert reading.bytes_read == sum(path.stat().st_size for path in paths)


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
    with pytest.raises(DataError, match=r"a\.tsv: there is no line in it"):
        list(Pairs(Corpus((write("a.tsv", b""),))))
    with pytest.raises(DataError, match=r"a\.en \+ a\.fr: there is no line in it"):
        list(Pairs(Corpus((write("a.en", b""), write("a.fr", b"")))))


def test_references_from_a_tsv(write: Write) -> None:
    path = write("test.tsv", b"a\tb\tc\nd\te\t\n")
    assert list(read_references([path])) == [("a", ("b", "c")), ("d", ("e", ""))]


def test_references_from_aligned_files(write: Write) -> None:
    paths = [write("s", b"a\nb\n"), write("r1", b"c\nd\n"), write("r2", b"e\nf\n")]
    assert list(read_references(paths)) == [("a", ("c", "e")), ("b", ("d", "f"))]


def test_references_must_be_equally_many(write: Write) -> None:
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
    with pytest.raises(DataError, match=r"test\.tsv: there is no line in it; nothing to compare with"):
        list(read_references([write("test.tsv", b"")]))


def test_two_files_of_one_language_are_questioned(write: Write) -> None:
    both = corpora([write("a.de", b"x\n"), write("b.de", b"y\n")])
    with pytest.raises(DataError, match=r"a\.de and .*b\.de are both named as de; .*--languages de de"):
        languages(both)
