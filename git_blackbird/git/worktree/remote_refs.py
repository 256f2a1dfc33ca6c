"""References on another repository, by which commits travel between machines."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.output import texts
from git_blackbird.git.core.process import GitError, operands
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.index import QUIET_OPTIONS

# A first push or fetch may be of a whole history.
_TRANSFER_SECONDS = 3600.0
_POLL_SECONDS = 120.0
_FETCH = (
    *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
    "--recurse-submodules=no",
)


def push(
    repo: Repository, remote: str, commits: Mapping[str, str], expected: Mapping[str, str] | None = None
) -> None:
    """Set references of a remote to commits, all or none, without hooks; "" removes one. Raises GitError.

    Each of ``expected`` must be at that commit there, "" for one that must not be there.
    """
    leases = [f"--force-with-lease={ref}:{commit}" for ref, commit in (expected or {}).items()]
    pushed = [
        f"{commit}:{ref}" if ref in (expected or {}) else f"+{commit}:{ref}"
        for ref, commit in commits.items()
    ]
    command = ("push", "--atomic", "--quiet", "--no-verify", "--no-signed", "--recurse-submodules=no")
    with _naming_remote(remote):
        repo.git(*QUIET_OPTIONS, *command, *leases, *operands(remote, *pushed), timeout=_TRANSFER_SECONDS)


def fetch(repo: Repository, remote: str, refs: Iterable[str]) -> None:
    wanted = (f"+{ref}:{ref}" for ref in refs)
    with _naming_remote(remote):
        repo.git(*QUIET_OPTIONS, *_FETCH, *operands(remote, *wanted), timeout=_TRANSFER_SECONDS)


def fetch_checked(repo: Repository, remote: str, ref: str) -> None:
    """Fetch a reference that somebody else wrote, and let git check its objects. Raises GitError."""
    options = (*QUIET_OPTIONS, "-c", "fetch.fsckObjects=true")
    with _naming_remote(remote):
        repo.git(*options, *_FETCH, *operands(remote, f"+{ref}:{ref}"), timeout=_TRANSFER_SECONDS)


def list_refs(repo: Repository, remote: str, pattern: str) -> dict[str, str]:
    with _naming_remote(remote):
        listed = repo.git("ls-remote", "--refs", *operands(remote, pattern), timeout=_POLL_SECONDS)
    return listed.lines(_commits_by_ref)


def _commits_by_ref(lines: list[bytes]) -> dict[str, str]:
    pairs = (line.split("\t") for line in texts(lines))
    return {ref: commit for commit, ref in pairs}


@contextmanager
def _naming_remote(remote: str) -> Iterator[None]:
    """Name the remote in errors, with all that git and ssh printed about the reason."""
    try:
        yield
    except GitError as error:
        told, _, _ = error.stderr.decode(errors="replace").strip().partition("\n\n")
        reason = "; ".join(filter(None, map(str.strip, told.splitlines()))) or error.message
        message = f"{without_login(remote)}: {reason}"
        raise GitError(error.command, error.code, error.stderr, message=message) from error


def without_login(url: str) -> str:
    """Return a URL without name and password, which are one machine's own; of ssh the name stays."""
    return re.sub(r"^((?:https?|ftps?)://)[^/@]*@|^(ssh://[^/@:]*):[^/@]*(?=@)", r"\1\2", url)


def remote_url(repo: Repository, name: str) -> str:
    """Return the absolute URL of a remote, or the address itself. Raises UnusableError."""
    found = repo.git("remote", "get-url", "--push", *operands(name), check=False)
    if found.code != 0 and not re.search(r"[/:]", name):
        raise UnusableError(
            f"there is no remote {name!r}, by which the workers would get the files of a run",
            hint="git config blackbird.cluster.remote URL    # one that all machines reach",
        )
    url = found.answer() if found.code == 0 else name
    is_path = "://" not in url and ":" not in url.partition("/")[0]
    return os.path.abspath(os.path.join(repo.top, os.path.expanduser(url))) if is_path else url  # noqa: PTH100, PTH111, PTH118
