"""Options of glibc's malloc that keep freed memory for the next training step or translation.

A training step allocates and frees hundreds of megabytes, and a long translation some megabytes. By default, glibc
returns freed memory to the system, which has to clear every page before the process can use it again: thousands of
pages per training step of a `tiny` model. The options of other C libraries are not changed.

The options hold for the whole process, and glibc can neither report nor restore their previous values. Only a program
may set them (machine/process.py), and never the library, whose caller may have other work in the same process.
"""

import ctypes
import platform
import sys

# On each line, the number of a mallopt option from glibc's malloc.h, followed by the values that it is set to.
_TRIM_THRESHOLD, _NEVER_TRIM, _TRIM_BEYOND = -1, -1, 256 << 20

_MMAP_THRESHOLD, _MMAP_BEYOND = -3, 32 << 20

_MMAP_MAX, _NO_MMAP = -4, 0

_ARENA_MAX, _ONE_ARENA = -8, 1


def retain_freed_memory() -> None:
    """From now on, keep all freed memory in the process.

    All threads use one malloc arena, because glibc returns the memory of any additional arena as soon as it is empty.
    Call it before the first thread starts: if additional arenas already exist, later threads use them too.
    """
    _set_options((_TRIM_THRESHOLD, _NEVER_TRIM), (_MMAP_MAX, _NO_MMAP), (_ARENA_MAX, _ONE_ARENA))


def limit_trimming() -> None:
    """From now on, keep up to 256 MB of freed memory in the process instead of returning it to the system."""
    _set_options((_TRIM_THRESHOLD, _TRIM_BEYOND), (_MMAP_THRESHOLD, _MMAP_BEYOND))


def _set_options(*options: tuple[int, int]) -> None:
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        for option, value in options:
            libc.mallopt(option, value)
