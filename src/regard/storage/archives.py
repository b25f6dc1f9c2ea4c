"""Zip archives of strangers, opened so that nothing they say is believed.

Only files that were asked for by name are written, and only under the folder given. An archive that tries anything
else (paths that lead out, links, names twice, more bytes than it may have) is refused whole.
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

MAX_DIRECTORY_BYTES = 1 << 20  # bytes of the list of files: some ten thousand of them

MAX_BYTES = 1 << 26  # what any archive may unpack to,

MAX_RATIO = 20  # and how many times its own size a large one may; weights hardly shrink

_END, _LARGE_END = b"PK\x05\x06", b"PK\x06\x07"

_LONGEST_END = 20 + 22 + (1 << 16)


class _RefusedError(Exception):
    """Why."""


def unpack(archive: Path, into: Path, *, wanted: Callable[[str], bool]) -> None:
    """Write the wanted files of a zip to the folder `into`. The files may stand in one folder of any name."""
    try:
        _check_directory(archive)
        with zipfile.ZipFile(archive) as opened:
            size = archive.stat().st_size
            _write(opened, _files(opened, size), into, wanted, MAX_BYTES + MAX_RATIO * size)
    except _RefusedError as refusal:
        raise FolderError(
            f"{archive}: {refusal}; that is no archive of a model: get it again from someone you trust"
        ) from None
    # A stranger's bytes make zipfile raise all of these.
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError) as error:
        raise FolderError(
            f"{archive}: not a zip archive that can be read ({error}); copy or download it again"
        ) from None


def _check_directory(archive: Path) -> None:
    """The list of files is read into memory whole, so it must be small."""
    with archive.open("rb") as file:
        file.seek(max(0, archive.stat().st_size - _LONGEST_END))
        end = file.read()
    place = end.rfind(_END)
    if place < 0 or len(end) < place + 22:
        raise zipfile.BadZipFile("it has no list of files; it may be cut off")
    # What stands there gives the list another size, which zipfile believes.
    if end[:place][-20:-16] == _LARGE_END:
        raise FolderError(
            f"{archive}: a zip in the form for more than 4 GB, which is not read; leave run/ out of it, or unpack it "
            "yourself and give the folder"
        )
    if int.from_bytes(end[place + 12 : place + 16], "little") > MAX_DIRECTORY_BYTES:
        raise _RefusedError("its list of files is too long")


def _files(opened: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The files by name, each name seen to be harmless on every system; without the folder they all stand in."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in opened.infolist():
        name, mode = entry.orig_filename, entry.external_attr >> 16
        if not is_safe_relative_name(name.removesuffix("/")):
            raise _RefusedError(f"the name {name!r} in it leads elsewhere")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _RefusedError(f"{name!r} in it is a link or a device")
        if entry.flag_bits & 1:
            raise _RefusedError(f"{name!r} in it is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _RefusedError(f"{name!r} in it is packed in an unusual way")
        if not 0 <= entry.header_offset < size:
            raise zipfile.BadZipFile("its list of files is wrong")
        # A Mac packs what it knows about files beside them.
        if not name.endswith("/") and not name.startswith("__MACOSX/"):
            found[name] = entry
    names = [entry.orig_filename.removesuffix("/") for entry in opened.infolist()]
    # What some file systems hold for the same name.
    same = Counter(unicodedata.normalize("NFC", name).casefold() for name in names)
    for name in names:
        if same[unicodedata.normalize("NFC", name).casefold()] > 1:
            raise _RefusedError(f"the name {name!r} is in it twice")
    tops = {PurePosixPath(name).parts[0] for name in found}
    if len(tops) == 1 and all("/" in name for name in found):
        return {name.partition("/")[2]: entry for name, entry in found.items()}
    return found


def _write(
    opened: zipfile.ZipFile,
    entries: dict[str, zipfile.ZipInfo],
    into: Path,
    wanted: Callable[[str], bool],
    most: int,
) -> None:
    for name, entry in entries.items():
        if not wanted(name):
            continue
        path = into / name
        path.parent.mkdir(exist_ok=True)
        with opened.open(entry) as packed, path.open("xb") as file:
            # Counted as they come: what an entry says of its own size may be a lie.
            while block := packed.read(CHUNK):
                most -= len(block)
                if most < 0:
                    raise _RefusedError("it unpacks to far more than its own size")
                file.write(block)
