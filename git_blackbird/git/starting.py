"""Making a repository of our own, untouched by what its user configured for theirs."""

from collections.abc import Mapping
from pathlib import Path

from git_blackbird.git.program import operands, run_git
from git_blackbird.git.repository import Repository, discover

_INIT = ("init", "--quiet", "--template=", "--object-format=sha1", "--initial-branch=main")
# No hook of the user's templates, no signature: the commit is this program's.
_COMMIT = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify")


def start_repository(folder: Path, environ: Mapping[str, str], settings: Mapping[str, str]) -> Repository:
    """Make a repository in ``folder`` with these settings of its own, and nothing else.

    ``environ`` must not tie processes to another repository. Raises GitError.
    """
    run_git([*_INIT, *operands(str(folder))], cwd=folder, environ=environ)
    repo = discover(folder, environ)
    for key, value in settings.items():
        repo.git("config", "--local", *operands(key, value))
    return repo


def commit_everything(repo: Repository, message: str, name: str, email: str) -> None:
    """Commit all there is, as this author. Raises GitError."""
    variables = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", name), ("EMAIL", email))
    }
    repo.git("add", "--all", "--force")
    repo.git(*_COMMIT, f"--message={message}", variables=variables)
