"""Reading a file that a clone or an agent may have put there."""

import errno
import os
import stat
from pathlib import Path


def load_bytes(path: Path) -> bytes:
    """Give the content of a regular file; a link to one counts as one.

    A pipe or a device in its place would hang the reader or never end. Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return b"".join(iter(lambda: os.read(descriptor, found.st_size + 1), b""))
    finally:
        os.close(descriptor)
