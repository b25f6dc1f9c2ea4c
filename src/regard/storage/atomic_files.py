"""Files and folders that are written completely or not at all, and survive a power failure.

The order is always the same: write a temporary file, sync it, rename it, sync its folder. A reader sees either the old
or the new content, never a mixture. If the disk is full, the old content stays, and the error gives the path and the
number of bytes needed.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.errors import DiskError

_DISK_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def sync(path: Path) -> None:
    """Flush a file or a folder to disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows cannot open a folder, but its renames are durable without a sync.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace the content of `path` by `data`, completely or not at all."""
    temporary = path.with_name(path.name + ".tmp")
    data = data.encode() if isinstance(data, str) else data
    with explain_full_disk(path, len(data)), _remove_on_failure(temporary):
        temporary.write_bytes(data)
        sync(temporary)
    temporary.replace(path)
    sync(path.parent)


@contextmanager
def explain_full_disk(path: Path, needed: int | None = None) -> Iterator[None]:
    """Turn errors caused by a full disk into a `DiskError` with `path` and the number of bytes needed, if known."""
    try:
        yield
    except Exception as error:
        if not _is_disk_full(error):
            raise
        free = shutil.disk_usage(path.parent).free
        if needed is None:
            problem = f"more than the {free:,} free bytes are needed"
        else:
            problem = f"{needed:,} bytes are needed and {free:,} are free"
        raise DiskError(
            f"{path}: the disk is full: {problem}; free some space, then run the same command again; earlier files are "
            "unchanged"
        ) from error


def _is_disk_full(error: Exception) -> bool:
    if isinstance(error, DiskError):
        return True  # raised by an inner call for one file; this call replaces it by an error for the whole folder
    if isinstance(error, OSError):
        return error.errno in _DISK_FULL
    # safetensors reports a full disk only as text: "I/O error: No space left on device (os error 28)".
    match = re.search(r"\(os error (\d+)\)", str(error))
    return match is not None and int(match[1]) in _DISK_FULL


@contextmanager
def _remove_on_failure(path: Path) -> Iterator[None]:
    """Delete the temporary file or folder `path` if the context ends with an exception."""
    try:
        yield
    except BaseException:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        raise


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, and sync them to disk, so that they survive a power failure."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


@contextmanager
def new_folder(path: Path, needed: int | None = None) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `path` if the context ends without an exception.

    `needed` is the final size of the folder in bytes, if known. A temporary folder that an earlier, interrupted call
    has left behind is removed first.
    """
    temporary, old = path.with_name(path.name + ".tmp"), path.with_name(path.name + ".old")
    if temporary.exists():
        shutil.rmtree(temporary)
    make_folder(path.parent)
    recover_interrupted_replace(path)
    with explain_full_disk(path, needed), _remove_on_failure(temporary):
        temporary.mkdir()
        yield temporary
        for inner in sorted(temporary.rglob("*")):
            sync(inner)
        sync(temporary)
    # The old folder is removed last, so that at any time one complete folder exists.
    if path.exists():
        path.replace(old)
    temporary.replace(path)
    sync(path.parent)
    if old.exists():
        shutil.rmtree(old)


def recover_interrupted_replace(path: Path) -> None:
    """Repair `path` if `new_folder` was interrupted while it replaced that folder.

    The old folder is restored, or removed if the new one is already in place.
    """
    old = path.with_name(path.name + ".old")
    if old.exists():
        if path.exists():
            shutil.rmtree(old)
        else:
            old.replace(path)
