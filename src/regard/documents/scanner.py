"""Divides HTML or XML into tags, comments and text, without changing a character.

The scanner accepts every input. Where a tag or a comment has no end, the rest of the document becomes one token of the
kind "rest"; a browser does not show it either. Each search continues where the one before ended, and only the last one
can fail, so the time is linear. A `<` that starts no tag is text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Format = Literal["html", "xml"]

# "empty": a tag of an element that has no content. "hidden": what is neither tag nor text, such as a comment or a
# script. "cdata": the text of a CDATA section.
Kind = Literal["text", "start", "end", "empty", "hidden", "cdata", "rest"]


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a document, as it is written there."""

    kind: Kind
    raw: str
    name: str = ""  # of the element, in lower case in HTML


def names(text: str) -> frozenset[str]:
    """Return the names of elements that are listed in a text."""
    return frozenset(text.split())


# Elements of HTML without content.
_VOID = names("area base br col embed hr img input link meta param source track wbr")

# Elements of HTML in which tags are text. The content is kept as it is, except for a title.
_RAW = names("iframe noembed noframes script style textarea xmp")
_TITLE = "title"

_ENDS = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE) for name in (*_RAW, _TITLE)}

# One attribute after another, as the HTML standard reads them. Nothing is ever tried again (`*+`). A value with an
# opening quote needs a closing one.
_TAG = re.compile(
    r"""</? ([^\t\n\f\r />]++)
    (?: [\t\n\f\r /]++
      | [^\t\n\f\r />][^\t\n\f\r />=]*+
        (?: [\t\n\f\r ]*+ = [\t\n\f\r ]*+ (?: "[^"]*+" | '[^']*+' | (?!["'])[^\t\n\f\r >]*+ )
          | (?! [\t\n\f\r ]*+ = ) )
    )*+ >""",
    re.VERBOSE,
)

# A comment or an instruction in it that has no end is not read as other characters, so only one search can fail.
_DOCTYPE = r"""<!DOCTYPE (?: [^"'\[>] | "[^"]*+" | '[^']*+' )*+
    (?: \[ (?: <!--.*?--> | <\?.*?\?> | "[^"]*+" | '[^']*+' | (?!<!--|<\?)[^\]"'] )*+ \] \s*+ )?+ >"""

_HIDDEN = {
    "html": re.compile(r"<!--(?:>|->|.*?--!?>)|<!(?!--)[^>]*+>|<\?[^>]*+>|</[^A-Za-z>][^>]*+>|</>", re.DOTALL),
    "xml": re.compile(rf"<!--.*?-->|<\?.*?\?>|{_DOCTYPE}|<!(?!--|DOCTYPE)[^>]*+>|</[^>]*+>", re.DOTALL | re.VERBOSE),
}

_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)

_OPENING = {"html": re.compile(r"<(?:/?[A-Za-z]|[/!?])"), "xml": re.compile(r"<(?:/?[^\W\d]|/?:|[/!?])")}


def scan(source: str, markup: Format) -> Iterator[Token]:
    """Yield the tokens of a document; joined, they are the document."""
    begin = 0
    last_close = source.rfind(">")
    while begin < len(source):
        opening = _search(_OPENING[markup], source, begin)
        if opening is None or (opening.start() > last_close and opening[0][-1] not in "!?"):
            yield Token("text", source[begin:])
            return
        if opening.start() > begin:
            yield Token("text", source[begin : opening.start()])
        begin = opening.start()
        for token in _markup(source, begin, opening[0], markup):
            yield token
            begin += len(token.raw)


def _markup(source: str, begin: int, opening: str, markup: Format) -> Iterator[Token]:
    """Yield the token that starts here, and the content of the element if tags are text there."""
    if markup == "xml" and source.startswith("<![CDATA[", begin):
        kind: Kind = "cdata"
        match = _match(_CDATA, source, begin)
    elif opening[-1] in "/!?":
        kind = "hidden"
        match = _match(_HIDDEN[markup], source, begin)
    else:
        kind = "end" if opening[1] == "/" else "start"
        match = _match(_TAG, source, begin)
    if match is None:
        yield Token("rest", source[begin:])
    elif kind in ("cdata", "hidden"):
        yield Token(kind, match[0])
    elif kind == "start":
        yield from _start(source, match, markup)
    else:
        yield Token(kind, match[0], _name(match[1], markup))


def _start(source: str, match: re.Match[str], markup: Format) -> Iterator[Token]:
    raw, name = match[0], _name(match[1], markup)
    if raw.endswith("/>") or (markup == "html" and name in _VOID):
        yield Token("empty", raw, name)
    elif markup == "xml" or (name not in _ENDS and name != "plaintext"):
        yield Token("start", raw, name)
    else:
        yield from _raw_content(source, match, name)


def _raw_content(source: str, match: re.Match[str], name: str) -> Iterator[Token]:
    end = _search(_ENDS[name], source, match.end()) if name in _ENDS else None
    closing = _match(_TAG, source, end.start()) if end is not None else None
    if end is None or closing is None:
        yield Token("rest", source[match.start() :])
    elif name == _TITLE:
        yield Token("start", match[0], name)
        if end.start() > match.end():
            yield Token("text", source[match.end() : end.start()])
        yield Token("end", closing[0], name)
    else:
        yield Token("hidden", source[match.start() : closing.end()], name)


def _name(written: str, markup: Format) -> str:
    return written.lower() if markup == "html" else written


# All searches are made here, so that a test can count the characters that they read.


def _search(pattern: re.Pattern[str], source: str, begin: int) -> re.Match[str] | None:
    return pattern.search(source, begin)


def _match(pattern: re.Pattern[str], source: str, begin: int) -> re.Match[str] | None:
    return pattern.match(source, begin)
