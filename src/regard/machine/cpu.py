"""How many cores to use: those that may be used, or as many as someone who shares the machine has asked for."""

import os


def cpu_count() -> int:
    """At least one."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
