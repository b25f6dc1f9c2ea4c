"""Files whose text is translated: the format follows from the name, and the encoding from the content."""

import codecs
import re
from dataclasses import dataclass
from pathlib import PurePath

from regard.documents.document import Document
from regard.documents.elements import MarkupOptions
from regard.documents.lines import Lines
from regard.documents.markup import Markup
from regard.errors import DataError

HTML_SUFFIXES = (".html", ".htm")
TEXT_SUFFIXES = (".txt",)
SUFFIXES = (*TEXT_SUFFIXES, *HTML_SUFFIXES)

# Bytes at the start of a file. UTF-16 is recognised by them only.
_ENCODING_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset[ \t\r\n]*=[ \t\r\n]*[\"']?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)

_DECLARATION_BYTES = 1024  # browsers look for the declaration in these

# Encodings of web pages, by the names that Python gives them. Browsers read the first two as Windows-1252.
_ENCODINGS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    **{name: name for name in ("utf-8", "koi8-r", "koi8-u", "gbk", "gb18030", "big5", "euc_jp", "shift_jis", "euc_kr")},
    **{f"iso8859-{number}": f"iso8859-{number}" for number in range(2, 17)},
    **{f"cp125{number}": f"cp125{number}" for number in range(9)},
}


@dataclass(frozen=True)
class File:
    """A document that was read from a file."""

    document: Document
    encoding: str
    mark: bytes  # at the start of the file

    def encode(self, text: str) -> bytes:
        """Return the bytes of the file with another text; HTML writes what the encoding lacks as references."""
        errors = "xmlcharrefreplace" if isinstance(self.document, Markup) else "replace"
        return self.mark + text.encode(self.encoding, errors)


def read_file(name: str, data: bytes) -> File:
    """Return the document of a file."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        files = f"files of the type {suffix}" if suffix else "files without a suffix"
        raise DataError(f"{files} cannot be translated, only {_list(SUFFIXES)}")
    mark, encoding = next((one for one in _ENCODING_MARKS if data.startswith(one[0])), (b"", "utf-8"))
    if not mark and suffix in HTML_SUFFIXES:
        encoding = _declared_encoding(data)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise DataError(f"the file is not {encoding}: byte {error.start:,} is wrong; convert it to UTF-8") from error
    document = Markup(text, MarkupOptions("html")) if suffix in HTML_SUFFIXES else Lines(text)
    return File(document, encoding, mark)


def _declared_encoding(data: bytes) -> str:
    """Return the encoding that an HTML file declares, or UTF-8."""
    found = _DECLARED.search(data[:_DECLARATION_BYTES])
    if found is None:
        return "utf-8"
    label = found[1].decode("ascii")
    try:
        name = codecs.lookup(label).name
    except LookupError:
        name = ""
    if name.startswith("utf-16"):
        return "utf-8"  # without a mark at its start, a file that can be read so far is not UTF-16
    if name not in _ENCODINGS:
        raise DataError(f"the file declares the encoding {label}, which is unknown; convert it to UTF-8")
    return _ENCODINGS[name]


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1]
