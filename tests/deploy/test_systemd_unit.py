"""The systemd unit gives the server no more rights than it needs."""

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def unit(repository: Path) -> Path:
    return repository / "deploy" / "regard.service"


def settings(unit: Path) -> dict[str, list[str]]:
    """Return the settings of the unit, each with its values."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_finds_it_safe(unit: Path) -> None:
    """The exposure is at most 1.5 of 10."""
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=15", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr


def test_the_server_ends_and_starts_as_systemd_expects(unit: Path) -> None:
    found = settings(unit)
    assert found["Type"] == ["notify"] and found["WatchdogSec"] == ["30"]
    # The signal must reach the front process only, which needs ten seconds at most.
    assert found["KillMode"] == ["mixed"] and int(found["TimeoutStopSec"][0]) > 10
    assert found["DynamicUser"] == ["yes"]
    assert found["IPAddressDeny"] == ["any"] and found["IPAddressAllow"] == ["localhost"]
    # psutil reads /proc, and kernels that are compiled while the server runs need such memory.
    assert "ProcSubset" not in found and "MemoryDenyWriteExecute" not in found
    # A reload gives the server a new copy of the keys, and then tells it.
    copy = found["ExecStartPre"][0]
    assert found["ExecReload"] == [copy, "/bin/kill -HUP $MAINPID"]
    assert copy.split()[-1] in found["ExecStart"][0]
