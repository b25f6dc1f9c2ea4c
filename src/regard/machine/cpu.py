"""The number of CPUs that Regard uses."""

import math
import os
from pathlib import Path

from regard.machine.cgroups import MOUNTED, OF_THIS_PROCESS, control_groups


def cpu_count() -> int:
    """Return the number of threads in OMP_NUM_THREADS if it is set, otherwise the number of CPUs that may be used."""
    return requested_threads(os.environ.get("OMP_NUM_THREADS", "")) or usable_cpus()


def requested_threads(value: str) -> int | None:
    """Return the number of threads in a value of OMP_NUM_THREADS, or None if it is not a valid value.

    The value may be a list, such as `4,2`: its first number is for the outermost parallel regions. Regard has no
    others.
    """
    numbers = [number.strip() for number in value.split(",")]
    is_valid = all(number.isascii() and number.isdigit() and int(number) > 0 for number in numbers)
    return int(numbers[0]) if is_valid else None


def usable_cpus() -> int:
    """Return the number of CPUs that this process may use: those of its affinity mask and its container's quota."""
    quota = container_cpu_quota()
    return min(available_cpus(), math.ceil(quota)) if quota is not None else available_cpus()


def available_cpus() -> int:
    """Return the number of CPUs on which this process may run, without regard to a quota of CPU time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def container_cpu_quota(process: Path = OF_THIS_PROCESS, root: Path = MOUNTED) -> float | None:
    """Return how many CPUs this process may use on average under its cgroup limits, or None without a limit."""
    quotas = (_quota(version, group) for version, group in control_groups("cpu", process, root))
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(version: int, group: Path) -> float | None:
    names = ("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    try:
        # Both versions give the CPU time that may be used in each period, and the period, in microseconds.
        time, period = (int(word) for name in names for word in (group / name).read_text("utf-8").split())
    except (OSError, ValueError):
        return None  # the group does not exist, or has no quota (its file contains "max")
    return time / period if time > 0 and period > 0 else None  # in version 1, a quota of -1 means no limit
