"""Freed memory stays with the process, for the tensors of the next step.

glibc hands large blocks back to the kernel as soon as they are free, and a training step frees
hundreds of them: the kernel then maps and clears the same pages anew, some 30,000 a second, a tenth
of a step's time on a CPU. Only a program may decide this for a process, not a library.
"""

import ctypes
import os
import sys

# Of glibc's malloc.h: the parameter's number, and what turns it off.
_TRIM_THRESHOLD = (-1, -1)  # the heap's free end is never given back
_MMAP_MAX = (-4, 0)  # no block is mapped on its own, and unmapped when it is free


def keep_freed_memory() -> bool:
    """Let this process keep what it frees; whether it does.

    It does nothing without glibc, or where the environment has a ``MALLOC_`` setting of the user's.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):  # another C library
        return False
    trimming_off, mapping_off = (mallopt(*setting) for setting in (_TRIM_THRESHOLD, _MMAP_MAX))
    return bool(trimming_off and mapping_off)
