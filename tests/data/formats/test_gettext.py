"""Gettext catalogues: translated messages are pairs, the others are reported."""

import gzip
from collections.abc import Callable
from pathlib import Path

import polib
import pytest

from regard.data.formats import gettext as module
from regard.data.formats.corpus import Corpus
from regard.data.formats.gettext import Catalogue
from regard.data.formats.pairs import Pairs
from regard.data.formats.records import InvalidRecord, Pair, Record
from regard.errors import DataError

Write = Callable[[str, bytes], Path]
HEAD = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
MESSAGES = (
    HEAD
    + """msgid "one"
msgstr "un"

#: main.c:7
msgctxt "menu"
msgid ""
"two\\n"
"lines\\n"
msgstr "deux\u2028lignes\\n"

msgid "untranslated"
msgstr ""

#, fuzzy
msgid "perhaps"
msgstr "peut-être"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fichier"
msgstr[1] "%d fichiers"

#~ msgid "old"
#~ msgstr "vieux"
"""
)


def read(path: Path) -> list[Record]:
    return list(Catalogue(path, compiled=path.suffix == ".mo"))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_messages_become_pairs_with_their_line_numbers(write: Write, pack: Callable[[bytes], bytes]) -> None:
    path = write("a.po", pack(MESSAGES.encode()))
    advice = "check its translation and remove the flag"
    assert read(path) == [
        Pair("one", "un", 5),
        Pair("two lines", "deux\u2028lignes", 8),
        Pair("untranslated", "", 15),
        InvalidRecord(path, 18, "fuzzy", f"{path}:18: the message is marked as fuzzy; {advice}", expected=True),
        Pair("%d file", "%d fichier", 22),
        Pair("%d files", "%d fichiers", 22),
        InvalidRecord(path, 27, "obsolete", f"{path}:27: the message is marked as obsolete; {advice}", expected=True),
    ]


def test_a_compiled_catalogue_gives_the_same_pairs(write: Write, tmp_path: Path) -> None:
    source = write("a.po", MESSAGES.encode())
    polib.pofile(str(source)).save_as_mofile(str(tmp_path / "a.mo"))
    found = read(tmp_path / "a.mo")
    assert {record[:2] for record in found if isinstance(record, Pair)} == {
        ("one", "un"),
        ("two lines", "deux\u2028lignes"),
        ("%d file", "%d fichier"),
        ("%d files", "%d fichiers"),
    }
    assert sorted({record.line for record in found}) == [1, 2, 3]


def test_fuzzy_messages_do_not_count_as_damage(write: Write) -> None:
    fuzzy = '\n#, fuzzy\nmsgid "a"\nmsgstr "b"\n'
    path = write("a.po", (HEAD + fuzzy * 5 + '\nmsgid "c"\nmsgstr "d"\n').encode())
    assert [record for record in Pairs(Corpus((path,))) if isinstance(record, Pair)] == [Pair("c", "d", 26)]
    path.write_text(HEAD + fuzzy, "utf-8")
    with pytest.raises(DataError, match=r"a\.po:6: the message is marked as fuzzy.*invalid entries: 1 of 1;"):
        list(Pairs(Corpus((path,))))


def test_another_encoding_is_read_as_declared(write: Write) -> None:
    text = HEAD.replace("UTF-8", "ISO-8859-1") + 'msgid "summer"\nmsgstr "été"\n'
    assert read(write("a.po", text.encode("latin1"))) == [Pair("summer", "été", 5)]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.po", HEAD + 'msgid "a"\nmsgstr "b" c"\n',
         ":6: this is not PO (unescaped double quote found); check it with: msgfmt -c FILE"),
        ("a.po", "hello\n", ":1: this is not PO (unexpected text); check it with: msgfmt -c FILE"),
        ("a.mo", "hello, world", ": this is not a MO file, or it is damaged or cut off; create it again"),
        ("a.mo", "", ": this is not a MO file, or it is damaged or cut off; create it again"),
    ],
)  # fmt: skip
def test_a_damaged_catalogue_is_an_error(write: Write, name: str, data: str, message: str) -> None:
    path = write(name, data.encode())
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value) == f"{path}{message}"


def test_a_wrong_encoding_is_an_error(write: Write) -> None:
    path = write("a.po", HEAD.encode() + b'msgid "a"\nmsgstr "\xe9t\xe9"\n')
    with pytest.raises(DataError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: byte ")
    assert str(error.value).endswith(
        "(0xe9) is not utf-8, the encoding of the catalogue; correct its Content-Type, or convert it with: msgconv -t "
        "utf-8"
    )


def test_a_truncated_compiled_catalogue_is_an_error_or_harmless(write: Write, tmp_path: Path) -> None:
    polib.pofile(str(write("a.po", MESSAGES.encode()))).save_as_mofile(str(tmp_path / "complete.mo"))
    data = (tmp_path / "complete.mo").read_bytes()
    problems = []
    for size in range(len(data)):
        try:
            read(write("a.mo", data[:size]))
        except DataError as error:
            problems.append(str(error))
    assert set(problems) == {
        f"{tmp_path / 'a.mo'}: this is not a MO file, or it is damaged or cut off; create it again"
    }


def test_a_huge_catalogue_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CATALOGUE_BYTES", 1 << 20)
    path = write("a.po.gz", gzip.compress(b"#" * (1 << 21)))
    with pytest.raises(DataError) as error:
        list(Catalogue(path, compiled=False))
    assert str(error.value) == (
        f"{path}: the catalogue is larger than 1 MB, and catalogues are read into memory as a whole; convert it to "
        'JSON Lines ({"source": "…", "target": "…"}), which are not'
    )
