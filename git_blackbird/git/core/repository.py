"""Find a repository and its worktrees, read HEAD, and list files."""

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.output import Completed, texts
from git_blackbird.git.core.process import GitError, operands, run_git
from git_blackbird.model.base.next_steps import SETTING_BACK
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.system import describe, hint_in

if TYPE_CHECKING:
    import pygit2

# Configuration of this call (``git -c``) applies to all of it; agents do not inherit it.
_CALL_CONFIGURATION = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")
# A program that the repository configures must not tell our own git commands what has changed.
_NO_MONITOR = ("-c", "core.fsmonitor=false")

_BRANCHES = "refs/heads/"
_LIST_SECONDS = 10.0
_KNOWN = ("ls-files", "-z", "--deduplicate", "-c")
_QUESTIONS = (
    "rev-parse",
    "--path-format=absolute",
    "--is-bare-repository",
    "--is-inside-git-dir",
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-toplevel",
)

# Variables by which a person says where the worktree is.
_CHOOSING = ("GIT_DIR", "GIT_WORK_TREE")
LOCAL_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""The output of ``git rev-parse --local-env-vars``: variables that tie a process to one repository."""


def without_git_env(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name not in LOCAL_VARIABLES}


class Head(NamedTuple):
    """``branch`` is None if HEAD is detached, ``commit`` None before the first commit."""

    branch: str | None
    commit: str | None


class ConfigValue(NamedTuple):
    """A value of git's configuration; None for a key without one."""

    scope: str
    file: Path | None
    key: str
    value: str | None


class KnownConfig(NamedTuple):
    """Git's configuration, valid as long as its files have these signatures."""

    values: tuple[ConfigValue, ...]
    signatures: Mapping[Path, tuple[int, ...]]

    @property
    def effective(self) -> dict[str, str | None]:
        """The last value of each key; None for a key without one."""
        return {value.key: value.value for value in self.values}


# By git directory; None for a configuration that is the same in all worktrees of the repository.
ConfigMemo = dict[Path | None, KnownConfig]


@dataclass(frozen=True)
class Repository:
    """One worktree and its repository.

    ``git_dir`` belongs to this worktree, ``common_dir`` and ``config_memo`` are shared by all worktrees.
    ``environ`` has none of the variables that tie a process to a repository; ``call_configuration`` comes
    from ``git -c``.
    """

    top: Path
    git_dir: Path
    common_dir: Path
    environ: Mapping[str, str]
    call_configuration: Mapping[str, str] = field(default_factory=dict)
    config_memo: ConfigMemo = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def private_dir(self) -> Path:
        return self.git_dir / "blackbird"

    @property
    def is_bare(self) -> bool:
        """Whether there is no worktree; then ``top`` is the git directory."""
        return self.top == self.git_dir

    @cached_property
    def index(self) -> Path:
        return self.git_dir / "index"

    @property
    def index_lock(self) -> Path:
        return self.git_dir / "index.lock"

    def git(
        self,
        *args: str,
        stdin: bytes | None = None,
        timeout: float | None = None,
        check: bool = True,
        variables: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run git at the top of the worktree, on this repository even if ``.git`` was replaced.

        ``variables`` are added to the environment. Raises as ``run_git`` does.
        """
        return run_git(
            [*_NO_MONITOR, *self.git_options, *args],
            cwd=self.top,
            environ={**self.git_environ, **(variables or {})},
            stdin=stdin,
            timeout=timeout,
            check=check,
        )

    @property
    def is_in_pager(self) -> bool:
        """Whether git has started a pager, as for an alias."""
        return bool(self.environ.get("GIT_PAGER_IN_USE"))

    @property
    def git_options(self) -> tuple[str, str]:
        return f"--git-dir={self.git_dir}", f"--work-tree={self.top}"

    @property
    def git_environ(self) -> dict[str, str]:
        return {**self.environ, **self.call_configuration}


def discover(cwd: Path, environ: Mapping[str, str], *, takes_bare: bool = False) -> Repository:
    """Find the worktree of ``cwd``, honouring ``GIT_DIR`` and ``GIT_WORK_TREE``. Raises UnusableError.

    With ``takes_bare`` the repository may be bare.
    """
    completed = run_git(_QUESTIONS, cwd=cwd, environ=environ, check=False)
    answers = completed.lines(list)
    if answers[:1] == [b"true"]:
        # Only a repository that has had a worktree has an index.
        if any(Path(os.fsdecode(git_dir), "index").exists() for git_dir in answers[2:3]):
            raise UnusableError(
                "git takes this repository for a bare one: core.bare is true", hint=SETTING_BACK["core.bare"]
            )
        if takes_bare:
            git_dir, common_dir = map(Path, texts(answers[2:4]))
            return _repository(git_dir, git_dir, common_dir, environ)
        raise UnusableError(
            "this is a bare repository: there is no worktree for agents to work in",
            hint="run this in a clone of it, or in a worktree made with `git worktree add`",
        )
    if answers[1:2] == [b"true"]:
        raise UnusableError(
            "this is inside a git directory, not in a worktree", hint="go to the top of the worktree"
        )
    if completed.code != 0:
        raise _unusable(completed, cwd, environ)
    git_dir, common_dir, top = completed.lines(_places)
    is_expected = any(environ.get(name) for name in _CHOOSING)
    is_expected = is_expected or os.path.realpath(cwd).startswith(f"{os.path.realpath(top).rstrip('/')}/")
    # File systems may take other spellings of a name as well.
    if not is_expected and not (top.is_dir() and any(above.samefile(top) for above in (cwd, *cwd.parents))):
        raise UnusableError(
            f"git takes {top} for the worktree of {git_dir}: core.worktree says so",
            hint=SETTING_BACK["core.worktree"],
        )
    return _repository(top, git_dir, common_dir, environ)


def _repository(top: Path, git_dir: Path, common_dir: Path, environ: Mapping[str, str]) -> Repository:
    return Repository(
        top=top,
        git_dir=git_dir,
        common_dir=common_dir,
        environ=without_git_env(environ),
        call_configuration={name: environ[name] for name in _CALL_CONFIGURATION if name in environ},
    )


def _places(answers: list[bytes]) -> tuple[Path, Path, Path]:
    if len(answers) > 5:
        raise UnusableError("the path of this repository holds a line break; move the repository elsewhere")
    _, _, git_dir, common_dir, top = map(Path, texts(answers))
    return git_dir, common_dir, top


def _unusable(completed: Completed, cwd: Path, environ: Mapping[str, str]) -> UnusableError:
    error = GitError(_QUESTIONS, completed.code, completed.err)
    config = next((above / ".git/config" for above in (cwd, *cwd.parents) if (above / ".git").is_dir()), None)
    if config is not None:
        # Git does nothing at all in here where it cannot get to the worktree that is set.
        asked = run_git(
            ["config", f"--file={config}", "core.worktree"], cwd=Path("/"), environ=environ, check=False
        )
        if asked.code == 0:
            error.hint = f"git -C / config --file {shell_word(os.fspath(config))} --unset core.worktree"
            return error
    if error.message.startswith("not a git repository"):
        error.hint = "run `git init` here first, or go to a repository"
        return error
    if error.message.startswith("unknown repository extension"):
        error.hint = "a newer git made this repository: use that one"
        return error
    # When git refuses another user's repository, it prints the command that trusts it.
    _, _, advice = completed.err.decode(errors="replace").partition("\n\n")
    error.hint = advice.strip().split("\n")[0] or None
    return error


def head(repo: Repository) -> Head:
    """Return the branch and commit of HEAD. Raises UnusableError."""
    objects = open_libgit2(repo)
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    with using_objects(repo):
        at = objects.lookup_reference("HEAD")
        target = at.raw_target
        branch = target.decode(errors="replace") if isinstance(target, bytes) else None
        try:
            reached = at.resolve()
        except KeyError:
            # A branch before its first commit.
            commit = None
        else:
            commit = str(reached.peel(pygit2.Commit).id)
    return Head(branch.removeprefix(_BRANCHES) if branch else None, commit)


def signature(path: str | Path) -> tuple[int, ...]:
    """Return times, size and inode of a file, which change with it; empty if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116  # many of them
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def open_libgit2(repo: Repository) -> "pygit2.Repository":
    """Open the repository with libgit2, for trees and references. Raises UnusableError."""
    packs = signature(f"{repo.common_dir}/objects/pack")
    return _opened(repo.git_dir, threading.get_ident(), packs)


def open_fresh_libgit2(git_dir: Path) -> "pygit2.Repository":
    """Open a repository with libgit2, to see its index as it is now. Raises UnusableError."""
    from git_blackbird.git.core.libgit2 import pygit2  # slow to load

    # Git has checked at discovery whether this user trusts the repository's owner.
    pygit2.settings.owner_validation = False
    # Another program may remove an object that was read.
    pygit2.settings.enable_caching(False)
    try:
        try:
            return pygit2.Repository(os.fspath(git_dir))
        except pygit2.GitError:
            # A worktree that core.worktree names, and that is not there, hides no objects.
            return pygit2.Repository(os.fspath(git_dir), pygit2.enums.RepositoryOpenFlag.BARE)
    except (pygit2.GitError, KeyError, OSError) as error:
        reason = str(error).removeprefix(f"{git_dir}: ")
        raise UnusableError(
            f"cannot open {git_dir}: {reason}",
            hint="repositories with SHA-256 objects, reftables or partial clones cannot be used",
        ) from error


@lru_cache(maxsize=64)
def _opened(git_dir: Path, _thread: int, _packs: tuple[int, ...]) -> "pygit2.Repository":
    """Open a repository once for each thread, which must not share it, and for each set of packs."""
    return open_fresh_libgit2(git_dir)


@contextlib.contextmanager
def using_objects(repo: Repository) -> Iterator[None]:
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    try:
        yield
    except (pygit2.GitError, KeyError, OSError, UnicodeError) as error:
        reason = describe(error)
        message = f"cannot use the objects of {repo.git_dir}: {reason}"
        raise UnusableError(message, hint=hint_in(reason)) from error


_INIT = ("init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
# No hooks from the user's templates, and no signature: this program makes the commit.
_COMMIT = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify")


def init_repository(folder: Path, environ: Mapping[str, str], settings: Mapping[str, str]) -> Repository:
    """Create a repository with only these settings; ``environ`` ties to no other one. Raises GitError."""
    run_git([*_INIT, *operands(str(folder))], cwd=folder, environ=environ)
    repo = discover(folder, environ)
    for key, value in settings.items():
        repo.git("config", "--local", *operands(key, value))
    return repo


def commit_all(repo: Repository, message: str, name: str, email: str) -> None:
    variables = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", email))
    }
    repo.git("add", "--all", "--force")
    repo.git(*_COMMIT, f"--message={message}", variables=variables)


def listed_worktrees(repo: Repository) -> Iterator[Repository]:
    """Yield every linked worktree that git lists, whether its folder is there or not; starts no process."""
    folder = f"{repo.common_dir}/worktrees"
    try:
        git_dirs = [Path(folder, name) for name in sorted(os.listdir(folder))]
    except OSError:
        return
    for git_dir in git_dirs:
        with contextlib.suppress(OSError):
            top = Path(os.fsdecode((git_dir / "gitdir").read_bytes()).removesuffix("\n")).parent
            if top.is_absolute():
                yield replace(repo, top=top, git_dir=git_dir)


def other_worktrees(repo: Repository) -> Iterator[Repository]:
    """Yield every other existing worktree, the main one first, unless its git directory lies elsewhere."""
    if repo.git_dir != repo.common_dir and repo.common_dir.name == ".git":
        yield replace(repo, top=repo.common_dir.parent, git_dir=repo.common_dir)
    for linked in listed_worktrees(repo):
        if linked.git_dir != repo.git_dir and os.path.isdir(linked.top):  # noqa: PTH112  # never raises
            yield linked


def list_paths(repo: Repository) -> list[str]:
    """List every file of the worktree, tracked or not, but ignored. Raises GitError, GitTimeoutError."""
    return repo.git(*_KNOWN, "-o", "--exclude-standard", timeout=_LIST_SECONDS).records(texts)


def list_all_tracked(repo: Repository) -> list[str]:
    """List every tracked file, ten times faster than ``list_paths``. Raises GitError, GitTimeoutError."""
    return repo.git(*_KNOWN, timeout=_LIST_SECONDS).records(texts)


def list_tracked(repo: Repository, folder: str) -> list[str]:
    """List every tracked file below a folder. Raises GitError."""
    return repo.git(*_KNOWN, *operands(f":(top,literal){folder}")).records(texts)
