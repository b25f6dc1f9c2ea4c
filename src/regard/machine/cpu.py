"""The number of CPUs that Regard uses."""

import os


def cpu_count() -> int:
    """Return the value of OMP_NUM_THREADS if it is set, otherwise the number of CPUs available to this process."""
    requested = os.environ.get("OMP_NUM_THREADS", "")
    if requested.isdigit() and int(requested) > 0:
        return int(requested)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
