"""What a change does to files."""

import re

import pytest

from git_blackbird.model.run.summary import FileChange, FileStatus, edited_tests

A, M, D, R = FileStatus.ADDED, FileStatus.MODIFIED, FileStatus.DELETED, FileStatus.RENAMED


def changed(path: str, added: int = 0, deleted: int = 0, status: FileStatus = M, old: str = "") -> FileChange:
    return FileChange(status=status, path=path, old_path=old or None, additions=added, deletions=deleted)


@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        (changed("test_a.py", 3), False),
        (changed("test_a.py", 3, 1), True),
        (changed("a/test_a.py", status=D), True),
        (changed("test_new.py", 3, status=A), False),
        (changed("app.py", 0, 9), False),
        (changed("a/test_a.py", status=R, old="test_a.py"), False),
        (changed("attic.txt", status=R, old="test_a.py"), True),
        (changed("test_a.py", status=R, old="app.py"), False),
        (FileChange(status=M, path="test_a.bin", binary=True), True),
    ],
)
def test_what_takes_something_away_from_tests_is_named(change: FileChange, is_named: bool) -> None:
    assert edited_tests([change], re.compile(r"(?:.*/)?test_[^/]*")) == ((change,) if is_named else ())
