"""Free the middle of a file while another process appends to it; supported by Linux."""

import os
import resource
from contextlib import suppress
from functools import cache
from typing import Any

# A multiple of the block size of usual file systems: only whole blocks can be freed.
ALIGNMENT = 64 * 1024
_KEEP_SIZE_AND_PUNCH = 0x01 | 0x02


def punch(descriptor: int, start: int, end: int) -> bool:
    """Free the space between two aligned offsets; return whether the file system supports it.

    The file's size, and data appended meanwhile, stay.
    """
    allocate = _fallocate()
    return allocate is not None and allocate(descriptor, _KEEP_SIZE_AND_PUNCH, start, end - start) == 0


def first_hole(descriptor: int) -> int:
    """Return the offset of the first freed part, or the end of the file."""
    with suppress(AttributeError, OSError):  # unsupported, or the file is empty
        return os.lseek(descriptor, 0, os.SEEK_HOLE)
    return os.fstat(descriptor).st_size


def next_data(descriptor: int, offset: int) -> int:
    """Return the offset of the first data at or after ``offset``."""
    with suppress(AttributeError, OSError):  # unsupported, or nothing follows
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    return offset


@cache
def _fallocate() -> Any:
    if not hasattr(os, "posix_fallocate") or os.uname().sysname != "Linux":
        return None
    # The size of a file includes its holes, so a limit on it would stop the writer.
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        return None
    import ctypes  # noqa: PLC0415  # only for a log beyond its limit

    library = ctypes.CDLL(None, use_errno=True)
    allocate = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if allocate is not None:
        allocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return allocate
