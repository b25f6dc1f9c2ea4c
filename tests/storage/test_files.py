"""Files are written completely or not at all, in an order that survives a power failure, and damage is found."""

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from regard.errors import DiskError
from regard.storage import json_files, manifest
from regard.storage.atomic_files import explain_full_disk, new_folder, recover_interrupted_replace, write_atomically
from regard.storage.json_files import read_hashed_json, read_json, write_hashed_json, write_json
from regard.storage.manifest import find_damage, is_safe_relative_name, sha256, write_manifest


class Crash(BaseException):
    """Stands for the death of the process at this point."""


@pytest.fixture
def operations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The disk operations in order: `sync a.tmp`, `rename a.tmp a`, `sync folder .`."""
    recorded: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def name(path: Path) -> str:
        return str(path.relative_to(tmp_path))

    def record_fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        recorded.append(f"sync folder {name(path)}" if folder else f"sync {name(path)}")
        fsync(descriptor)

    def record_replace(self: Path, target: Path) -> Path:
        recorded.append(f"rename {name(self)} {name(target)}")
        return replace(self, target)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system has no /proc to find the file of a descriptor")
    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_replace)
    yield recorded
    monkeypatch.undo()


@contextmanager
def crash_at(operation: str) -> Iterator[None]:
    """Crash instead of the first `sync` or `rename`."""

    def crash(*_: object) -> None:
        raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*{"sync": (os, "fsync"), "rename": (Path, "replace")}[operation], crash)
        yield


# One file


@pytest.mark.parametrize("data", [b"\x00\xff\r\n", "é\r\n€", b"", ""])
def test_a_written_file_has_exactly_the_given_content(tmp_path: Path, data: bytes | str) -> None:
    write_atomically(tmp_path / "a", data)
    assert (tmp_path / "a").read_bytes() == (data.encode() if isinstance(data, str) else data)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_is_synced_then_renamed_then_its_folder_is_synced(tmp_path: Path, operations: list[str]) -> None:
    write_atomically(tmp_path / "a", b"new")
    assert operations == ["sync a.tmp", "rename a.tmp a", "sync folder ."]


@pytest.mark.parametrize("operation", ["sync", "rename"])
def test_an_interrupted_write_leaves_the_old_content(tmp_path: Path, operation: str) -> None:
    write_atomically(tmp_path / "a", b"old")
    with crash_at(operation), pytest.raises(Crash):
        write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    write_atomically(tmp_path / "a", b"newer")
    assert (tmp_path / "a").read_bytes() == b"newer"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_json_is_readable_and_read_back_unchanged(tmp_path: Path) -> None:
    value = {"text": "déjà", "numbers": [1, 0.1, 1e-9], "nothing": None}
    write_json(tmp_path / "a.json", value)
    assert read_json(tmp_path / "a.json") == value
    assert '"déjà"' in (tmp_path / "a.json").read_text("utf-8")


# A folder


def fill(folder: Path, text: str) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "deep").write_text(text)
    (folder / "file").write_text(text)


def make(path: Path, text: str, *, fail: bool = False) -> None:
    with new_folder(path) as folder:
        fill(folder, text)
        if fail:
            raise Crash


def test_a_new_folder_appears_when_its_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "over" / "there"
    with new_folder(target) as folder:
        fill(folder, "new")
        assert not target.exists()
    assert (target / "inner" / "deep").read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["there"]


def test_all_content_is_synced_before_the_rename_and_the_parent_after(tmp_path: Path, operations: list[str]) -> None:
    make(tmp_path / "a", "new")
    *before, rename, after = operations
    assert (rename, after) == ("rename a.tmp a", "sync folder .")
    assert {"sync a.tmp/inner/deep", "sync a.tmp/file", "sync folder a.tmp/inner", "sync folder a.tmp"} == set(before)


def test_missing_parent_folders_are_created_and_synced(tmp_path: Path, operations: list[str]) -> None:
    with new_folder(tmp_path / "one" / "two" / "three"):
        pass
    assert {"sync folder .", "sync folder one", "sync folder one/two"} <= set(operations)


def test_an_exception_in_the_block_leaves_the_old_folder(tmp_path: Path) -> None:
    make(tmp_path / "a", "old")
    with pytest.raises(Crash):
        make(tmp_path / "a", "new", fail=True)
    assert (tmp_path / "a" / "inner" / "deep").read_text() == "old"


def test_a_crash_while_syncing_leaves_the_old_folder(tmp_path: Path) -> None:
    make(tmp_path / "a", "old")
    with crash_at("sync"), pytest.raises(Crash):
        make(tmp_path / "a", "new")
    assert (tmp_path / "a" / "inner" / "deep").read_text() == "old"


def test_a_crash_before_the_rename_makes_no_folder(tmp_path: Path) -> None:
    with crash_at("rename"), pytest.raises(Crash):
        make(tmp_path / "a", "new")
    assert not (tmp_path / "a").exists()


def test_the_temporary_folder_of_a_crash_is_removed(tmp_path: Path) -> None:
    (tmp_path / "a.tmp").mkdir()
    (tmp_path / "a.tmp" / "left").write_text("half")
    with new_folder(tmp_path / "a") as folder:
        assert list(folder.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_new_folder_replaces_all_of_the_old_one(tmp_path: Path) -> None:
    make(tmp_path / "a", "old")
    (tmp_path / "a" / "only in the old").touch()
    make(tmp_path / "a", "new")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["file", "inner"]
    assert (tmp_path / "a" / "file").read_text() == "new"


@pytest.mark.parametrize("renames", [1, 2])
def test_a_crash_during_replacement_keeps_a_complete_folder(tmp_path: Path, renames: int) -> None:
    make(tmp_path / "a", "old")
    rename, count = Path.replace, 0

    def crash(source: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count == renames:
            raise Crash
        return rename(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", crash)
        with pytest.raises(Crash):
            make(tmp_path / "a", "new")
    recover_interrupted_replace(tmp_path / "a")
    assert (tmp_path / "a" / "inner" / "deep").read_text() == "old"
    make(tmp_path / "a", "newer")
    assert (tmp_path / "a" / "inner" / "deep").read_text() == "newer"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


# A full disk


full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@pytest.fixture
def constant_free_space(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk whose number of free bytes does not change during the test."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(100, 93, 7))


@full_device
def test_a_full_disk_keeps_the_old_file_and_the_error_names_path_and_bytes(
    tmp_path: Path, constant_free_space: None
) -> None:
    write_atomically(tmp_path / "a", b"old")
    (tmp_path / "a.tmp").symlink_to("/dev/full")
    with pytest.raises(DiskError) as caught:
        write_atomically(tmp_path / "a", b"x" * 12_345)
    assert str(caught.value) == (
        f"{tmp_path / 'a'}: the disk is full: 12,345 bytes are needed and 7 are free; free some space, then run the "
        "same command again; earlier files are unchanged"
    )
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]  # the half-written file is removed


def make_on_full_disk(
    path: Path,
    needed: int | None,
    write: Callable[[Path], object] = lambda _: Path("/dev/full").write_bytes(b"no room"),
) -> None:
    with new_folder(path, needed) as folder:
        fill(folder, "new")
        (folder / "full.tmp").symlink_to("/dev/full")
        write(folder)


@full_device
@pytest.mark.parametrize("needed", [None, 5_000])
def test_a_full_disk_keeps_the_old_folder_and_frees_the_space_of_the_new_one(
    tmp_path: Path, constant_free_space: None, needed: int | None
) -> None:
    make(tmp_path / "a", "old")
    with pytest.raises(DiskError) as caught:
        make_on_full_disk(tmp_path / "a", needed)
    amount = "5,000 bytes are needed and 7 are free" if needed else "more than the 7 free bytes are needed"
    assert str(caught.value).startswith(f"{tmp_path / 'a'}: the disk is full: {amount}; free some space")
    assert (tmp_path / "a" / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@full_device
def test_a_full_disk_is_reported_for_the_folder_not_for_a_file_in_it(tmp_path: Path, constant_free_space: None) -> None:
    with pytest.raises(DiskError, match="a: the disk is full: 9,999 bytes are needed"):
        make_on_full_disk(tmp_path / "a", 9_999, lambda folder: write_atomically(folder / "full", b"12"))


def test_a_full_disk_is_recognised_in_the_text_of_safetensors(tmp_path: Path) -> None:
    with pytest.raises(DiskError), explain_full_disk(tmp_path / "a", 1):
        raise Exception("Error while serializing: I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize("error", [PermissionError(13, "no"), ValueError("(os error 2)"), KeyError("x")])
def test_other_errors_are_passed_on_unchanged(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)), explain_full_disk(tmp_path / "a", 1):
        raise error


# JSON with its own hash


def test_hashed_json_is_read_back_unchanged(tmp_path: Path) -> None:
    value = {"text": "déjà", "numbers": [1, 0.1 + 0.2], "nothing": None, "inner": {"z": 1, "a": 2}}
    write_hashed_json(tmp_path / "a.json", value)
    assert read_hashed_json(tmp_path / "a.json") == value


def test_a_flipped_bit_never_changes_the_value_of_hashed_json(tmp_path: Path) -> None:
    """The change is detected, or it was in white space."""
    path, value = tmp_path / "a.json", {"seed": 12, "text": "é", "inner": [1.5, True]}
    write_hashed_json(path, value)
    detected = 0
    for position in range(path.stat().st_size):
        for bit in range(8):
            flip(path, position, 1 << bit)
            try:
                assert read_hashed_json(path) == value
            except ValueError as error:
                assert str(error).startswith(str(path))  # noqa: PT017 (not every flip raises)
                detected += 1
            flip(path, position, 1 << bit)
    assert detected > 7 * path.stat().st_size


def test_malicious_json_raises_a_value_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    for content in (b"[" * 100_000, b"\xff", b"", b"{", b"1" * 5_000):
        path.write_bytes(content)
        with pytest.raises(ValueError):  # noqa: PT011 (the messages are Python's)
            read_json(path)
    monkeypatch.setattr(json_files, "MAX_JSON_BYTES", 10)
    path.write_text('"0123456789"')
    with pytest.raises(ValueError, match="more than 10 bytes"):
        read_json(path)


# Hashes and manifests


@pytest.mark.parametrize("name", ["a", "a/b", "a b", "..a", "é.txt"])
def test_safe_names_are_accepted(name: str) -> None:
    assert is_safe_relative_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "/a", "a/../b", "../a", "a//b", "./a", "a/", "C:a", "a\\b", "a\0b", "a\nb", "\\\\host"]
)
def test_names_that_may_leave_the_folder_are_refused(name: str) -> None:
    assert not is_safe_relative_name(name)


@pytest.mark.parametrize(
    "manifest",
    [
        '{"../a": {"bytes": 1, "sha256": ""}}',
        '{"a": {"bytes": 1e999, "sha256": ""}}',
        '{"a": {"bytes": "9", "sha256": ""}}',
    ],
)
def test_a_malicious_manifest_is_reported_as_not_readable(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    assert find_damage(tmp_path) == f"{tmp_path / 'manifest.json'} is not readable"


@pytest.mark.parametrize("size", [0, 1, manifest.CHUNK - 1, manifest.CHUNK, manifest.CHUNK + 1])
def test_the_hash_of_a_file_is_the_hash_of_its_bytes(tmp_path: Path, size: int) -> None:
    data = (b"regard" * (size // 6 + 1))[:size]
    (tmp_path / "a").write_bytes(data)
    assert sha256(tmp_path / "a") == hashlib.sha256(data).hexdigest()


@pytest.fixture
def intact(tmp_path: Path) -> Path:
    """A folder with a manifest."""
    folder = tmp_path / "intact"
    (folder / "inner").mkdir(parents=True)
    (folder / "a").write_bytes(b"0123456789")
    (folder / "inner" / "b").write_bytes(b"x" * 2000)
    write_manifest(folder, ["a", "inner/b"])
    return folder


def test_an_intact_folder_has_no_damage(intact: Path) -> None:
    assert find_damage(intact) is None


def test_files_outside_the_manifest_are_ignored(intact: Path) -> None:
    (intact / "card.md").write_text("anything")
    assert find_damage(intact) is None


def flip(path: Path, position: int, bits: int = 1) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= bits
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda folder: flip(folder / "a", 4), "{}/a was changed after it was written (its SHA-256 differs)"),
        (lambda folder: os.truncate(folder / "a", 9), "{}/a has 9 bytes instead of 10"),
        (lambda folder: os.truncate(folder / "inner" / "b", 0), "{}/inner/b has 0 bytes instead of 2,000"),
        (lambda folder: (folder / "a").write_bytes(b"01234567890"), "{}/a has 11 bytes instead of 10"),
        (lambda folder: (folder / "inner" / "b").unlink(), "{}/inner/b is missing"),
        (lambda folder: (folder / "manifest.json").unlink(), "{}/manifest.json is missing"),
        (lambda folder: os.truncate(folder / "manifest.json", 20), "{}/manifest.json is not readable"),
        (lambda folder: (folder / "manifest.json").write_bytes(b"\xff"), "{}/manifest.json is not readable"),
        (lambda folder: (folder / "manifest.json").write_bytes(b"[1]"), "{}/manifest.json is not readable"),
        (lambda folder: (folder / "manifest.json").write_bytes(b'{"a": 1}'), "{}/manifest.json is not readable"),
    ],
)
def test_damage_is_found_and_named(intact: Path, damage: Callable[[Path], object], expected: str) -> None:
    damage(intact)
    assert find_damage(intact) == expected.format(intact)


def test_only_the_named_files_are_checked(intact: Path) -> None:
    flip(intact / "a", 4)
    assert find_damage(intact, only=["inner/b"]) is None
    assert find_damage(intact, only=["a"]) == f"{intact / 'a'} was changed after it was written (its SHA-256 differs)"
    assert find_damage(intact, only=["unknown"]) == f"{intact / 'manifest.json'} is not readable"


def test_a_flipped_bit_anywhere_is_detected(intact: Path) -> None:
    for path in (intact / "a", intact / "manifest.json"):
        for position in range(path.stat().st_size):
            flip(path, position)
            assert find_damage(intact) is not None, (path, position)
            flip(path, position)
    assert find_damage(intact) is None
