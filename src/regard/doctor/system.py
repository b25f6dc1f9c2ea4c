"""The machine and every path: what there is, what is free, and whether what must be written can be."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import regard
from regard.doctor.findings import Finding, size

LEAST_FREE = 200_000_000  # bytes; a small model, its checkpoints and its data
_VARIABLES = (
    "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "XDG_CACHE_HOME",
)  # fmt: skip


def computer() -> Iterator[Finding]:
    """System, cores, memory, and what the environment says about them."""
    yield Finding("Machine", "system", f"{platform.platform()}, {platform.machine()}")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("Machine", "cores", f"{os.cpu_count()}, of which {usable} may be used")
    yield Finding("Machine", "memory", _memory())
    for name in _VARIABLES:
        value = os.environ.get(name)
        wrong = None
        if name.endswith("_THREADS") and value is not None and not (value.isdigit() and int(value)):
            wrong = f"{name}={value} is no number of threads; set it to one, or unset it"
        yield Finding("Machine", name, "not set" if value is None else value, wrong)


def _memory() -> str:
    try:
        import psutil
    except ImportError:
        return "unknown without psutil"
    memory = psutil.virtual_memory()
    return f"{size(memory.total)}, of which {size(memory.available)} are free"


def paths() -> Iterator[Finding]:
    """Where things are read, and where they are written."""
    yield Finding("Paths", "regard", str(Path(regard.__file__).parent))
    yield Finding("Paths", "Python", sys.executable)
    yield _cache()
    yield _temporary()
    here = Path.cwd()
    yield Finding("Paths", "current folder", f"{here}, {size(shutil.disk_usage(here).free)} free")


def _cache() -> Finding:
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return Finding("Paths", "cache", "unknown without platformdirs")
    folder = user_cache_path("regard")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    except OSError as error:
        return _broken("cache", folder, error)
    finding = _writable("cache", folder)
    return Finding("Paths", "cache", f"{finding.found}; holds {len(files):,} files, {size(sum(files))}", finding.wrong)


def _temporary() -> Finding:
    try:
        return _writable("temporary files", Path(tempfile.gettempdir()))
    except FileNotFoundError as error:
        return Finding("Paths", "temporary files", "nowhere", f"{error.strerror}; make room in one of them")


def _writable(name: str, folder: Path) -> Finding:
    try:
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as error:
        return _broken(name, folder, error)
    wrong = f"only {size(free)} are free in {folder}; make room" if free < LEAST_FREE else None
    return Finding("Paths", name, f"{folder}, {size(free)} free", wrong)


def _broken(name: str, folder: Path, error: OSError) -> Finding:
    wrong = f"{folder} cannot be written: {error.strerror}; make it a folder that you may write to, with room in it"
    return Finding("Paths", name, str(folder), wrong)
