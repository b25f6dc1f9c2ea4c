"""Files keep their encoding, their line ends, and everything that is not text."""

import codecs

import pytest
from tests.documents.translators import identity, upper

from regard.documents.files import read_file
from regard.errors import DataError


def translate(name: str, data: bytes) -> bytes:
    file = read_file(name, data)
    return file.encode(file.document.translate(upper).text)


@pytest.mark.parametrize(
    ("name", "data", "translated"),
    [
        ("a.txt", b"one two\n\n  three\r\nfour", b"ONE TWO\n\n  THREE\r\nFOUR"),
        ("a.txt", b"<b>one</b> &amp;", b"<B>ONE</B> &AMP;"),
        ("a.TXT", codecs.BOM_UTF8 + "été\n".encode(), codecs.BOM_UTF8 + "ÉTÉ\n".encode()),
        ("a.txt", codecs.BOM_UTF16_LE + "été".encode("utf-16-le"), codecs.BOM_UTF16_LE + "ÉTÉ".encode("utf-16-le")),
        ("a.txt", b"", b""),
        ("a.html", b"<p>one</p>\r\n", b"<p>ONE</p>\r\n"),
        ("a.htm", b"<meta charset=latin1>\xe9t\xe9", b"<meta charset=latin1>\xc9T\xc9"),
        ("a.htm", b"<meta charset=utf-16>\xc3\xa9", b"<meta charset=utf-16>\xc3\x89"),
        (
            "a.htm",
            b'<meta content="text/html; charset=ISO-8859-2">\xb6',
            b'<meta content="text/html; charset=ISO-8859-2">\xa6',
        ),
        ("a.html", b"<meta charset=ascii>&#322;", b"<meta charset=ascii>&#321;"),
    ],
)
def test_files(name: str, data: bytes, translated: bytes) -> None:
    assert translate(name, data) == translated
    file = read_file(name, data)
    assert file.encode(file.document.translate(identity).text) == data


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.docx", b"", "files of the type .docx cannot be translated, only .txt, .html and .htm"),
        ("a", b"", "files without a suffix cannot be translated, only .txt, .html and .htm"),
        ("a.txt", b"abc\xff", "the file is not utf-8: byte 3 is wrong; convert it to UTF-8"),
        (
            "a.html",
            b"<meta charset=rot13>x",
            "the file declares the encoding rot13, which is unknown; convert it to UTF-8",
        ),
        ("a.html", b"<meta charset=nothing>", "the file declares the encoding nothing, which is unknown"),
    ],
)
def test_refused_files(name: str, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message.replace(".", r"\.")):
        read_file(name, data)
