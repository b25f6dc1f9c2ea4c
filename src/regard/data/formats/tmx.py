"""Pairs from TMX, the exchange format of translation memories, streamed in constant memory.

defusedxml rejects entity declarations, which could fill the memory or read other files. Its parser reports line
numbers, unlike a parser that builds a tree. Elements with formatting codes are removed with their content; of other
elements inside a text, only the tags are removed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

from defusedxml import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

from regard.data.formats.lines import MAX_LINE_BYTES, open_lines, too_long_record
from regard.data.formats.records import Codes, InvalidRecord, Record, parse_pair
from regard.errors import DataError

_CHUNK = 1 << 16

_NATIVE_CODES = {"bpt", "ept", "it", "ph", "ut"}  # elements that hold formatting codes, not text


class Tmx:
    """Iterates once over the pairs of a TMX file.

    `wanted` are the languages of the pairs. If it is None, the pairs are in the two languages of the first unit.
    """

    def __init__(self, path: Path, wanted: Codes | None) -> None:
        self.path = path
        self.bytes_read = 0
        self._wanted = wanted

    def __iter__(self) -> Iterator[Record]:
        languages = self._wanted
        for unit in self._units():
            languages = languages or _only_two(self.path, unit)
            texts = [_find(unit.texts, code) for code in languages]
            missing = [code for code, text in zip(languages, texts, strict=True) if text is None]
            if unit.too_long:
                yield too_long_record(self.path, unit.line)
            elif missing:
                yield _incomplete(self.path, unit, missing[0])
            else:
                yield parse_pair(self.path, unit.line, texts[0] or "", texts[1] or "")

    def languages(self) -> Codes | None:
        """Return source and target language of the pairs, or None if the file has no unit."""
        for unit in self._units():
            return self._wanted or _only_two(self.path, unit)
        return None

    def _units(self) -> Iterator["_Unit"]:
        with open_lines(self.path) as (disk, stream):
            for units in _parse(self.path, stream):
                self.bytes_read = disk.tell()
                yield from units


class _Unit:
    """A translation unit (`<tu>` element): its first line, its source language, and its texts by language."""

    def __init__(self, line: int, source: str) -> None:
        self.line = line
        self.source = source
        self.texts: dict[str, str] = {}
        self.too_long = False


def _parse(path: Path, stream: BinaryIO) -> Iterator[list[_Unit]]:
    # Most TMX files refer to an external document type. The reference is allowed here, and expat does not open it.
    parser = DefusedExpatParser(forbid_external=False)
    handler = _Handler(parser)
    parser.setContentHandler(handler)
    try:
        while chunk := stream.read(_CHUNK):
            parser.feed(chunk)
            yield handler.take()
        parser.close()
    except SAXParseException as error:
        column = (error.getColumnNumber() or 0) + 1
        raise DataError(
            f"{path}:{error.getLineNumber()}: the XML is damaged or cut off at column {column} ({error.getMessage()}); "
            "fix it there, or export or download the file again"
        ) from error
    except DefusedXmlException as error:
        raise DataError(
            f"{path}: it declares entities or refers to other files, which can be used for attacks; TMX needs neither, "
            "so remove the declarations in its first lines (<!ENTITY …>)"
        ) from error
    except (LookupError, ValueError) as error:
        raise DataError(
            f"{path}: its encoding cannot be read ({error}); convert it to UTF-8, and declare that in its first line"
        ) from error
    yield handler.take()


class _Handler(ContentHandler):
    """Collects the translation units while the parser runs."""

    def __init__(self, locator: Locator) -> None:
        super().__init__()
        self._locator = locator
        self._ready: list[_Unit] = []
        self._unit: _Unit | None = None
        self._source = ""
        self._language = ""
        self._text: list[str] | None = None
        self._length = 0
        self._code_depth = 0

    def take(self) -> list[_Unit]:
        """Return the units that were completed since the last call."""
        ready, self._ready = self._ready, []
        return ready

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 (SAX's name)
        if name in _NATIVE_CODES:
            self._code_depth += 1
        elif name == "header":
            self._source = attrs.get("srclang", "")
        elif name == "tu":
            self._unit = _Unit(self._locator.getLineNumber() or 0, attrs.get("srclang", self._source))
        elif name == "tuv":
            self._language = attrs.get("xml:lang", attrs.get("lang", ""))
        elif name == "seg":
            self._text, self._length = [], 0

    def characters(self, content: str) -> None:
        if self._text is not None and not self._code_depth:
            self._length += len(content)
            if self._length <= MAX_LINE_BYTES:
                self._text.append(content)

    def endElement(self, name: str) -> None:  # noqa: N802
        if name in _NATIVE_CODES:
            self._code_depth -= 1
        elif name == "seg" and self._unit is not None and self._text is not None:
            self._unit.texts.setdefault(self._language, "".join(self._text))
            self._unit.too_long |= self._length > MAX_LINE_BYTES
            self._text = None
        elif name == "tu" and self._unit is not None:
            self._ready.append(self._unit)
            self._unit = None

    def skippedEntity(self, name: str) -> None:  # noqa: N802
        raise SAXParseException(f"undefined entity &{name};", None, self._locator)


def _only_two(path: Path, unit: _Unit) -> Codes:
    """Return source and target language of a unit that has two languages and states which one is the source.

    Raise an error for any other unit.
    """
    codes = list(unit.texts)
    sources = [code for code in codes if _matches(code, unit.source)]
    if len(codes) == 2 and len(sources) == 1:
        codes.remove(sources[0])
        return sources[0], codes[0]
    raise DataError(
        f"{path}:{unit.line}: the first unit has the languages {', '.join(codes) or 'none'}, and the source language "
        f"is {unit.source or 'not given'}; choose two: --languages en fr"
    )


def _incomplete(path: Path, unit: _Unit, code: str) -> InvalidRecord:
    others = ", ".join(unit.texts) or "none"
    return InvalidRecord(
        path,
        unit.line,
        f"no {code} text",
        f"{path}:{unit.line}: the unit has no text in {code}, only in {others}; check --languages, or remove the unit",
        expected=True,
    )


def _find(texts: dict[str, str], wanted: str) -> str | None:
    """Return the text in the wanted language, or None if there is no such text.

    A text with exactly the wanted code is preferred. If there is none, a variety of the language is used (`en-GB` for
    `en`). If there is no variety either, the base language is used (`en` for `en-GB`).
    """
    return next(
        (
            text
            for matches in (lambda a, b: a == b, _matches, lambda a, b: _matches(b, a))
            for code, text in texts.items()
            if matches(_normalise(code), _normalise(wanted))
        ),
        None,
    )


def _matches(code: str, wanted: str) -> bool:
    return _normalise(code) == _normalise(wanted) or _normalise(code).startswith(_normalise(wanted) + "-")


def base_language(code: str) -> str:
    """Return the language without its variety, such as `en` for `en-GB`."""
    return _normalise(code).split("-")[0]


def _normalise(code: str) -> str:
    return code.lower().replace("_", "-")
