"""Files that are written whole or not at all, and stay written when the power goes.

The order is always: write a temporary, sync it, rename it, sync its folder. A reader sees the old content or
the new, never a half. A full disk leaves the old, too, and is said with the place and the bytes needed.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import DiskError

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def sync(path: Path) -> None:
    """Ask the disk to keep `path`, a file or a folder."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open a folder; its renames are durable without it.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace `path` by `data`, wholly or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    data = data.encode() if isinstance(data, str) else data
    with explain_full_disk(path, len(data)), _remove_on_failure(temporary):
        temporary.write_bytes(data)
        sync(temporary)
    temporary.replace(path)
    sync(path.parent)


@contextmanager
def explain_full_disk(path: Path, needs: int | None = None) -> Iterator[None]:
    """If the disk is full, say where, and how many bytes are needed there, as far as that is known."""
    try:
        yield
    except Exception as error:
        if not _is_full(error):
            raise
        free = shutil.disk_usage(path.parent).free
        if needs is None:
            wanted = f"more bytes are needed here than the {free:,} that"
        else:
            wanted = f"{needs:,} bytes are needed here and {free:,}"
        raise DiskError(
            f"{path}: the disk is full: {wanted} are free; make room, then give the same command again; "
            "what was there before is whole"
        ) from error


def _is_full(error: Exception) -> bool:
    if isinstance(error, DiskError):
        return True  # of a part; the whole needs more
    if isinstance(error, OSError):
        return error.errno in _FULL
    # safetensors says it in words: "I/O error: No space left on device (os error 28)".
    found = re.search(r"\(os error (\d+)\)", str(error))
    return found is not None and int(found[1]) in _FULL


@contextmanager
def _remove_on_failure(path: Path) -> Iterator[None]:
    """Give back the room that a failed attempt took."""
    try:
        yield
    except BaseException:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        raise


def make_folder(path: Path) -> None:
    """Make a folder and those on the way to it, so that they stay when the power goes."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


@contextmanager
def new_folder(path: Path, needs: int | None = None) -> Iterator[Path]:
    """Yield a temporary folder that becomes `path` when the block ends well; `needs` is its size, where known.

    What an interrupted attempt left under the temporary name is thrown away first.
    """
    temporary, old = path.with_name(path.name + ".tmp"), path.with_name(path.name + ".old")
    if temporary.exists():
        shutil.rmtree(temporary)
    make_folder(path.parent)
    recover_interrupted_replace(path)
    with explain_full_disk(path, needs), _remove_on_failure(temporary):
        temporary.mkdir()
        yield temporary
        for inner in sorted(temporary.rglob("*")):
            sync(inner)
        sync(temporary)
    # There is no moment at which neither is whole: the old one waits until the new one is in its place.
    if path.exists():
        path.replace(old)
    temporary.replace(path)
    sync(path.parent)
    if old.exists():
        shutil.rmtree(old)


def recover_interrupted_replace(path: Path) -> None:
    """Mend what was interrupted while a folder took the place of an older one."""
    old = path.with_name(path.name + ".old")
    if old.exists():
        if path.exists():
            shutil.rmtree(old)
        else:
            old.replace(path)
