"""Untrusted model folders and archives: no code is run, no process crashes, and no file is written outside."""

import json
import os
import random
import shutil
import signal
import stat
import struct
import subprocess
import sys
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tests.robustness.conftest import Report
from tests.robustness.counts import campaign
from tests.robustness.fuzzer import check

from regard.errors import FolderError, UserError
from regard.interchange.ctranslate2.cache import FILES
from regard.interchange.ctranslate2.export import ensure_export
from regard.model_folder.folder import HASHED
from regard.model_folder.loader import open_folder
from regard.storage.manifest import write_manifest

torch.set_num_threads(1)

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(params=["format-1", "format-2"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A golden folder of each format, with its CTranslate2 export."""
    shutil.copytree(GOLDEN / request.param, tmp_path / "model")
    ensure_export(tmp_path / "model")
    return tmp_path / "model"


# Folders


@campaign("mutants")
def test_mutated_folders_are_refused_or_usable(
    model: Path, tmp_path: Path, repository: Path, report: Report, count: int
) -> None:
    """Bytes, settings, safetensors headers and CTranslate2 files are changed, mostly with a matching manifest."""
    work = tmp_path / "work"
    work.mkdir()
    outcomes, first, megabytes = Counter[str](), 0, 0.0
    crashes: list[int] = []
    hangs: list[int] = []
    escapes: dict[str, str] = {}
    while first < count:
        last = min(count, first + 1_000)
        done = subprocess.run(
            [sys.executable, "-m", "tests.robustness.fuzzer", model, work, str(first), str(last)],
            cwd=repository,
            env={**os.environ, "PYTHONPATH": str(repository / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            result = json.loads(done.stdout.splitlines()[-1])
            outcomes.update(result["outcomes"])
            escapes.update(result["escapes"])
            megabytes = max(megabytes, result["megabytes"])
            first = last
        elif done.returncode > 0:
            pytest.fail(done.stderr)
        else:
            number = int((work / "number").read_text())
            (hangs if done.returncode == -signal.SIGPROF else crashes).append(number)
            first = number + 1
    assert (crashes, hangs, escapes) == ([], [], {})
    assert megabytes <= 200
    report(
        f"{count:,} mutated model folders: {outcomes['refused']:,} refused with their path, {outcomes['accepted']:,} "
        f"still valid and usable; 0 crashes, 0 hangs (limit: 2 s of CPU time each), 0 unexpected exceptions; at most "
        f"{megabytes:.0f} MB more memory than the original model"
    )


class Canary:
    """An object whose pickle creates a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (Path.touch, (self.path,))


def payloads(canary: Path, folder: Path) -> list[bytes]:
    """Return file contents that would run code when some programs read them."""
    import pickle

    torch.save(Canary(canary), folder / "torch.bin")
    torch.save({"weights": Canary(canary)}, folder / "old.bin", _use_new_zipfile_serialization=False)
    command = f"__import__('pathlib').Path({str(canary)!r}).touch()"
    contents = [
        *(pickle.dumps(Canary(canary), protocol) for protocol in (0, 2, 5)),
        (folder / "torch.bin").read_bytes(),
        (folder / "old.bin").read_bytes(),
        f"!!python/object/apply:pathlib.Path.touch [{canary}]\n".encode(),
        json.dumps({"format": 1, "__reduce__": command, "model": {"kind": command}, "languages": [command]}).encode(),
        command.encode(),
    ]
    (folder / "torch.bin").unlink()
    (folder / "old.bin").unlink()
    return contents


@campaign("payloads")
def test_no_code_in_a_folder_is_run(model: Path, tmp_path: Path, report: Report, count: int) -> None:
    canary = tmp_path / "executed"
    contents = payloads(canary, tmp_path)
    names = [*HASHED, "ctranslate2/model.bin", "ctranslate2/config.json"]
    cases = [(name, payload) for payload in contents for name in names]
    assert len(cases) == 40
    refused = 0
    for number, (name, payload) in enumerate(random.Random(1).sample(cases, count)):
        out = tmp_path / f"payload-{number}"
        shutil.copytree(model, out)
        (out / name).write_bytes(payload)
        write_manifest(out, HASHED)
        write_manifest(out / "ctranslate2", FILES)
        try:
            check(open_folder(out))
        except UserError:
            refused += 1
    assert not canary.exists()
    report(
        f"{count} payloads (pickles, torch files, YAML tags, expressions) in place of model files: 0 executed, "
        f"{refused} folders refused, {count - refused} used without the replaced CTranslate2 export"
    )


# Archives


def write_archive(path: Path, entries: list[tuple[str, bytes]], mode: int = 0, **attributes: int) -> None:
    """Write a zip with these names, even invalid ones; the last entry gets the mode and attributes."""
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        warnings.simplefilter("ignore")
        for number, (name, content) in enumerate(entries):
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            if number == len(entries) - 1:
                info.external_attr = mode << 16
            opened.writestr(info, content)
            if number == len(entries) - 1:
                for attribute, value in attributes.items():
                    setattr(info, attribute, value)


def write_patched_archive(path: Path, entries: list[tuple[str, bytes]], change: Callable[[bytearray], object]) -> None:
    """Write a zip, then change its bytes."""
    write_archive(path, entries)
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def hostile_archives(model: Path, outside: Path) -> dict[str, Callable[[Path], object]]:
    """Return functions that write an archive which tries to write elsewhere, or too much, by name."""
    good = [
        (path.relative_to(model).as_posix(), path.read_bytes()) for path in sorted(model.rglob("*")) if path.is_file()
    ]
    deep, zeros = "../" * 12, bytes(100 << 20)

    def named(name: str, mode: int = 0, content: bytes = b"bad", **attributes: int) -> Callable[[Path], object]:
        return lambda path: write_archive(path, [*good, (name, content)], mode, **attributes)

    def patched(change: Callable[[bytearray], object]) -> Callable[[Path], object]:
        return lambda path: write_patched_archive(path, good, change)

    return {
        "parent": named("../evil"),
        "distant parent": named(f"{deep}{outside.relative_to('/')}/evil"),
        "parent, from a subfolder": named("ctranslate2/../../evil"),
        "parent, with a backslash": named("..\\evil"),
        "parent, with mixed slashes": named("ctranslate2/..\\..\\evil"),
        "absolute": named(f"{outside}/evil"),
        "absolute, with two slashes": named(f"/{outside}/evil"),
        "a drive": named("C:\\evil"),
        "a drive, relative": named("C:evil"),
        "a network path": named("\\\\host\\share\\evil"),
        "home folder": lambda path: write_archive(path, [("~/evil", b"bad"), ("../~/evil", b"bad")]),
        "a dot": named("./evil"),
        "an empty folder name": named("ctranslate2//evil"),
        "a NUL": named("card.md\0/../../evil"),
        "a line break": named("ctranslate2/\n../evil"),
        "an alternate data stream": named("card.md:evil"),
        "a symbolic link to a file": named("link", stat.S_IFLNK | 0o777, b"/etc/passwd"),
        "a symbolic link to a folder": lambda path: write_archive(
            path, [*good, ("link/evil", b"bad"), ("link", str(outside).encode())], stat.S_IFLNK | 0o777
        ),
        "a device": named("zero", stat.S_IFCHR | 0o666),
        "a block device": named("disk", stat.S_IFBLK | 0o666),
        "a pipe": named("pipe", stat.S_IFIFO | 0o666),
        "a socket": named("socket", stat.S_IFSOCK | 0o666),
        "a duplicate name": named("settings.json", content=b"{}"),
        "a duplicate name in capitals": named("SETTINGS.JSON", content=b"{}"),
        "a duplicate name in another Unicode form": lambda path: write_archive(
            path, [*good, ("é", b"1"), ("e\u0301", b"2")]
        ),
        "a folder with the name of a file": named("card.md/", content=b""),
        "a zip bomb": named("ctranslate2/bomb.bin", content=zeros),
        "a zip bomb with a small declared size": named("ctranslate2/bomb.bin", content=zeros, file_size=10),
        "a zip bomb as settings": lambda path: write_archive(path, [("settings.json", zeros)]),
        "overlapping files": patched(overlap),
        "a directory with too many entries": patched(
            lambda data: data.__setitem__(slice(-10, -6), b"\xf0\xff\xff\xff")
        ),
        "no files": lambda path: write_archive(path, []),
        "a truncated archive": patched(lambda data: data.__delitem__(slice(len(data) // 2, None))),
        "an encrypted file": patched(lambda data: data.__setitem__(data.rfind(b"PK\x01\x02") + 8, 1)),
        "not a zip": lambda path: path.write_bytes(zlib.compress(zeros)),
    }


def overlap(data: bytearray) -> None:
    """Make every entry of the archive's directory point to the same file."""
    position = data.find(b"PK\x01\x02")
    while position >= 0:
        data[position + 42 : position + 46] = struct.pack("<I", 0)
        position = data.find(b"PK\x01\x02", position + 4)


@campaign("archives")
def test_hostile_archives_are_refused_and_leave_no_files(
    model: Path, tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    cache, outside, inbox = (tmp_path / name for name in ("cache", "outside", "inbox"))
    for folder in (outside, inbox):
        folder.mkdir()
    monkeypatch.setattr("regard.model_folder.loader.user_cache_path", lambda name: cache / name)
    monkeypatch.chdir(outside)
    archives = hostile_archives(model, outside)
    assert len(archives) == count
    before = file_sizes(tmp_path, without=cache)
    for name, write in archives.items():
        path = inbox / "archive.zip"
        write(path)
        with pytest.raises(FolderError) as caught:
            open_folder(path)
        assert str(caught.value).startswith(str(path)), name
        path.unlink()
        assert file_sizes(tmp_path, without=cache) == before, name
        left = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
        assert left == 0, name
    write_archive(
        inbox / "good.zip", [(path.relative_to(model).as_posix(), path.read_bytes()) for path in model.rglob("*.*")]
    )
    check(open_folder(inbox / "good.zip"))  # a valid archive opens
    report(
        f"{count} hostile archives: {count} refused with their name; 0 bytes written outside, 0 bytes left in the cache"
    )


def file_sizes(folder: Path, without: Path) -> dict[Path, int]:
    files = (path for path in folder.rglob("*") if not path.is_relative_to(without) and path.is_file())
    return {path: path.lstat().st_size for path in files}
