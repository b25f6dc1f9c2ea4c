"""Files that are written whole or not at all, and stay written when the power goes.

The order is always: write a temporary, sync it, rename it, sync its folder. A reader sees the old content or
the new, never a half. A full disk leaves the old, too, and is said with the place and the bytes needed.
"""

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from regard.errors import DiskError

CHUNK = 1 << 20
MOST_JSON = 1 << 24  # what we write is smaller; what others wrote is not read beyond this
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
    with writing(path, len(data)), _removed_if_it_fails(temporary):
        temporary.write_bytes(data)
        sync(temporary)
    temporary.replace(path)
    sync(path.parent)


@contextmanager
def writing(path: Path, needs: int | None = None) -> Iterator[None]:
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
def _removed_if_it_fails(path: Path) -> Iterator[None]:
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
    bring_back(path)
    with writing(path, needs), _removed_if_it_fails(temporary):
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


def bring_back(path: Path) -> None:
    """Mend what was interrupted while a folder took the place of an older one."""
    old = path.with_name(path.name + ".old")
    if old.exists():
        if path.exists():
            shutil.rmtree(old)
        else:
            old.replace(path)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write `value` as readable JSON, atomically."""
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read what `write_json` wrote. A ValueError if it is something else, however hostile."""
    if path.stat().st_size > MOST_JSON:
        raise ValueError(f"more than {MOST_JSON:,} bytes")
    try:
        return json.loads(path.read_text("utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def write_sealed(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON that carries its own hash, for a file that stands alone."""
    write_json(path, {**value, "sha256": _seal(value)})


def read_sealed(path: Path) -> dict[str, Any]:
    """Read what `write_sealed` wrote. A ValueError that names the file if it is not as it was written."""
    try:
        value = read_json(path)
        hashed = value.pop("sha256")
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(f"{path} is not readable") from None
    if hashed != _seal(value):
        raise ValueError(f"{path} was changed after it was written (its SHA-256 differs)")
    return dict(value)


def _seal(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_manifest(folder: Path, names: list[str]) -> None:
    """Record size and hash of `names`, files of `folder`. Written last: its presence says the folder is whole."""
    entries = {name: {"bytes": (folder / name).stat().st_size, "sha256": sha256(folder / name)} for name in names}
    write_json(folder / "manifest.json", entries)


def is_inside(name: str) -> bool:
    """Whether a name, with slashes, leads to something in the folder it is looked up in, on every system."""
    plain = not re.search(r"[\x00-\x1f\x7f\\:]", name)
    return (
        plain and name == str(PurePosixPath(name)) and name[:1] != "/" and ".." not in name.split("/") and name != "."
    )


def damage(folder: Path, only: Sequence[str] | None = None) -> str | None:
    """What is wrong with a folder, or only with some of its files, according to its manifest; None if nothing is."""
    try:
        manifest = read_json(folder / "manifest.json")
        names = manifest.keys() if only is None else only
        entries = [(name, manifest[name]["bytes"], manifest[name]["sha256"]) for name in names]
    except FileNotFoundError:
        return f"{folder / 'manifest.json'} is missing"
    except (AttributeError, KeyError, TypeError, ValueError):
        return f"{folder / 'manifest.json'} is not readable"
    if not all(is_inside(name) and type(size) is int for name, size, _ in entries):
        return f"{folder / 'manifest.json'} is not readable"
    for name, size, hashed in entries:
        path = folder / name
        if not path.is_file():
            return f"{path} is missing"
        if path.stat().st_size != size:
            return f"{path} has {path.stat().st_size:,} bytes instead of {size:,}"
        if sha256(path) != hashed:
            return f"{path} was changed after it was written (its SHA-256 differs)"
    return None
