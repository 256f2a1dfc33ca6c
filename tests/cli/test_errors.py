"""Which errors are the system's, and which a bug."""

import errno
import os

import pytest

from git_blackbird.cli.errors import as_system_fault, exit_code_for
from git_blackbird.cli.stdio import AppState
from git_blackbird.controller.core.environment import system_environment
from git_blackbird.errors import UnusableError


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


def test_what_git_could_not_write_on_a_full_disk_has_the_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = os.statvfs(".")
    full = os.statvfs_result(0 if place == 4 else number for place, number in enumerate(there))
    state = AppState(system_environment, None)
    for answer, hint in ((there, ""), (full, "hint: the disk is full: make room, then repeat the command\n")):
        monkeypatch.setattr(os, "statvfs", lambda _, answer=answer: answer)
        assert exit_code_for(UnusableError("cannot update ref 'HEAD'"), [], state) == 128
        assert capsys.readouterr().err == f"fatal: cannot update ref 'HEAD'\n{hint}"
