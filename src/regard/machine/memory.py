"""Free memory, limits of the container, and peak memory of this process."""

import sys
from pathlib import Path

import psutil
import torch


def free_memory(device: str) -> int:
    """How many bytes a run may hope for."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    return min(psutil.virtual_memory().available, container_free_memory())


def container_free_memory(process: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """What the limits that Linux sets to a container leave; more than there is, where there are none."""
    room = 1 << 62
    try:
        lines = process.read_text("utf-8").splitlines()
    except OSError:
        return room  # not Linux
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds == "":
            names, start = ("memory.max", "memory.current", "inactive_file"), root
        elif "memory" in kinds.split(","):
            names, start = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"), root / "memory"
        else:
            continue
        own = start / path.strip("/")
        # A limit of any group above holds too. Inside a container the path may be one that only its host sees.
        for group in (own, *own.parents):
            if group.is_relative_to(start):
                room = min(room, _free_in_group(group, *names))
    return room


def _free_in_group(group: Path, limit: str, used: str, inactive: str) -> int:
    try:
        most = int((group / limit).read_text("utf-8"))
        now = int((group / used).read_text("utf-8"))
        facts = dict(line.split() for line in (group / "memory.stat").read_text("utf-8").splitlines())
    except (OSError, ValueError):
        return 1 << 62  # no limit, which is written "max", or no such group
    # Pages of files that nobody uses are given back when they are wanted.
    return most - now + int(facts.get(inactive, 0))


def peak_memory_mb() -> float | None:
    """The most this process has held, where the system tells."""
    try:
        import resource
    except ImportError:  # Windows has none
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
