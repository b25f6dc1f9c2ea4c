"""Free memory, the memory limits of a container, and the peak memory of this process."""

import sys
from pathlib import Path

import psutil

_UNLIMITED = 1 << 62


def free_memory(device: str) -> int:
    """Return how many bytes of memory a training run on `device` can use."""
    if device == "cuda":
        import torch  # not above: a process that only translates with CTranslate2 does not import torch

        return int(torch.cuda.mem_get_info()[0])
    return min(psutil.virtual_memory().available, container_free_memory())


def container_free_memory(process: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many bytes this process may still allocate under its cgroup limits.

    Without a limit, the result is a huge number.
    """
    free = _UNLIMITED
    try:
        lines = process.read_text("utf-8").splitlines()
    except OSError:
        return free  # only Linux has cgroups
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            names, top = ("memory.max", "memory.current", "inactive_file"), root
        elif "memory" in controllers.split(","):
            names, top = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"), root / "memory"
        else:
            continue
        own = top / path.strip("/")
        # The limits of all parent groups apply too. In a container, `own` may be a path that exists only on the host;
        # the limits of the container are then in `top`.
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
        return _UNLIMITED  # the group does not exist, or has no limit (its file contains "max")
    # Inactive pages of the file cache count as free, because the kernel reclaims them when memory is needed.
    return limit - usage + int(details.get(inactive_key, 0))


def peak_memory_mb() -> float | None:
    """Return the peak memory of this process in MB, or None where the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
