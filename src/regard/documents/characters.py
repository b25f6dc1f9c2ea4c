"""Character references of HTML and XML, such as `&eacute;`: decoding them, and escaping a text."""

import html
import re

from regard.documents.scanner import Format

# `int` refuses numbers with thousands of digits, so zeros at the start are removed, and then what no browser accepts.
_ZEROS = re.compile(r"&#(?:0+(?=[0-9])|([xX])0+(?=[0-9a-fA-F]))")
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")

_XML_REFERENCE = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));")
_XML_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}

# Characters that must not occur in XML, not even as references.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# A reference that only the document type declares.
DECLARED_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[^\W\d][\w.:-]{0,100};")

_ESCAPES = {
    "html": str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\xa0": "&nbsp;"}),
    "xml": str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\xa0": "&#160;"}),
}


def decode(raw: str, markup: Format) -> str:
    """Return a text with the characters that its references stand for."""
    if "&" not in raw:
        return raw
    if markup == "html":
        return html.unescape(_LONG_NUMBER.sub("\ufffd", _ZEROS.sub(r"&#\1", raw)))
    return _XML_REFERENCE.sub(_xml_character, raw)


def _xml_character(match: re.Match[str]) -> str:
    name, decimal, hexadecimal = match.groups()
    if name:
        return _XML_CHARACTERS[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    return "\ufffd" if number > 0x10FFFF or _NOT_XML.match(chr(number)) else chr(number)


def escape(text: str, markup: Format) -> str:
    """Return a text as it is written in a document."""
    if markup == "xml":
        text = _NOT_XML.sub("\ufffd", text)
    return text.translate(_ESCAPES[markup])


def escape_cdata(text: str) -> str:
    """Return a text as it is written in a CDATA section."""
    return _NOT_XML.sub("\ufffd", text).replace("]]>", "]]]]><![CDATA[>")
