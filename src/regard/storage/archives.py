"""Unpacks zip archives from untrusted sources.

Only the requested files are written, and only inside the given folder. An archive with anything suspicious (paths that
lead out of the folder, links, duplicate names, more bytes than allowed) is refused as a whole.
"""

import stat
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from regard.errors import FolderError
from regard.storage.manifest import CHUNK, is_safe_relative_name

MAX_DIRECTORY_BYTES = 1 << 20  # maximum size of an archive's list of files, enough for about ten thousand files

MAX_BYTES = 1 << 26  # an archive may always unpack to this many bytes, however small it is

MAX_RATIO = 20  # an archive may unpack to `MAX_BYTES` plus this many times its own size; parameters hardly compress

_END_RECORD, _ZIP64_LOCATOR = b"PK\x05\x06", b"PK\x06\x07"

_MAX_END_BYTES = 20 + 22 + (1 << 16)


class _RefusedError(Exception):
    """Raised for an archive that breaks a rule. The message says which rule."""


def unpack(archive: Path, into: Path, *, wanted: Callable[[str], bool]) -> None:
    """Unpack a zip archive into the folder `into`, but only the files whose names `wanted` accepts.

    If all files of the archive are in one top folder, their names are relative to that folder.
    """
    try:
        _check_directory(archive)
        with zipfile.ZipFile(archive) as opened:
            size = archive.stat().st_size
            _write(opened, _entries(opened, size), into, wanted, MAX_BYTES + MAX_RATIO * size)
    except _RefusedError as refusal:
        raise FolderError(
            f"{archive}: {refusal}; this is not an archive of a model: download it again from a source you trust"
        ) from None
    # zipfile may raise any of these exceptions if an archive is malformed.
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError) as error:
        raise FolderError(f"{archive}: not a readable zip archive ({error}); copy or download it again") from None


def _check_directory(archive: Path) -> None:
    """Refuse an archive with a long list of files, because zipfile reads the whole list into memory."""
    with archive.open("rb") as file:
        file.seek(max(0, archive.stat().st_size - _MAX_END_BYTES))
        end = file.read()
    position = end.rfind(_END_RECORD)
    if position < 0 or len(end) < position + 22:
        raise zipfile.BadZipFile("it has no list of files; it may be cut off")
    # In a Zip64 archive, zipfile reads the size of the list of files from a field that is not checked below.
    if end[:position][-20:-16] == _ZIP64_LOCATOR:
        raise FolderError(
            f"{archive}: this is a Zip64 archive, which is not supported; leave run/ out of it, or unpack it yourself "
            "and give the folder"
        )
    if int.from_bytes(end[position + 12 : position + 16], "little") > MAX_DIRECTORY_BYTES:
        raise _RefusedError("its list of files is too long")


def _entries(opened: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the files of an archive by name. If one top folder contains all of them, names are relative to it."""
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in opened.infolist():
        _check_entry(entry, size)
        name = entry.orig_filename
        # macOS adds metadata files to archives, which are skipped.
        if not name.endswith("/") and not name.startswith("__MACOSX/"):
            entries[name] = entry
    _check_duplicates([entry.orig_filename.removesuffix("/") for entry in opened.infolist()])
    tops = {PurePosixPath(name).parts[0] for name in entries}
    if len(tops) == 1 and all("/" in name for name in entries):
        return {name.partition("/")[2]: entry for name, entry in entries.items()}
    return entries


def _check_entry(entry: zipfile.ZipInfo, size: int) -> None:
    name, mode = entry.orig_filename, entry.external_attr >> 16
    if not is_safe_relative_name(name.removesuffix("/")):
        raise _RefusedError(f"the name {name!r} in it leads out of the folder")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _RefusedError(f"{name!r} in it is a link or a device")
    if entry.flag_bits & 1:
        raise _RefusedError(f"{name!r} in it is encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _RefusedError(f"{name!r} in it is compressed by an unsupported method")
    if not 0 <= entry.header_offset < size:
        raise zipfile.BadZipFile("its list of files is wrong")


def _check_duplicates(names: list[str]) -> None:
    """Refuse an archive with names that are equal on file systems that ignore case or normalise Unicode."""
    counts = Counter(unicodedata.normalize("NFC", name).casefold() for name in names)
    for name in names:
        if counts[unicodedata.normalize("NFC", name).casefold()] > 1:
            raise _RefusedError(f"the name {name!r} is in it twice")


def _write(
    opened: zipfile.ZipFile,
    entries: dict[str, zipfile.ZipInfo],
    into: Path,
    wanted: Callable[[str], bool],
    max_bytes: int,
) -> None:
    for name, entry in entries.items():
        if not wanted(name):
            continue
        path = into / name
        path.parent.mkdir(exist_ok=True)
        with opened.open(entry) as packed, path.open("xb") as file:
            # The bytes are counted here, because the size that the archive states may be wrong.
            while block := packed.read(CHUNK):
                max_bytes -= len(block)
                if max_bytes < 0:
                    raise _RefusedError("it unpacks to far more than its own size")
                file.write(block)
