"""Archives from untrusted sources: requested files are unpacked, everything else is refused with a reason."""

import os
import stat
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.errors import FolderError
from regard.storage import archives
from regard.storage.archives import unpack

Fill = Callable[[zipfile.ZipFile], object]


def with_files(contents: dict[str, bytes]) -> Fill:
    """Fill an archive with files of these names and contents."""
    return lambda archive: [archive.writestr(*each) for each in contents.items()]  # type: ignore[func-returns-value]


def make(path: Path, fill: Fill) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about duplicate names
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            fill(archive)
    return path


def entry(name: str, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def with_bad_entry(name: str, mode: int = 0, content: bytes = b"bad") -> Fill:
    """Fill an archive with a harmless file and an entry of this name."""

    def fill(archive: zipfile.ZipFile) -> None:
        archive.writestr("a", b"good")
        archive.writestr(entry(name, mode), content)

    return fill


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def refusal(archive: Path, into: Path) -> str:
    into.mkdir()
    with pytest.raises(FolderError) as caught:
        unpack(archive, into, wanted=lambda name: True)
    return str(caught.value)


# Good archives


@pytest.mark.parametrize("top", ["", "model/", "été 1/"])
def test_files_are_unpacked_unchanged(tmp_path: Path, top: str) -> None:
    contents = {"a": b"1" * 100_000, "inner/b": b"", "inner/c": os.urandom(5_000)}
    into = tmp_path / "into"
    into.mkdir()
    unpack(
        make(tmp_path / "a.zip", with_files({top + name: each for name, each in contents.items()})), into, wanted=bool
    )
    assert {name: (into / name).read_bytes() for name in names(into)} == contents


def test_only_wanted_files_are_unpacked(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    unpack(make(tmp_path / "a.zip", with_bad_entry("b")), into, wanted=lambda name: name == "a")
    assert names(into) == ["a"]


def test_a_single_top_folder_is_left_out_but_two_are_kept(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    unpack(make(tmp_path / "a.zip", with_files({"x/a": b"1", "y/b": b"2"})), into, wanted=lambda name: True)
    assert names(into) == ["x/a", "y/b"]


def test_metadata_added_by_macos_is_ignored(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    unpack(make(tmp_path / "a.zip", with_files({"x/a": b"1", "__MACOSX/x/._a": b"2"})), into, wanted=lambda name: True)
    assert names(into) == ["a"]


# Bad archives


TRUST = "; this is not an archive of a model: download it again from a source you trust"


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        (with_bad_entry("../b"), "the name '../b' in it leads out of the folder"),
        (with_bad_entry("/etc/b"), "the name '/etc/b' in it leads out of the folder"),
        (with_bad_entry("in/../../b"), "the name 'in/../../b' in it leads out of the folder"),
        (with_bad_entry("C:b"), "the name 'C:b' in it leads out of the folder"),
        (with_bad_entry("in\\b"), "the name 'in\\\\b' in it leads out of the folder"),
        (with_bad_entry("b", stat.S_IFLNK | 0o777, b"/etc/passwd"), "'b' in it is a link or a device"),
        (with_bad_entry("b", stat.S_IFCHR | 0o666), "'b' in it is a link or a device"),
        (with_bad_entry("b", stat.S_IFIFO | 0o666), "'b' in it is a link or a device"),
        (with_bad_entry("a"), "the name 'a' is in it twice"),
        (with_bad_entry("A"), "the name 'a' is in it twice"),
        (with_bad_entry("a/"), "the name 'a' is in it twice"),
        (
            lambda archive: archive.writestr("b", b"bad", zipfile.ZIP_LZMA),
            "'b' in it is compressed by an unsupported method",
        ),
        (with_bad_entry("b", content=bytes(80_000_000)), "it unpacks to far more than its own size"),
    ],
)
def test_a_malicious_entry_is_refused_and_named(tmp_path: Path, fill: Fill, reason: str) -> None:
    archive = make(tmp_path / "a.zip", fill)
    assert refusal(archive, tmp_path / "into") == f"{archive}: {reason}{TRUST}"
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "into"}


def test_names_that_differ_only_in_unicode_normalisation_are_duplicates(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", with_files({"\u00e9": b"1", "e\u0301": b"2"}))
    assert refusal(archive, tmp_path / "into").startswith(f"{archive}: the name '\u00e9' is in it twice")


def test_the_unpacked_size_is_limited_in_proportion_to_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit applies to the bytes unpacked, not to the sizes in the archive."""
    monkeypatch.setattr(archives, "MAX_BYTES", 1_000)
    noise = os.urandom(10_000)
    archive = make(tmp_path / "good.zip", with_files({"a": noise, "b": bytes(100_000)}))
    (tmp_path / "into").mkdir()
    unpack(archive, tmp_path / "into", wanted=lambda name: True)
    bomb = make(tmp_path / "bad.zip", with_bad_entry("b", content=bytes(100_000)))
    assert refusal(bomb, tmp_path / "other").startswith(f"{bomb}: it unpacks to far more than its own size")


def test_an_encrypted_file_is_refusal(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", with_bad_entry("b"))
    data = bytearray(archive.read_bytes())
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    assert refusal(archive, tmp_path / "into") == f"{archive}: 'b' in it is encrypted{TRUST}"


def test_a_huge_central_directory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_DIRECTORY_BYTES", 90)
    archive = make(tmp_path / "a.zip", with_bad_entry("b"))
    assert refusal(archive, tmp_path / "into") == f"{archive}: its list of files is too long{TRUST}"


def test_a_zip64_archive_is_refused(tmp_path: Path) -> None:
    """zipfile trusts the directory size in a Zip64 record, which may be any number."""
    archive = make(tmp_path / "a.zip", with_bad_entry("b"))
    data = archive.read_bytes()
    archive.write_bytes(data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:])
    assert refusal(archive, tmp_path / "into") == (
        f"{archive}: this is a Zip64 archive, which is not supported; leave run/ out of it, or unpack it yourself "
        "and give the folder"
    )


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"no zip at all", b"PK\x05\x06" + bytes(17)])
def test_a_file_that_is_not_a_zip_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    assert refusal(tmp_path / "a.zip", tmp_path / "into") == (
        f"{tmp_path / 'a.zip'}: not a readable zip archive (it has no list of files; it may be cut off); copy or "
        "download it again"
    )


def test_a_flipped_byte_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    contents = {"a": b"some text, some text", "b": bytes(range(200))}
    archive = make(tmp_path / "a.zip", with_files(contents))
    original = archive.read_bytes()
    for position in range(len(original)):
        data = bytearray(original)
        data[position] ^= 0x55
        archive.write_bytes(data)
        into = tmp_path / f"into-{position}"
        into.mkdir()
        try:
            unpack(archive, into, wanted=contents.__contains__)
        except FolderError as error:
            assert str(error).startswith(str(archive))  # noqa: PT017 (not every flip raises)
        else:
            found = {name: (into / name).read_bytes() for name in names(into)}
            assert all(contents[name] == content for name, content in found.items()), position
