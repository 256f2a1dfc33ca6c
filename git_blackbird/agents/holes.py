"""Giving the middle of a file back to the disk while another process appends to it; Linux has that."""

import os
import resource
from contextlib import suppress
from functools import cache
from typing import Any

# More than any block of a usual file system: what is given back ends at whole ones.
ALIGNMENT = 64 * 1024
_KEEP_SIZE_AND_PUNCH = 0x01 | 0x02


def punch(descriptor: int, start: int, end: int) -> bool:
    """Give back what lies between two aligned places; says whether the file system could.

    The size of the file stays, and so does what is appended to it meanwhile.
    """
    allocate = _fallocate()
    return allocate is not None and allocate(descriptor, _KEEP_SIZE_AND_PUNCH, start, end - start) == 0


def first_hole(descriptor: int) -> int:
    """Give where the first part lies that was given back, or where the file ends."""
    with suppress(AttributeError, OSError):  # the system cannot tell, or the file is empty
        return os.lseek(descriptor, 0, os.SEEK_HOLE)
    return os.fstat(descriptor).st_size


def next_data(descriptor: int, offset: int) -> int:
    """Give the place at or after ``offset`` where data lies that was not given back."""
    with suppress(AttributeError, OSError):  # the system cannot tell, or nothing follows
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    return offset


@cache
def _fallocate() -> Any:
    if not hasattr(os, "posix_fallocate") or os.uname().sysname != "Linux":
        return None
    # A file with holes is as large as all that was written: a limit of that would end who writes.
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        return None
    import ctypes  # noqa: PLC0415  # only a log beyond its bound pays for it

    library = ctypes.CDLL(None, use_errno=True)
    allocate = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if allocate is not None:
        allocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return allocate
