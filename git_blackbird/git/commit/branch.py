"""Branches of trees that are not in HEAD: making and pushing them, and opening a request to merge one."""

import os
import shutil
from collections.abc import Mapping

from git_blackbird.clean import one_line
from git_blackbird.errors import RequestError
from git_blackbird.git.commit.create import error_output
from git_blackbird.git.core.process import operands, revisions
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.core.user_programs import run_user_program
from git_blackbird.git.worktree.index import writing
from git_blackbird.git.worktree.log import tree_of
from git_blackbird.git.worktree.saved_trees import publish

_IS_SIGNED = ("config", "--type=bool", "--default=false", "--get", "commit.gpgSign")


def commit_tree(repo: Repository, tree: str, parent: str | None, message: str) -> str:
    """Commit a tree, with the user's identity and signing, and return the commit's id. Raises GitError."""
    trees = TreeStore(repo)
    base = trees.save({}) if parent is None else tree_of(repo, parent)
    entries = (trees.entry(tree, path) for path in trees.changed_paths(base, tree))
    with writing(repo.common_dir / "objects"):
        publish(repo, (entry.oid for entry in entries if entry is not None))
    signed = repo.git(*_IS_SIGNED).answer() == "true"
    options = [*(["-S"] if signed else []), *(["-p", parent] if parent else []), "-F", "-"]
    command = ("-c", "i18n.commitEncoding=UTF-8", "commit-tree", *options, *revisions(tree))
    return repo.git(*command, stdin=message.encode()).oid()


def create_branch(repo: Repository, name: str, commit: str) -> None:
    """Create a branch. Raises GitError if it exists or the name is invalid."""
    repo.git("branch", "--no-track", *operands(name, commit))


# The arguments before the title, of the body, and after it.
_PROGRAMS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "gh": (("pr", "create", "--head"), "--body"),
    "glab": (("mr", "create", "--yes", "--source-branch"), "--description"),
}
_MAX_LETTERS = 2000


def list_remotes(repo: Repository) -> list[str]:
    return repo.git("remote").lines(lambda lines: [os.fsdecode(line) for line in lines])


def push_branch(repo: Repository, name: str, remote: str) -> tuple[str, ...]:
    """Push a branch and set its upstream, with the user's hooks and credentials.

    Returns the words of git, in lines, where it refused.
    """
    ref = f"refs/heads/{name}"
    # The user's configuration and prompts are wanted: it is as if they had typed it.
    command = ("git", "push", "--set-upstream", *operands(remote, f"{ref}:{ref}"))
    done = run_user_program(command, cwd=repo.top, environ=repo.git_environ)
    return () if done.code == 0 else tuple(error_output(done)[-_MAX_LETTERS:].split("\n"))


def request_program(environ: Mapping[str, str]) -> str | None:
    """Return the program that opens requests here, if there is one."""
    path = environ.get("PATH", os.defpath)
    return next((name for name in _PROGRAMS if shutil.which(name, path=path) is not None), None)


def open_request(repo: Repository, program: str, branch: str, title: str, body: str) -> str:
    """Open a request to merge a branch, and return its address as printed. Raises RequestError."""
    begin, option = _PROGRAMS[program]
    command = (program, *begin, branch, f"--title={title}", f"{option}={body}")
    done = run_user_program(command, cwd=repo.top, environ=repo.git_environ)
    if done.code != 0:
        first, *more = error_output(done)[-_MAX_LETTERS:].split("\n")
        text = f"{program} opened no request for {branch}: {first}"
        raise RequestError((text, *more), hint="the branch is pushed")
    *_, address = done.lines(lambda lines: [line for line in lines if line.strip()] or [b""])
    return one_line(address.decode(errors="replace"), _MAX_LETTERS)
