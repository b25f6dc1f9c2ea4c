"""Free memory, the memory limits of a container, and the peak memory of this process."""

import sys
from pathlib import Path

import psutil
import torch

_UNLIMITED = 1 << 62


def free_memory(device: str) -> int:
    """Return how many bytes a training run on `device` may expect to get."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    return min(psutil.virtual_memory().available, container_free_memory())


def container_free_memory(process: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes left within the cgroup limits of this process; a huge number if there is no limit."""
    free = _UNLIMITED
    try:
        lines = process.read_text("utf-8").splitlines()
    except OSError:
        return free  # not Linux
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            names, top = ("memory.max", "memory.current", "inactive_file"), root
        elif "memory" in controllers.split(","):
            names, top = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"), root / "memory"
        else:
            continue
        own = top / path.strip("/")
        # The limits of all parent groups apply too. Inside a container the path may exist only on the host.
        for group in (own, *own.parents):
            if group.is_relative_to(top):
                free = min(free, _free_in_group(group, *names))
    return free


def _free_in_group(group: Path, limit_file: str, usage_file: str, inactive_key: str) -> int:
    try:
        limit = int((group / limit_file).read_text("utf-8"))
        usage = int((group / usage_file).read_text("utf-8"))
        details = dict(line.split() for line in (group / "memory.stat").read_text("utf-8").splitlines())
    except (OSError, ValueError):
        return _UNLIMITED  # no such group, or no limit, which is written "max"
    # The kernel reclaims inactive pages of the file cache when memory is needed.
    return limit - usage + int(details.get(inactive_key, 0))


def peak_memory_mb() -> float | None:
    """Return the peak memory of this process in MB, or None where the system does not report it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
