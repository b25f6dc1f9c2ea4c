"""Free memory, the memory limits of a container, and the peak memory of this process."""

import sys
from pathlib import Path

import psutil

from regard.machine.cgroups import MOUNTED, OF_THIS_PROCESS, control_groups

_UNLIMITED = 1 << 62


def free_memory(device: str) -> int:
    """Return how many bytes of memory a training run on `device` can use."""
    if device == "cuda":
        import torch  # not above: a process that only translates with CTranslate2 does not import torch

        return int(torch.cuda.mem_get_info()[0])
    return min(psutil.virtual_memory().available, container_free_memory())


def container_free_memory(process: Path = OF_THIS_PROCESS, root: Path = MOUNTED) -> int:
    """Return how many bytes this process may still allocate under its cgroup limits.

    Without a limit, the result is a huge number.
    """
    groups = control_groups("memory", process, root)
    return min((_free_in_group(version, group) for version, group in groups), default=_UNLIMITED)


def _free_in_group(version: int, group: Path) -> int:
    limit_file, usage_file, inactive_key = (
        ("memory.max", "memory.current", "inactive_file")
        if version == 2
        else ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    )
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
