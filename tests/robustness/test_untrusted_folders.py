"""Model folders and archives of strangers: nothing they hold is run, nothing ends the process, nothing gets out."""

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

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The golden folder, with the engine's files."""
    shutil.copytree(GOLDEN, tmp_path / "model")
    ensure_export(tmp_path / "model")
    return tmp_path / "model"


# Folders


@campaign("mutants")
def test_mutated_folders(model: Path, tmp_path: Path, repository: Path, report: Report, count: int) -> None:
    """Bytes, settings, heads of tensors and engine's files are changed, and mostly the manifests too."""
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
            found = json.loads(done.stdout.splitlines()[-1])
            outcomes.update(found["outcomes"])
            escapes.update(found["escapes"])
            megabytes = max(megabytes, found["megabytes"])
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
        f"{count:,} mutated model folders: {outcomes['refused']:,} refused with the path, {outcomes['accepted']:,} "
        f"still models, and used; 0 crashes, 0 hangs (2 s of processor time each), 0 other exceptions; at most "
        f"{megabytes:.0f} MB of memory more than for the model itself"
    )


class Canary:
    """What a pickle would do if it were read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (Path.touch, (self.path,))


def payloads(canary: Path, folder: Path) -> list[bytes]:
    """Ways in which files of other programs run code when they are read."""
    import pickle

    torch.save(Canary(canary), folder / "torch.bin")
    torch.save({"weights": Canary(canary)}, folder / "old.bin", _use_new_zipfile_serialization=False)
    command = f"__import__('pathlib').Path({str(canary)!r}).touch()"
    written = [
        *(pickle.dumps(Canary(canary), protocol) for protocol in (0, 2, 5)),
        (folder / "torch.bin").read_bytes(),
        (folder / "old.bin").read_bytes(),
        f"!!python/object/apply:pathlib.Path.touch [{canary}]\n".encode(),
        json.dumps({"format": 1, "__reduce__": command, "model": {"kind": command}, "languages": [command]}).encode(),
        command.encode(),
    ]
    (folder / "torch.bin").unlink()
    (folder / "old.bin").unlink()
    return written


@campaign("payloads")
def test_nothing_in_a_folder_is_ever_run(model: Path, tmp_path: Path, report: Report, count: int) -> None:
    canary = tmp_path / "executed"
    written = payloads(canary, tmp_path)
    places = [*HASHED, "fast/model.bin", "fast/config.json"]
    cases = [(place, payload) for payload in written for place in places]
    assert len(cases) == 40
    refused = 0
    for number, (place, payload) in enumerate(random.Random(1).sample(cases, count)):
        out = tmp_path / f"payload-{number}"
        shutil.copytree(model, out)
        (out / place).write_bytes(payload)
        write_manifest(out, HASHED)
        write_manifest(out / "fast", FILES)
        try:
            check(open_folder(out))
        except UserError:
            refused += 1
    assert not canary.exists()
    report(
        f"{count} payloads (pickles, torch files, YAML tags, expressions) in the place of a model's files: 0 run, "
        f"{refused} folders refused, {count - refused} used without the engine's files that were replaced"
    )


# Archives


def archive(path: Path, entries: list[tuple[str, bytes]], mode: int = 0, **facts: int) -> None:
    """A zip of these names, whatever they are; the last entry gets the mode and what is said of it."""
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
                for fact, value in facts.items():
                    setattr(info, fact, value)


def hostile(model: Path, outside: Path) -> dict[str, Callable[[Path], object]]:
    """Ways to write where one should not, or more than one should."""
    good = [
        (path.relative_to(model).as_posix(), path.read_bytes()) for path in sorted(model.rglob("*")) if path.is_file()
    ]
    deep, zeros = "../" * 12, bytes(100 << 20)

    def named(name: str, mode: int = 0, content: bytes = b"bad", **facts: int) -> Callable[[Path], object]:
        return lambda path: archive(path, [*good, (name, content)], mode, **facts)

    def patched(change: Callable[[bytearray], object]) -> Callable[[Path], object]:
        def make(path: Path) -> None:
            archive(path, good)
            data = bytearray(path.read_bytes())
            change(data)
            path.write_bytes(data)

        return make

    return {
        "up": named("../evil"),
        "up, far": named(f"{deep}{outside.relative_to('/')}/evil"),
        "up, from within": named("fast/../../evil"),
        "up, as Windows writes it": named("..\\evil"),
        "up, mixed": named("fast/..\\..\\evil"),
        "absolute": named(f"{outside}/evil"),
        "absolute, twice": named(f"/{outside}/evil"),
        "a drive": named("C:\\evil"),
        "a drive, relative": named("C:evil"),
        "a network path": named("\\\\host\\share\\evil"),
        "a home": lambda path: archive(path, [("~/evil", b"bad"), ("../~/evil", b"bad")]),
        "a dot": named("./evil"),
        "an empty part": named("fast//evil"),
        "a NUL": named("card.md\0/../../evil"),
        "a line break": named("fast/\n../evil"),
        "a stream": named("card.md:evil"),
        "a link to a file": named("link", stat.S_IFLNK | 0o777, b"/etc/passwd"),
        "a link to a folder": lambda path: archive(
            path, [*good, ("link/evil", b"bad"), ("link", str(outside).encode())], stat.S_IFLNK | 0o777
        ),
        "a device": named("zero", stat.S_IFCHR | 0o666),
        "a block device": named("disk", stat.S_IFBLK | 0o666),
        "a pipe": named("pipe", stat.S_IFIFO | 0o666),
        "a socket": named("socket", stat.S_IFSOCK | 0o666),
        "a name twice": named("settings.json", content=b"{}"),
        "a name twice, in capitals": named("SETTINGS.JSON", content=b"{}"),
        "a name twice, in another spelling": lambda path: archive(path, [*good, ("é", b"1"), ("e\u0301", b"2")]),
        "a folder and a file": named("card.md/", content=b""),
        "a bomb": named("fast/bomb.bin", content=zeros),
        "a bomb that says it is small": named("fast/bomb.bin", content=zeros, file_size=10),
        "a bomb among the settings": lambda path: archive(path, [("settings.json", zeros)]),
        "files that are each other": patched(overlap),
        "a list of files that never ends": patched(lambda data: data.__setitem__(slice(-10, -6), b"\xf0\xff\xff\xff")),
        "no files at all": lambda path: archive(path, []),
        "a cut": patched(lambda data: data.__delitem__(slice(len(data) // 2, None))),
        "an encrypted file": patched(lambda data: data.__setitem__(data.rfind(b"PK\x01\x02") + 8, 1)),
        "no zip": lambda path: path.write_bytes(zlib.compress(zeros)),
    }


def overlap(data: bytearray) -> None:
    """Every entry of the list points at the same file."""
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 42 : place + 46] = struct.pack("<I", 0)
        place = data.find(b"PK\x01\x02", place + 4)


@campaign("archives")
def test_hostile_archives(
    model: Path, tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    cache, outside, inbox = (tmp_path / name for name in ("cache", "outside", "inbox"))
    for folder in (outside, inbox):
        folder.mkdir()
    monkeypatch.setattr("regard.model_folder.loader.user_cache_path", lambda name: cache / name)
    monkeypatch.chdir(outside)
    ways = hostile(model, outside)
    assert len(ways) == count
    before = everything(tmp_path, but=cache)
    for name, make in ways.items():
        path = inbox / "archive.zip"
        make(path)
        with pytest.raises(FolderError) as caught:
            open_folder(path)
        assert str(caught.value).startswith(str(path)), name
        path.unlink()
        assert everything(tmp_path, but=cache) == before, name
        left = sum(each.stat().st_size for each in cache.rglob("*") if each.is_file())
        assert left == 0, name
    archive(
        inbox / "good.zip", [(path.relative_to(model).as_posix(), path.read_bytes()) for path in model.rglob("*.*")]
    )
    check(open_folder(inbox / "good.zip"))  # an honest one opens
    report(f"{len(ways)} hostile archives: {len(ways)} refused by name; 0 bytes outside, 0 bytes left in the cache")


def everything(folder: Path, but: Path) -> dict[Path, int]:
    return {path: path.lstat().st_size for path in folder.rglob("*") if not path.is_relative_to(but) and path.is_file()}
