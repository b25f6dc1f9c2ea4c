"""Lines of files: unchanged and in place, whatever the compression; every invalid line is reported."""

import gzip
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.formats.lines import MAX_LINE_BYTES, Lines
from regard.data.formats.records import InvalidRecord
from regard.errors import DataError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Write = Callable[[str, bytes], Path]


def test_lines_end_only_at_newlines(write: Write) -> None:
    lines = ["a\u2028b", "c\u0085d", "e\rf", "g\x0bh\x0c", "  i\u00a0 ", "j\0k", "", "l\x1c\r"]
    path = write("a.en", "\n".join(lines).encode())
    assert list(Lines(path)) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_every_line_is_read_back_unchanged(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("lines") / "any"
    # A byte order mark at the start and a carriage return at an end are the two documented exceptions.
    lines = [line.rstrip("\r").lstrip("\ufeff") for line in lines]
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    assert list(Lines(path)) == lines


def test_windows_line_ends_lose_one_carriage_return(write: Write) -> None:
    assert list(Lines(write("a", b"a\r\nb\r\r\nc\r"))) == ["a", "b\r", "c\r"]


def test_a_byte_order_mark_is_removed_only_at_the_start(write: Write) -> None:
    mark = "\ufeff".encode()
    assert list(Lines(write("a", mark + b"a\n" + mark + b"b\n"))) == ["a", "\ufeffb"]


@pytest.mark.parametrize(("data", "count"), [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"a\nb", 2)])
def test_a_final_newline_starts_no_new_line(write: Write, data: bytes, count: int) -> None:
    assert len(list(Lines(write("a", data)))) == count


def test_gzip_is_recognised_by_content_not_by_name(write: Write) -> None:
    assert list(Lines(write("a.txt", gzip.compress(b"a\nb\n")))) == ["a", "b"]
    assert list(Lines(write("a.gz", b"a\nb\n"))) == ["a", "b"]
    two_members = gzip.compress(b"a\n") + gzip.compress(b"b\n")
    assert list(Lines(write("two.gz", two_members))) == ["a", "b"]


def test_cut_off_gzip_is_an_error(write: Write) -> None:
    path = write("a.gz", gzip.compress(os.urandom(3000).hex().encode())[:-20])
    with pytest.raises(DataError, match=r"a\.gz: the gzip data is damaged or cut off \(.*gzip -t .*a\.gz"):
        list(Lines(path))


def test_broken_gzip_is_an_error(write: Write) -> None:
    data = bytearray(gzip.compress(os.urandom(3000).hex().encode()))
    data[100:120] = bytes(20)
    with pytest.raises(DataError, match="the gzip data is damaged or cut off"):
        list(Lines(write("a.gz", bytes(data))))


def test_an_unreadable_file_is_an_error(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("a.en", b"a\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"a\.en: cannot be read \(Permission denied\); check its permissions"):
        list(Lines(path))


def test_an_invalid_byte_is_reported_with_file_line_and_column(write: Write) -> None:
    path = write("a.en", b"good\nna\xefve\n")
    with pytest.raises(DataError, match=r"a\.en:2: byte 3 of the line \(0xef\) is not UTF-8.*iconv -f latin1 -t utf-8"):
        list(Lines(path))


def test_utf16_is_recognised(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.en:1: byte 1 .* if it is utf-16, convert it: iconv -f utf-16"):
        list(Lines(write("a.en", "hello\n".encode("utf-16"))))


def test_encoded_surrogates_are_not_utf8(write: Write) -> None:
    with pytest.raises(DataError, match="byte 1 of the line"):
        list(Lines(write("a.en", b"\xed\xa0\x80\n")))


def test_zstd_is_recognised_by_content_not_by_name(write: Write) -> None:
    assert list(Lines(write("a.txt", zstd.compress(b"a\nb\n")))) == ["a", "b"]
    assert list(Lines(write("a.zst", b"a\nb\n"))) == ["a", "b"]
    two_frames = zstd.compress(b"a\n") + zstd.compress(b"b\n")
    assert list(Lines(write("two.zst", two_frames))) == ["a", "b"]


@pytest.mark.parametrize("keep", [slice(0, -20), slice(0, 6)])
def test_cut_off_zstd_is_an_error(write: Write, keep: slice) -> None:
    path = write("a.zst", zstd.compress(os.urandom(3000).hex().encode())[keep])
    with pytest.raises(DataError) as error:
        list(Lines(path))
    assert str(error.value) == (
        f"{path}: the zstd data is damaged or cut off (Compressed file ended before the end-of-stream marker was "
        f"reached); download or compress the file again, and check it with: zstd -t {path}"
    )


def test_broken_zstd_is_an_error(write: Write) -> None:
    text = os.urandom(3000).hex().encode()
    # The zstd command adds a checksum too.
    data = bytearray(zstd.compress(text, options={zstd.CompressionParameter.checksum_flag: 1}))
    data[100:120] = bytes(20)
    with pytest.raises(DataError, match="the zstd data is damaged or cut off"):
        list(Lines(write("a.zst", bytes(data))))


def test_invalid_lines_are_reported_in_place(write: Write) -> None:
    path = write("a.en", b"one\n\xff\nthree\n")
    one, two, three = Lines(path).with_invalid()
    assert (one, three) == ("one", "three")
    assert isinstance(two, InvalidRecord)
    assert two == InvalidRecord(
        path,
        2,
        "not UTF-8",
        f"{path}:2: byte 1 of the line (0xff) is not UTF-8; if it is latin1, convert it: iconv -f latin1 -t utf-8 "
        f"{path} > fixed.en",
    )


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
@pytest.mark.parametrize("size", [MAX_LINE_BYTES - 1, MAX_LINE_BYTES, 3 * MAX_LINE_BYTES])
def test_a_very_long_line_is_skipped(write: Write, pack: Callable[[bytes], bytes], size: int) -> None:
    path = write("a", pack(b"one\n" + b"x" * size + b"\nthree"))
    one, two, three = Lines(path).with_invalid()
    assert (one, three) == ("one", "three")
    if size < MAX_LINE_BYTES:
        assert two == "x" * size
    else:
        assert isinstance(two, InvalidRecord)
        assert two.message == (
            f"{path}:2: the text has 1,048,576 bytes or more; write a sentence or a paragraph per line, and end each "
            "line with a line feed (\\n)"
        )
