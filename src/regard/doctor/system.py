"""Checks of the machine and the paths: cores, memory, environment variables, free disk space, write permission."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import regard
from regard.doctor.check_result import CheckResult
from regard.machine.cpu import cpu_count, requested_threads
from regard.machine.process import set_by_regard
from regard.render.units import format_bytes, format_count

MIN_FREE_BYTES = 200_000_000  # enough for a small model, its checkpoints and its data; if less is free, the check fails

_VARIABLES = (
    "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME",
)  # fmt: skip


def check_machine() -> Iterator[CheckResult]:
    """Check the operating system, the cores, the memory, and environment variables that affect Regard."""
    yield CheckResult("Machine", "system", f"{platform.platform()}, {platform.machine()}")
    yield CheckResult("Machine", "cores", f"{os.cpu_count()} in this machine; Regard uses {cpu_count()}")
    yield CheckResult("Machine", "memory", _memory())
    for name in _VARIABLES:
        value = os.environ.get(name)
        wrong = None
        if name.endswith("_THREADS") and value is not None and requested_threads(value) is None:
            wrong = f"{name}={value} is not a number of threads; set it to a positive number, or unset it"
        found = "not set" if value is None else f"{value} (set by Regard)" if name in set_by_regard else value
        yield CheckResult("Machine", name, found, wrong)


def _memory() -> str:
    try:
        import psutil
    except ImportError:
        return "unknown: psutil is not installed"
    memory = psutil.virtual_memory()
    return f"{format_bytes(memory.total)}, of which {format_bytes(memory.available)} are free"


def check_paths() -> Iterator[CheckResult]:
    """Check the folders that Regard reads from and writes to."""
    yield CheckResult("Paths", "regard", str(Path(regard.__file__).parent))
    yield CheckResult("Paths", "Python", sys.executable)
    yield _check_cache()
    yield _check_temporary_folder()
    here = Path.cwd()
    yield CheckResult("Paths", "current folder", f"{here}, {format_bytes(shutil.disk_usage(here).free)} free")


def _check_cache() -> CheckResult:
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return CheckResult("Paths", "cache", "unknown: platformdirs is not installed")
    folder = user_cache_path("regard")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    except OSError as error:
        return _unwritable("cache", folder, error)
    result = _check_writable("cache", folder)
    return CheckResult(
        "Paths",
        "cache",
        f"{result.found}; holds {format_count(len(files), 'file')}, {format_bytes(sum(files))}",
        result.wrong,
    )


def _check_temporary_folder() -> CheckResult:
    try:
        return _check_writable("temporary files", Path(tempfile.gettempdir()))
    except FileNotFoundError as error:
        return CheckResult("Paths", "temporary files", "none", f"{error.strerror}; free some space in one of them")


def _check_writable(name: str, folder: Path) -> CheckResult:
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        return _unwritable(name, folder, error)
    wrong = f"only {format_bytes(free)} are free in {folder}; free some space" if free < MIN_FREE_BYTES else None
    return CheckResult("Paths", name, f"{folder}, {format_bytes(free)} free", wrong)


def _unwritable(name: str, folder: Path, error: OSError) -> CheckResult:
    wrong = f"{folder} cannot be written to: {error.strerror}; make it a writable folder with free space"
    return CheckResult("Paths", name, str(folder), wrong)
