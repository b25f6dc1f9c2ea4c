"""Settings of the whole process for programs such as Regard's command line. Importing Regard does not change them."""

import os

from regard.machine.cpu import available_cpus, usable_cpus
from regard.machine.malloc import limit_trimming, retain_freed_memory

set_by_regard: set[str] = set()  # the environment variables that `tune` has set in this process


def tune() -> None:
    """Set OpenMP variables and malloc options; call it before torch or ctranslate2 is imported.

    In data-parallel training, the main thread and every replica have OpenMP threads of their own, together more than
    there are cores, although only some of them work at a time. In this situation, OpenMP by default puts a waiting
    thread to sleep almost at once. With these settings, a thread waits actively for longer before it goes to sleep.
    Translation is not affected, because CTranslate2 never has more threads than cores (see its backend).

    OpenMP does not know the CPU quota of a container, and would start a thread for every CPU of the machine.

    CTranslate2 reallocates its KV cache for every token, so some freed memory is kept.

    Variables that the user has set are kept.
    """
    if not {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys():
        _set(OMP_WAIT_POLICY="ACTIVE", GOMP_SPINCOUNT="300000")
    if "OMP_NUM_THREADS" not in os.environ and usable_cpus() < available_cpus():
        _set(OMP_NUM_THREADS=str(usable_cpus()))
    limit_trimming()


def tune_for_training() -> None:
    """Set malloc options for a program that trains a model; call it after `tune`, and before a thread starts."""
    retain_freed_memory()


def _set(**variables: str) -> None:
    os.environ.update(variables)
    set_by_regard.update(variables)
