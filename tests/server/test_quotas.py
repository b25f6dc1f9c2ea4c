"""Usage of keys: charged, limited, and kept through kill -9, damage included."""

import contextlib
import logging
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from regard.errors import DiskError
from regard.server.errors import QuotaExceeded, ServeError
from regard.server.keys import Key
from regard.server.quotas import Usage

KEY = Key("a", "0" * 64, characters_per_month=100)
FREE = Key("b", "1" * 64)

CHARGING = """
import os, sys
from pathlib import Path
from regard.server.keys import Key
from regard.server.quotas import Usage
usage, key = Usage(Path(sys.argv[1])), Key("a", "0" * 64)
while True:
    with usage.charge(key, 7):
        pass
    os.write(1, b".")  # charged: from now on it must survive
"""


def charge(usage: Usage, key: Key | None, characters: int) -> None:
    with usage.charge(key, characters):
        pass


def test_characters_are_charged_up_to_the_limit():
    usage = Usage(None)
    charge(usage, KEY, 60)
    charge(usage, KEY, 40)
    charge(usage, FREE, 10**9)
    charge(usage, None, 10**9)
    with pytest.raises(QuotaExceeded, match="the limit of 100 characters per month is used up"):
        charge(usage, KEY, 1)
    assert (usage.used("a"), usage.used("b"), usage.used("c")) == (100, 10**9, 0)


def test_work_that_fails_is_not_charged_and_running_work_counts():
    usage = Usage(None)
    with contextlib.suppress(KeyError), usage.charge(KEY, 60):
        with pytest.raises(QuotaExceeded):
            charge(usage, KEY, 41)
        raise KeyError
    assert usage.used("a") == 0
    charge(usage, KEY, 100)


def test_a_new_month_begins_at_zero(tmp_path: Path):
    month = ["2026-11"]
    usage = Usage(tmp_path, lambda: month[0])
    charge(usage, KEY, 100)
    month[0] = "2026-12"
    assert usage.used("a") == 0
    charge(usage, KEY, 30)
    usage.close()
    again = Usage(tmp_path, lambda: month[0])
    assert again.used("a") == 30
    again.close()


def test_usage_survives_kill_9(tmp_path: Path):
    """What a killed process has charged is there afterwards: nothing lost, and at most one charge more."""
    confirmed = 0
    for number in range(5):
        process = subprocess.Popen([sys.executable, "-c", CHARGING, str(tmp_path)], stdout=subprocess.PIPE)
        assert process.stdout
        confirmed += len(process.stdout.read(50 * (number + 1)))
        os.kill(process.pid, signal.SIGKILL)
        confirmed += len(process.stdout.read())
        process.stdout.close()
        process.wait()
    usage = Usage(tmp_path)
    assert 0 <= usage.used("a") - 7 * confirmed <= 7 * 5
    usage.close()


def test_a_line_that_was_not_written_completely_is_left_out(tmp_path: Path):
    usage = Usage(tmp_path)
    charge(usage, KEY, 10)
    charge(usage, KEY, 20)
    [journal] = tmp_path.glob("*.journal")
    data = journal.read_bytes()
    usage.close()
    [journal] = tmp_path.glob("*.journal")
    journal.write_bytes(data[:-3])
    (tmp_path / "usage.json").unlink()
    journal.rename(tmp_path / "usage-0.journal")
    again = Usage(tmp_path)
    assert again.used("a") == 10
    again.close()


def test_a_damaged_journal_is_refused(tmp_path: Path):
    usage = Usage(tmp_path)
    charge(usage, KEY, 10)
    [journal] = tmp_path.glob("*.journal")
    data = journal.read_bytes()
    usage._lock.release()
    journal.write_bytes(data.replace(b"10", b"01") + b"\n")
    with pytest.raises(ServeError, match=rf"{journal}:1: the line is damaged; remove it, or move the folder"):
        Usage(tmp_path)


def test_a_changed_file_is_refused(tmp_path: Path):
    usage = Usage(tmp_path)
    charge(usage, KEY, 10)
    usage.close()
    path = tmp_path / "usage.json"
    path.write_text(path.read_text().replace("10", "20"))
    with pytest.raises(ServeError, match=r"was changed after it was written .* restore it from a backup"):
        Usage(tmp_path)


def test_two_servers_do_not_share_a_folder(tmp_path: Path):
    usage = Usage(tmp_path)
    with pytest.raises(ServeError, match="another server uses this folder; give each its own --state"):
        Usage(tmp_path)
    usage.close()


def test_a_long_journal_is_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regard.server.quotas._MAX_JOURNAL_BYTES", 200)
    usage = Usage(tmp_path)
    for _ in range(30):
        charge(usage, FREE, 3)
        [journal] = tmp_path.glob("*.journal")
        assert journal.stat().st_size <= 200
    usage._lock.release()  # as if it was killed
    again = Usage(tmp_path)
    assert again.used("b") == 90
    again.close()


def test_a_full_disk_ends_no_request_and_nothing_is_lost_once_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    # The file to which the tests write what is logged has the same limit.
    monkeypatch.setattr("regard.server.quotas._logger", logging.getLogger("test"))
    usage = Usage(tmp_path)
    charge(usage, FREE, 3)
    [journal] = tmp_path.glob("*.journal")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (journal.stat().st_size + 5, limits[1]))
    try:
        for _ in range(3):
            charge(usage, FREE, 3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert f"{tmp_path}: the usage of keys cannot be written: [Errno 27] File too large" in caplog.text
    charge(usage, FREE, 3)
    usage._lock.release()  # as if it was killed
    again = Usage(tmp_path)
    assert usage.used("b") == again.used("b") == 15
    again.close()


def test_a_merge_that_fails_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """The journal of usage.json stays until usage.json names another one."""

    def full(path: Path, value: object) -> None:
        raise DiskError(f"{path}: the disk is full")

    usage = Usage(tmp_path)
    charge(usage, FREE, 1_000)
    with monkeypatch.context() as patched:
        patched.setattr("regard.server.quotas._MAX_JOURNAL_BYTES", 0)
        patched.setattr("regard.server.quotas.write_hashed_json", full)
        for _ in range(3):
            charge(usage, FREE, 50)
        assert "usage.json: the disk is full" in caplog.text
        with pytest.raises(DiskError):
            usage.close()
    again = Usage(tmp_path)
    assert again.used("b") == 1_050  # the others came when nothing could be written
    again.close()
