"""Archives of strangers: what is asked for comes out, everything else is refused, in words."""

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


def filled(contents: dict[str, bytes]) -> Fill:
    """With files of these names."""
    return lambda archive: [archive.writestr(*each) for each in contents.items()]  # type: ignore[func-returns-value]


def make(path: Path, fill: Fill) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            fill(archive)
    return path


def entry(name: str, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("x")
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def both(name: str, mode: int = 0, content: bytes = b"bad") -> Fill:
    """A harmless file, and one of this name."""

    def fill(archive: zipfile.ZipFile) -> None:
        archive.writestr("a", b"good")
        archive.writestr(entry(name, mode), content)

    return fill


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def refused(archive: Path, into: Path) -> str:
    into.mkdir()
    with pytest.raises(FolderError) as caught:
        unpack(archive, into, wanted=lambda name: True)
    return str(caught.value)


# What is good


@pytest.mark.parametrize("top", ["", "model/", "été 1/"])
def test_files_come_out_as_they_went_in(tmp_path: Path, top: str) -> None:
    contents = {"a": b"1" * 100_000, "inner/b": b"", "inner/c": os.urandom(5_000)}
    into = tmp_path / "into"
    into.mkdir()
    unpack(make(tmp_path / "a.zip", filled({top + name: each for name, each in contents.items()})), into, wanted=bool)
    assert {name: (into / name).read_bytes() for name in names(into)} == contents


def test_only_what_is_wanted_comes_out(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    unpack(make(tmp_path / "a.zip", both("b")), into, wanted=lambda name: name == "a")
    assert names(into) == ["a"]


def test_one_folder_around_all_does_not_count_but_two_do(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    unpack(make(tmp_path / "a.zip", filled({"x/a": b"1", "y/b": b"2"})), into, wanted=lambda name: True)
    assert names(into) == ["x/a", "y/b"]


def test_what_a_mac_adds_does_not_count(tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    unpack(make(tmp_path / "a.zip", filled({"x/a": b"1", "__MACOSX/x/._a": b"2"})), into, wanted=lambda name: True)
    assert names(into) == ["a"]


# What is not


TRUST = "; that is no archive of a model: get it again from someone you trust"


@pytest.mark.parametrize(
    ("fill", "reason"),
    [
        (both("../b"), "the name '../b' in it leads elsewhere"),
        (both("/etc/b"), "the name '/etc/b' in it leads elsewhere"),
        (both("in/../../b"), "the name 'in/../../b' in it leads elsewhere"),
        (both("C:b"), "the name 'C:b' in it leads elsewhere"),
        (both("in\\b"), "the name 'in\\\\b' in it leads elsewhere"),
        (both("b", stat.S_IFLNK | 0o777, b"/etc/passwd"), "'b' in it is a link or a device"),
        (both("b", stat.S_IFCHR | 0o666), "'b' in it is a link or a device"),
        (both("b", stat.S_IFIFO | 0o666), "'b' in it is a link or a device"),
        (both("a"), "the name 'a' is in it twice"),
        (both("A"), "the name 'a' is in it twice"),
        (both("a/"), "the name 'a' is in it twice"),
        (lambda archive: archive.writestr("b", b"bad", zipfile.ZIP_LZMA), "'b' in it is packed in an unusual way"),
        (both("b", content=bytes(80_000_000)), "it unpacks to far more than its own size"),
    ],
)
def test_what_an_archive_tries_is_refused_by_name(tmp_path: Path, fill: Fill, reason: str) -> None:
    archive = make(tmp_path / "a.zip", fill)
    assert refused(archive, tmp_path / "into") == f"{archive}: {reason}{TRUST}"
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", "into"}


def test_the_same_name_in_two_spellings_is_the_same_name(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", filled({"\u00e9": b"1", "e\u0301": b"2"}))
    assert refused(archive, tmp_path / "into").startswith(f"{archive}: the name '\u00e9' is in it twice")


def test_a_large_archive_may_unpack_to_more_but_not_to_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in bytes that came out, whatever the archive says of itself."""
    monkeypatch.setattr(archives, "MAX_BYTES", 1_000)
    noise = os.urandom(10_000)
    archive = make(tmp_path / "good.zip", filled({"a": noise, "b": bytes(100_000)}))
    (tmp_path / "into").mkdir()
    unpack(archive, tmp_path / "into", wanted=lambda name: True)
    bomb = make(tmp_path / "bad.zip", both("b", content=bytes(100_000)))
    assert refused(bomb, tmp_path / "other").startswith(f"{bomb}: it unpacks to far more than its own size")


def test_an_encrypted_file_is_refused(tmp_path: Path) -> None:
    archive = make(tmp_path / "a.zip", both("b"))
    data = bytearray(archive.read_bytes())
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    assert refused(archive, tmp_path / "into") == f"{archive}: 'b' in it is encrypted{TRUST}"


def test_a_list_of_files_without_end_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_DIRECTORY_BYTES", 90)
    archive = make(tmp_path / "a.zip", both("b"))
    assert refused(archive, tmp_path / "into") == f"{archive}: its list of files is too long{TRUST}"


def test_a_list_of_files_of_two_sizes_is_not_read(tmp_path: Path) -> None:
    """The one that a large archive has is believed by zipfile, and may be anything."""
    archive = make(tmp_path / "a.zip", both("b"))
    data = archive.read_bytes()
    archive.write_bytes(data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:])
    assert refused(archive, tmp_path / "into") == (
        f"{archive}: a zip in the form for more than 4 GB, which is not read; leave run/ out of it, or unpack it "
        "yourself and give the folder"
    )


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"no zip at all", b"PK\x05\x06" + bytes(17)])
def test_what_is_no_zip(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    assert refused(tmp_path / "a.zip", tmp_path / "into") == (
        f"{tmp_path / 'a.zip'}: not a zip archive that can be read (it has no list of files; it may be cut off); copy "
        "or download it again"
    )


def test_every_flipped_byte_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    contents = {"a": b"some text, some text", "b": bytes(range(200))}
    archive = make(tmp_path / "a.zip", filled(contents))
    whole = archive.read_bytes()
    for position in range(len(whole)):
        data = bytearray(whole)
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
