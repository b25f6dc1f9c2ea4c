"""Memory that one step gives back is kept for the next.

A step takes hundreds of megabytes and gives them back. glibc hands large blocks to the system, which clears every page
before it gives it out again: thousands of pages in a step of `tiny`. Here glibc is told to keep them, and to serve all
threads from one heap, because that of a thread is emptied whenever nothing is left in it.
"""

import ctypes
import platform

# Their numbers in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NEVER = 1 << 30  # bytes: more than any block of a step


def keep_memory() -> None:
    """From now on, for the whole process. Other systems than Linux with glibc are left as they are."""
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        for option, value in ((_TRIM_THRESHOLD, _NEVER), (_MMAP_THRESHOLD, _NEVER), (_ARENA_MAX, 1)):
            libc.mallopt(option, value)
