"""The results that a check leaves in its checkout: removed before it runs, read after it."""

import errno
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.messages.incoming.coverage import is_coverage
from git_blackbird.messages.incoming.junit import read_junit
from git_blackbird.messages.incoming.xml import is_xml
from git_blackbird.model.base.globs import matching
from git_blackbird.model.base.system import describe
from git_blackbird.model.run.evidence import CaseResults
from git_blackbird.storage.files import MOST_NAMED, load_in, opened_folder


def remove_results(checkout: Path, globs: Sequence[str]) -> None:
    """Remove what is there already: it would be taken for results of the run. Raises UnusableError.

    What is no report stays; it is a fault of the globs, which ``read_results`` raises.
    """
    try:
        for path in list(_found(checkout, globs)):
            is_large = path.lstat().st_size > MOST_NAMED
            if path.is_symlink() or is_large or is_xml(data := _content(path)) or is_coverage(data):
                path.unlink()
    except OSError as error:
        raise UnusableError(f"old results of the check cannot be removed: {describe(error)}") from error


def read_results(checkout: Path, globs: Sequence[str]) -> CaseResults | None:
    """Return the tests that a run left, None where there are none. Raises UnusableError for another file."""
    contents = dict(left_files(checkout, globs))
    for top in tops_of(checkout):
        # A test that is named by its file has the same name in each checkout.
        contents = {path: data.replace(f"{top}/".encode(), b"") for path, data in contents.items()}
    results = read_junit(contents.items())
    return results if results.states else None


def tops_of(checkout: Path) -> Collection[str]:
    """Return its path, and the one that a link in it leads to: programs write either."""
    return {str(checkout), str(checkout.resolve())}


def left_files(checkout: Path, globs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield what a run left, by paths below the top. Raises UnusableError."""
    for path in _found(checkout, globs):
        try:
            yield str(path.relative_to(checkout)), _content(path)
        except OSError as error:
            raise UnusableError(f"the results of the check cannot be read: {describe(error)}") from error


def _content(path: Path) -> bytes:
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link", path.name)
    if path.lstat().st_size > MOST_NAMED:
        raise OSError(errno.EFBIG, f"larger than {MOST_NAMED >> 20} MB", path.name)
    with opened_folder(path.parent) as folder:
        return load_in(folder, path.name)


def _found(checkout: Path, globs: Sequence[str]) -> Iterator[Path]:
    """Yield the files that the globs match, in order; links are not followed out of the checkout."""
    if not globs:
        return
    wanted = matching(globs)
    for above, folders, names in os.walk(checkout):
        folders.sort()
        for name in sorted(names):
            path = Path(above, name)
            if wanted.fullmatch(path.relative_to(checkout).as_posix()):
                yield path
