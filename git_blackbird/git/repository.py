"""Where a repository and its worktree are, asked of git once, and what HEAD says."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.program import Completed, GitError, run_git, scrubbed
from git_blackbird.model.system_faults import describe, hint_in

if TYPE_CHECKING:
    import pygit2

# Configuration given for this one call (``git -c``) holds for it as a whole; agents do not inherit it.
_CALL_CONFIGURATION = ("GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT")
# No program of the repository's own answers what this program asks.
ALONE = ("-c", "core.fsmonitor=false")

_BRANCHES = "refs/heads/"
_QUESTIONS = (
    "rev-parse",
    "--path-format=absolute",
    "--is-bare-repository",
    "--is-inside-git-dir",
    "--absolute-git-dir",
    "--git-common-dir",
    "--show-toplevel",
)


class Head(NamedTuple):
    """What HEAD names: ``branch`` is None when detached, ``commit`` None before the first commit."""

    branch: str | None
    commit: str | None


@dataclass(frozen=True)
class Repository:
    """One worktree and its repository.

    ``git_dir`` belongs to this worktree, ``common_dir`` is shared by all worktrees. ``environ`` is the
    environment less what ties a process to a repository; ``call_configuration`` is what ``git -c`` gave.
    """

    top: Path
    git_dir: Path
    common_dir: Path
    environ: Mapping[str, str]
    call_configuration: Mapping[str, str] = field(default_factory=dict)

    @property
    def private_dir(self) -> Path:
        """Where locks and private indexes lie; it may not exist yet."""
        return self.git_dir / "blackbird"

    def git(
        self,
        *args: str,
        stdin: bytes | None = None,
        timeout: float | None = None,
        check: bool = True,
        variables: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run git at the top of the worktree, on this repository whatever became of ``.git`` meanwhile.

        ``variables`` are added to the environment. Raises as ``run_git`` does.
        """
        return run_git(
            [*ALONE, *self.git_options, *args],
            cwd=self.top,
            environ={**self.git_environ, **(variables or {})},
            stdin=stdin,
            timeout=timeout,
            check=check,
        )

    @property
    def git_options(self) -> tuple[str, str]:
        """The options that tie a git process to this repository."""
        return f"--git-dir={self.git_dir}", f"--work-tree={self.top}"

    @property
    def git_environ(self) -> dict[str, str]:
        """The environment of git processes that we start for ourselves."""
        return {**self.environ, **self.call_configuration}


def discover(cwd: Path, environ: Mapping[str, str]) -> Repository:
    """Find the repository and worktree that ``cwd`` is in, honouring ``GIT_DIR`` and ``GIT_WORK_TREE``.

    Raises UnusableError when there is none, when it is bare, or when git will not use it.
    """
    done = run_git(_QUESTIONS, cwd=cwd, environ=environ, check=False)
    answers = os.fsdecode(done.out).removesuffix("\n").split("\n")
    if answers[0] == "true":
        raise UnusableError(
            "this is a bare repository: there is no worktree for agents to work in",
            hint="run this in a clone of it, or in a worktree made with `git worktree add`",
        )
    if answers[1:2] == ["true"]:
        raise UnusableError(
            "this is inside a git directory, not in a worktree", hint="go to the top of the worktree"
        )
    if done.code != 0:
        raise _unusable(done)
    if len(answers) != 5:
        raise UnusableError("the path of this repository holds a line break; move the repository elsewhere")
    return Repository(
        top=Path(answers[4]),
        git_dir=Path(answers[2]),
        common_dir=Path(answers[3]),
        environ=scrubbed(environ),
        call_configuration={name: environ[name] for name in _CALL_CONFIGURATION if name in environ},
    )


def _unusable(done: Completed) -> UnusableError:
    error = GitError(_QUESTIONS, done.code, done.err)
    if error.message.startswith("not a git repository"):
        error.hint = "run `git init` here first, or go to a repository"
        return error
    # Git follows its refusal of another user's repository with the command that trusts it.
    _, _, advice = done.err.decode(errors="replace").partition("\n\n")
    error.hint = advice.strip().split("\n")[0] or None
    return error


def head(repo: Repository) -> Head:
    """Say what HEAD names, also unborn or detached.

    Raises UnusableError when it cannot be read.
    """
    objects = opened(repo)
    import pygit2  # noqa: PLC0415 - loaded by now

    with using_objects(repo):
        at = objects.lookup_reference("HEAD")
        target = at.raw_target
        branch = target.decode(errors="replace") if isinstance(target, bytes) else None
        commit = None if objects.head_is_unborn else str(at.peel(pygit2.Commit).id)
    return Head(branch.removeprefix(_BRANCHES) if branch else None, commit)


def opened(repo: Repository) -> "pygit2.Repository":
    """Open the repository with libgit2, for reading and writing trees.

    Raises UnusableError when libgit2 does not know the format of the repository.
    """
    import pygit2  # noqa: PLC0415 - 66 ms, and only what looks into trees needs it

    # Whether this user may trust the owner of the repository is what git has answered at discovery.
    pygit2.settings.owner_validation = False
    try:
        return pygit2.Repository(os.fspath(repo.git_dir))
    except (pygit2.GitError, KeyError, OSError) as error:
        reason = str(error).removeprefix(f"{repo.git_dir}: ")
        raise UnusableError(
            f"cannot open {repo.git_dir}: {reason}",
            hint="repositories with SHA-256 objects, reftables or partial clones cannot be used",
        ) from error


@contextlib.contextmanager
def using_objects(repo: Repository) -> Iterator[None]:
    """Turn what libgit2 raises in the block into an UnusableError that names the repository."""
    import pygit2  # noqa: PLC0415 - loaded by now

    try:
        yield
    except (pygit2.GitError, KeyError, OSError, UnicodeError) as error:
        reason = describe(error)
        message = f"cannot use the objects of {repo.git_dir}: {reason}"
        raise UnusableError(message, hint=hint_in(reason)) from error
