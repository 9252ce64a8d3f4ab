"""What is freed is used again without new pages from the kernel, unless the user says otherwise."""

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")

ROUNDS, BYTES = 20, 48 << 20  # a block that glibc would map on its own, whatever went before
PROGRAM = f"""
import ctypes, resource
from robustparse.cli.common.freed_memory import keep_freed_memory

kept = keep_freed_memory()
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({ROUNDS}):
    block = libc.malloc(ctypes.c_size_t({BYTES}))
    ctypes.memset(ctypes.c_void_p(block), 1, {BYTES})
    libc.free(block)
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def new_pages(**settings: str) -> tuple[bool, float]:
    """Whether memory is kept, and pages a round in those of a block."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=plain | settings,
        text=True,
        capture_output=True,
        check=True,
    )
    kept, faults = done.stdout.split()
    return kept == "True", int(faults) / ROUNDS / (BYTES / os.sysconf("SC_PAGE_SIZE"))


def test_freed_blocks_are_used_again() -> None:
    kept, pages = new_pages()
    assert kept
    assert pages < 1.5 / ROUNDS  # those of the first round


def test_the_users_own_settings_hold() -> None:
    kept, pages = new_pages(MALLOC_MMAP_THRESHOLD_="1000000")
    assert not kept
    assert pages > 0.9
