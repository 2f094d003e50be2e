"""Processes that run for hours give freed memory back: their threads share two heaps."""

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, threading
from backscroll.system import return_freed_memory
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.tmpfile.restype = ctypes.c_void_p
{first}
all_at_once = threading.Barrier(8)
def allocate():
    all_at_once.wait()
    libc.malloc(5000)
    all_at_once.wait()  # a thread that has ended leaves its heap to the next
threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


def heaps(first: str) -> int:
    """How many heaps a process with eight threads has that begins with `first`."""
    command = [sys.executable, "-c", PROGRAM.format(first=first)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.count("<heap ")


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has a heap for each thread")
def test_threads_share_two_heaps() -> None:
    if heaps("") <= 2:
        pytest.skip("this C library does not have a heap for each thread")
    assert heaps("return_freed_memory()") <= 2
