"""The characters that each key has used this month, and the limit that it has for a month.

Usage survives the end of the process, even by kill -9: it is appended to a journal before a request is answered. From
time to time, the journal is merged into `usage.json`, which contains its own hash; the hash of each line of the journal
is at its end. Both contain names of keys and numbers, nothing else.
"""

import calendar
import json
import logging
import math
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from regard.errors import DiskError
from regard.server.errors import QuotaExceeded, ServeError
from regard.server.keys import Key
from regard.storage.atomic_files import make_folder
from regard.storage.json_files import read_hashed_json, write_hashed_json

_logger = logging.getLogger(__name__)

_MAX_JOURNAL_BYTES = 1 << 20


def current_month() -> str:
    return time.strftime("%Y-%m", time.gmtime())


def _seconds_to_next_month() -> int:
    now = time.time()
    year, month = divmod(12 * time.gmtime(now).tm_year + time.gmtime(now).tm_mon, 12)
    return math.ceil(calendar.timegm((year, month + 1, 1, 0, 0, 0)) - now)


class Usage:
    """The characters used by each key, in memory and, if there is a folder for it, on disk."""

    def __init__(self, folder: Path | None, month: Callable[[], str] = current_month) -> None:
        """Read what was used before; raise a `ServeError` if the files are damaged or belong to a running server."""
        self._folder, self._month = folder, month
        self._characters: dict[tuple[str, str], int] = {}  # by month and key
        self._reserved: dict[str, int] = {}
        self._number = 0  # of the journal
        self._journal = -1
        self._is_behind = False  # a line is missing or incomplete, for example because the disk is full
        if folder is not None:
            make_folder(folder)
            self._lock = FileLock(folder / "lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise ServeError(f"{folder}: another server uses this folder; give each its own --state") from None
            self._read(folder)
            self._merge(folder)

    def used(self, name: str) -> int:
        """Return the characters that a key has used this month."""
        return self._characters.get((self._month(), name), 0)

    @contextmanager
    def charge(self, key: Key | None, characters: int) -> Iterator[None]:
        """Charge characters to a key if the context ends without an error; raise `QuotaExceeded` beyond its limit."""
        if key is None:
            yield
            return
        reserved = self._reserved.get(key.name, 0)
        limit = key.characters_per_month
        if limit is not None and self.used(key.name) + reserved + characters > limit:
            raise QuotaExceeded(
                f"the limit of {limit:,} characters per month is used up", retry_after=_seconds_to_next_month()
            )
        self._reserved[key.name] = reserved + characters
        try:
            yield
            self._add(key.name, characters)
        finally:
            self._reserved[key.name] -= characters

    def close(self) -> None:
        """Write all usage to disk and let another server use the folder."""
        if self._folder is not None:
            try:
                self._merge(self._folder)
            finally:
                os.close(self._journal)
                self._lock.release()

    def _add(self, name: str, characters: int) -> None:
        month = self._month()
        self._characters[month, name] = self._characters.get((month, name), 0) + characters
        if self._folder is None:
            return
        line = _line([month, name, characters])
        try:
            if not self._is_behind:
                self._is_behind = os.write(self._journal, line) < len(line)
            if self._is_behind or os.fstat(self._journal).st_size > _MAX_JOURNAL_BYTES:
                self._merge(self._folder)
        except (OSError, DiskError) as error:
            self._is_behind = True
            _logger.error("%s: the usage of keys cannot be written: %s", self._folder, error)

    def _read(self, folder: Path) -> None:
        path = folder / "usage.json"
        if path.exists():
            try:
                stored = read_hashed_json(path)
            except ValueError as error:
                raise ServeError(f"{error}; restore it from a backup, or move the folder {folder} away") from None
            self._number = stored["journal"]
            self._characters = {(month, name): count for month, name, count in stored["characters"]}
        journal = self._journal_path(folder)
        lines = journal.read_bytes().split(b"\n") if journal.exists() else [b""]
        for number, line in enumerate(lines[:-1], start=1):  # the last line is empty, or was not written completely
            try:
                month, name, count = _parse(line)
            except ValueError:
                raise ServeError(
                    f"{journal}:{number}: the line is damaged; remove it, or move the folder {folder} away"
                ) from None
            self._characters[month, name] = self._characters.get((month, name), 0) + count

    def _merge(self, folder: Path) -> None:
        """Write usage.json, which from then on belongs to a new, empty journal."""
        now = self._month()
        self._characters = {key: count for key, count in self._characters.items() if key[0] >= now}
        characters = [[month, name, count] for (month, name), count in sorted(self._characters.items())]
        # If this fails, usage.json and its journal stay as they are.
        write_hashed_json(folder / "usage.json", {"journal": self._number + 1, "characters": characters})
        previous = self._journal_path(folder)
        self._number += 1
        journal = os.open(self._journal_path(folder), os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_TRUNC, 0o600)
        if self._journal >= 0:
            os.close(self._journal)
        self._journal = journal
        previous.unlink(missing_ok=True)
        self._is_behind = False

    def _journal_path(self, folder: Path) -> Path:
        return folder / f"usage-{self._number}.journal"


def _line(values: list[Any]) -> bytes:
    text = json.dumps(values)
    return f"{text} {zlib.crc32(text.encode()):08x}\n".encode()


def _parse(line: bytes) -> tuple[str, str, int]:
    text, _, check = line.decode("ascii").rpartition(" ")
    if f"{zlib.crc32(text.encode()):08x}" != check:
        raise ValueError("the check does not match")
    month, name, count = json.loads(text)
    return month, name, count
