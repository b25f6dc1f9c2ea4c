"""TMX: streamed, two of possibly several languages, and no declaration is followed."""

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from regard.data.formats.corpus import Corpus, corpora, detect_languages
from regard.data.formats.lines import MAX_LINE_BYTES
from regard.data.formats.pairs import Pairs
from regard.data.formats.records import InvalidRecord, Pair, Record
from regard.data.formats.tmx import Tmx
from regard.errors import DataError

Write = Callable[[str, bytes], Path]


def unit(**texts: str) -> str:
    variants = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in texts.items())
    return f"<tu>{variants}</tu>\n"


def document(units: Sequence[str], source: str = "en", before: str = "") -> bytes:
    head = f'<?xml version="1.0"?>\n{before}<tmx version="1.4"><header srclang="{source}"/><body>\n'
    return (head + "".join(units) + "</body></tmx>\n").encode()


def read(path: Path, wanted: tuple[str, str] | None = None) -> list[Record]:
    return list(Tmx(path, wanted))


def test_units_become_pairs_with_their_line_numbers(write: Write) -> None:
    path = write("a.tmx", document([unit(fr="un", en="one"), unit(en="a &amp; b\u2028", fr="é")]))
    assert read(path) == [Pair("one", "un", 3), Pair("a & b\u2028", "é", 4)]


def test_an_external_document_type_is_ignored(write: Write) -> None:
    path = write("a.tmx", document([unit(en="one", fr="un")], before='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'))
    assert read(path) == [Pair("one", "un", 4)]


def test_utf16_is_read(write: Write) -> None:
    text = document([unit(en="one", fr="été")]).decode().replace("?>", ' encoding="utf-16"?>')
    assert read(write("a.tmx", text.encode("utf-16"))) == [Pair("one", "été", 3)]


@pytest.mark.parametrize("encoding", ["Shift_JIS", "none-such"])
def test_an_encoding_that_cannot_be_read_is_named(write: Write, encoding: str) -> None:
    text = document([unit(en="one", fr="un")]).decode().replace("?>", f' encoding="{encoding}"?>')
    with pytest.raises(DataError, match=r"a\.tmx: its encoding cannot be read \(.*convert it to UTF-8"):
        read(write("a.tmx", text.encode()))


def test_inline_markup_is_removed_and_its_text_is_kept(write: Write) -> None:
    path = write(
        "a.tmx", document([unit(en='<bpt i="1">&lt;b></bpt>bold<ept i="1">&lt;/b></ept> <hi>text</hi>', fr="x")])
    )
    assert read(path) == [Pair("bold text", "x", 3)]


def test_line_breaks_become_spaces(write: Write) -> None:
    assert read(write("a.tmx", document([unit(en="\n  one\n  two\n", fr="un")]))) == [Pair("one two", "un", 3)]


@pytest.mark.parametrize(
    ("codes", "wanted", "found"),
    [
        (["en-US", "fr-FR"], ("en", "fr"), True),
        (["EN_us", "FR"], ("en-US", "fr-CA"), True),
        (["en", "fr", "de"], ("fr", "de"), True),
        (["pt-PT", "fr"], ("pt-BR", "fr"), False),
        (["eng", "fr"], ("en", "fr"), False),
    ],
)
def test_languages_are_matched(write: Write, codes: list[str], wanted: tuple[str, str], found: bool) -> None:
    path = write("a.tmx", document([unit(**{code: code for code in codes})]))
    assert isinstance(read(path, wanted)[0], Pair) == found


def test_an_exact_language_code_takes_precedence(write: Write) -> None:
    path = write("a.tmx", document([unit(**{"en-GB": "lift", "en-US": "elevator", "en": "?", "fr": "x"})]))
    assert read(path, ("en-US", "fr")) == [Pair("elevator", "x", 3)]
    assert read(path, ("en", "fr")) == [Pair("?", "x", 3)]


def test_the_languages_of_a_tmx_file_are_detected(write: Write) -> None:
    path = write("a.tmx", document([unit(fr="un", en="one")]))
    assert detect_languages(corpora([path])) == ("en", "fr")
    assert detect_languages(corpora([path], languages=("fr", "en"))) == ("fr", "en")
    assert detect_languages(corpora([write("b.tmx", document([]))])) == (None, None)


@pytest.mark.parametrize(
    ("units", "source", "listed", "named"),
    [
        ([unit(en="a", fr="b", de="c")], "en", "en, fr, de", "en"),
        ([unit(en="a", fr="b")], "*all*", "en, fr", "*all*"),
        ([unit(en="a")], "en", "en", "en"),
        ([unit()], "", "none", "not given"),
    ],
)
def test_ambiguous_languages_must_be_chosen(
    write: Write, units: list[str], source: str, listed: str, named: str
) -> None:
    path = write("a.tmx", document(units, source))
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value) == (
        f"{path}:3: the first unit has the languages {listed}, and the source language is {named}; choose two: "
        "--languages en fr"
    )


def test_a_unit_without_one_of_the_languages_is_left_out(write: Write) -> None:
    path = write("a.tmx", document([unit(en="a", fr="b"), unit(en="a", de="c")]))
    message = f"{path}:4: the unit has no text in fr, only in en, de; check --languages, or remove the unit"
    assert read(path) == [Pair("a", "b", 3), InvalidRecord(path, 4, "no fr text", message, expected=True)]
    with pytest.raises(DataError, match=r":3: the unit has no text in nl, only in en, fr.*invalid entries: 2 of 2;"):
        list(Pairs(Corpus((path,), languages=("en", "nl"))))


def test_a_very_long_text_is_left_out(write: Write) -> None:
    path = write(
        "a.tmx.gz", gzip.compress(document([unit(en="x" * (MAX_LINE_BYTES + 1), fr="b"), unit(en="a", fr="b")]))
    )
    record, pair = read(path)
    assert isinstance(record, InvalidRecord)
    assert record.reason == "line too long"
    assert pair == Pair("a", "b", 4)


@pytest.mark.parametrize(
    ("data", "line", "column", "problem"),
    [
        (document([unit(en="one", fr="un")])[:-9], 4, 1, "unclosed token"),
        (document(["<tu><seg>"]), 3, 12, "mismatched tag"),
        (document([unit(en="a\x01", fr="b")]), 3, 30, "not well-formed (invalid token)"),
        (b"plain text", 1, 1, "syntax error"),
    ],
)
def test_damage_is_reported_with_its_line(write: Write, data: bytes, line: int, column: int, problem: str) -> None:
    path = write("a.tmx", data)
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value) == (
        f"{path}:{line}: the XML is damaged or cut off at column {column} ({problem}); fix it there, or export or "
        "download the file again"
    )


def test_an_entity_of_the_external_document_type_is_an_error(write: Write, tmp_path: Path) -> None:
    (tmp_path / "tmx14.dtd").write_text('<!ENTITY x "expanded">')
    path = write("a.tmx", document([unit(en="&x;", fr="b")], before='<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'))
    with pytest.raises(DataError, match=r":4: the XML is damaged or cut off at column 29 \(undefined entity &x;\)"):
        read(path)


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % a SYSTEM "http://127.0.0.1:1/x"> %a;',
    ],
)
def test_entities_are_never_expanded_nor_fetched(write: Write, declared: str) -> None:
    path = write("a.tmx", document([unit(en="&a;", fr="b")], before=f"<!DOCTYPE tmx [{declared}]>\n"))
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value) == (
        f"{path}: it declares entities or refers to other files, which can be used for attacks; TMX needs neither, "
        "so remove the declarations in its first lines (<!ENTITY …>)"
    )
