"""The machine and every path: what there is, what is free, and whether what must be written can be."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import regard
from regard.doctor.check_result import CheckResult
from regard.render.units import format_size

LEAST_FREE = 200_000_000  # bytes; a small model, its checkpoints and its data

_VARIABLES = (
    "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME",
)  # fmt: skip


def computer() -> Iterator[CheckResult]:
    """System, cores, memory, and what the environment says about them."""
    yield CheckResult("Machine", "system", f"{platform.platform()}, {platform.machine()}")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield CheckResult("Machine", "cores", f"{os.cpu_count()}, of which {usable} may be used")
    yield CheckResult("Machine", "memory", _memory())
    for name in _VARIABLES:
        value = os.environ.get(name)
        wrong = None
        if name.endswith("_THREADS") and value is not None and not (value.isdigit() and int(value)):
            wrong = f"{name}={value} is no number of threads; set it to one, or unset it"
        yield CheckResult("Machine", name, "not set" if value is None else value, wrong)


def _memory() -> str:
    try:
        import psutil
    except ImportError:
        return "unknown without psutil"
    memory = psutil.virtual_memory()
    return f"{format_size(memory.total)}, of which {format_size(memory.available)} are free"


def paths() -> Iterator[CheckResult]:
    """Where things are read, and where they are written."""
    yield CheckResult("Paths", "regard", str(Path(regard.__file__).parent))
    yield CheckResult("Paths", "Python", sys.executable)
    yield _cache()
    yield _temporary()
    here = Path.cwd()
    yield CheckResult("Paths", "current folder", f"{here}, {format_size(shutil.disk_usage(here).free)} free")


def _cache() -> CheckResult:
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return CheckResult("Paths", "cache", "unknown without platformdirs")
    folder = user_cache_path("regard")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    except OSError as error:
        return _broken("cache", folder, error)
    finding = _writable("cache", folder)
    return CheckResult(
        "Paths", "cache", f"{finding.found}; holds {len(files):,} files, {format_size(sum(files))}", finding.wrong
    )


def _temporary() -> CheckResult:
    try:
        return _writable("temporary files", Path(tempfile.gettempdir()))
    except FileNotFoundError as error:
        return CheckResult("Paths", "temporary files", "nowhere", f"{error.strerror}; make room in one of them")


def _writable(name: str, folder: Path) -> CheckResult:
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        return _broken(name, folder, error)
    wrong = f"only {format_size(free)} are free in {folder}; make room" if free < LEAST_FREE else None
    return CheckResult("Paths", name, f"{folder}, {format_size(free)} free", wrong)


def _broken(name: str, folder: Path, error: OSError) -> CheckResult:
    wrong = f"{folder} cannot be written: {error.strerror}; make it a folder that you may write to, with room in it"
    return CheckResult("Paths", name, str(folder), wrong)
