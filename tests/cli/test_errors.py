"""Which errors are the system's, and which a bug."""

import errno
import os

import pytest

from git_blackbird.cli.errors import as_system_fault


def refusal(number: int, name: str | None = None) -> OSError:
    return OSError(number, os.strerror(number), name)


def test_a_refusal_names_its_file_and_the_way_out() -> None:
    fault = as_system_fault(refusal(errno.ENOSPC, "/repo/x\x1b[2J"))
    assert fault is not None
    assert (fault.message, fault.hint) == (
        "cannot use /repo/x: No space left on device",
        "make room, then repeat the command",
    )
    assert fault.exit_code == 128


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (refusal(errno.EMFILE), "Too many open files"),
        (refusal(errno.EIO, "/repo"), "cannot use /repo: Input/output error"),
        (MemoryError(), "out of memory"),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (
            ImportError("libgit2.so: Too many open files"),
            "cannot load a part of this program: libgit2.so: Too many open files",
        ),
    ],
)
def test_limits_are_told_as_such(error: Exception, message: str) -> None:
    fault = as_system_fault(error)
    assert fault is not None
    assert (fault.message, bool(fault.hint)) == (message, True)


@pytest.mark.parametrize(
    "error",
    [
        refusal(errno.ENOENT, "/repo"),
        refusal(errno.EISDIR, "/repo"),
        refusal(errno.EBADF),
        TimeoutError(),
        RuntimeError("another"),
        ImportError("no module named x"),
        KeyError("x"),
    ],
)
def test_everything_else_stays_a_bug(error: Exception) -> None:
    assert as_system_fault(error) is None
