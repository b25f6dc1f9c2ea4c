"""Pairs from gettext catalogues, which contain the translated messages of a program: PO (text) and MO (compiled).

Untranslated messages have an empty target. Fuzzy and obsolete messages are invalid records, because their translations
are not confirmed. If the translation has several plural forms, the first is paired with the singular of the message
and the last with its plural. polib reads the whole catalogue into memory, so the size of a catalogue is limited.
"""

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polib

from regard.data.formats.lines import open_lines
from regard.data.formats.records import InvalidRecord, Record, parse_pair
from regard.errors import DataError

MAX_CATALOGUE_BYTES = 64 << 20

_LINE_IN_ERROR = re.compile(r"\(line (\d+)\)(?:: (.*))?")


class Catalogue:
    """Iterates once over the pairs of a PO or MO file. A MO file has no lines, so messages are numbered instead."""

    def __init__(self, path: Path, *, compiled: bool) -> None:
        self.path = path
        self.bytes_read = 0
        self._compiled = compiled

    def __iter__(self) -> Iterator[Record]:
        catalogue: Any = self._parse()
        self.bytes_read = self.path.stat().st_size
        for number, entry in enumerate(catalogue, start=1):
            line = number if self._compiled else entry.linenum or number
            if entry.obsolete or "fuzzy" in entry.flags:
                yield self._unconfirmed(line, "obsolete" if entry.obsolete else "fuzzy")
            elif entry.msgid_plural:
                forms = [entry.msgstr_plural[form] for form in sorted(entry.msgstr_plural)] or [""]
                yield parse_pair(self.path, line, entry.msgid, forms[0])
                yield parse_pair(self.path, line, entry.msgid_plural, forms[-1])
            else:
                yield parse_pair(self.path, line, entry.msgid, entry.msgstr)

    def _unconfirmed(self, line: int, flag: str) -> InvalidRecord:
        message = f"{self.path}:{line}: the message is marked as {flag}; check its translation and remove the flag"
        return InvalidRecord(self.path, line, flag, message, expected=True)

    def _parse(self) -> "polib.POFile | polib.MOFile":
        with open_lines(self.path) as (_, stream):
            data = stream.read(MAX_CATALOGUE_BYTES + 1)
        if len(data) > MAX_CATALOGUE_BYTES:
            raise DataError(
                f"{self.path}: the catalogue is larger than {MAX_CATALOGUE_BYTES >> 20} MB, and catalogues are read "
                'into memory as a whole; convert it to JSON Lines ({"source": "…", "target": "…"}), which are not'
            )
        # polib gets a file instead of a string, because it would also split a string into lines at U+2028.
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "catalogue"
            copy.write_bytes(data)
            try:
                return polib.mofile(str(copy)) if self._compiled else polib.pofile(str(copy))
            except UnicodeDecodeError as error:
                if self._compiled:
                    raise DataError(self._describe_damage("")) from error
                raise DataError(
                    f"{self.path}: byte {error.start + 1} (0x{error.object[error.start]:02x}) is not {error.encoding}, "
                    "the encoding of the catalogue; correct its Content-Type, or convert it with: msgconv -t utf-8"
                ) from error
            except (OSError, struct.error, ValueError, IndexError, KeyError, TypeError) as error:
                raise DataError(self._describe_damage(str(error))) from error

    def _describe_damage(self, problem: str) -> str:
        if match := _LINE_IN_ERROR.search(problem):
            line, detail = match.groups()
            return f"{self.path}:{line}: this is not PO ({detail or 'unexpected text'}); check it with: msgfmt -c FILE"
        kind = "MO" if self._compiled else "PO"
        return f"{self.path}: this is not a {kind} file, or it is damaged or cut off; create it again"
