"""Recording the commits that the hook wrote down; an entry stays until its commit is dealt with.

No commit waits for that: what cannot be recorded at once is recorded by the next command that may.
"""

import os
from collections.abc import Iterable, Mapping

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.manual_commits import record_commit
from git_blackbird.errors import LockedError, UnusableError
from git_blackbird.git.hooks.task_commits import (
    Verdict,
    drop,
    find_move,
    judge,
    list_names,
    load_moves,
    parse_name,
)
from git_blackbird.model.base.ids import TaskId
from git_blackbird.storage.locks import STORE_PATIENCE_SECONDS

# Who commits should not notice it.
_HOOK_PATIENCE_SECONDS = 0.5
_SHORT = 10
_LATER = "the next `git blackbird decide` or `execute` records it"


def record_or_defer(workspace: Workspace, name: str) -> tuple[str, ...]:
    """Record the commit of a hook, and those before it that were left; gives a line for each.

    ``name`` is the entry of the commit, which may not have been written.
    """
    return _record(workspace, {**_parsed(workspace), **_parse([name])}, _HOOK_PATIENCE_SECONDS)


def record_deferred(workspace: Workspace) -> tuple[str, ...]:
    """Record the commits that were left; gives a line for each, also where it is left once more.

    A command that an agent runs leaves them all.
    """
    return (
        ()
        if workspace.environment.is_agent
        else _record(workspace, _parsed(workspace), STORE_PATIENCE_SECONDS)
    )


def deferred_commit_of(workspace: Workspace, task_id: TaskId) -> str | None:
    """Return a commit that waits to be recorded and is work on this task; None when there is none.

    Raises GitError.
    """
    entries = _parsed(workspace)
    if not entries:
        return None
    moves = load_moves(os.fspath(workspace.repo.git_dir))
    for oid, in_bisect in entries.values():
        verdict = _judge(workspace, moves, oid, in_bisect=in_bisect)
        if verdict.is_work and task_id in verdict.tasks:
            return oid
    return None


def _parsed(workspace: Workspace) -> dict[str, tuple[str, bool]]:
    return _parse(list_names(os.fspath(workspace.paths.private)))


def _parse(names: Iterable[str]) -> dict[str, tuple[str, bool]]:
    return {name: parsed for name in names if (parsed := parse_name(name)) is not None}


def _record(
    workspace: Workspace, entries: Mapping[str, tuple[str, bool]], patience: float
) -> tuple[str, ...]:
    """Record in the order in which HEAD reached the commits; one that fails does not stop the others."""
    moves = load_moves(os.fspath(workspace.repo.git_dir)) if entries else b""
    lines: list[str] = []
    for name, (oid, in_bisect) in sorted(entries.items(), key=lambda entry: find_move(moves, entry[1][0])[0]):
        try:
            verdict = _judge(workspace, moves, oid, in_bisect=in_bisect)
            if verdict.is_work:
                lines += record_commit(workspace, oid, verdict.replaced, patience)
        except (LockedError, UnusableError) as error:
            lines.append(f"commit {oid[:_SHORT]} is not recorded yet: {error.message}; {_LATER}")
            if isinstance(error, LockedError):
                break
            continue
        if verdict.remark is not None:
            lines.append(verdict.remark)
        drop(os.fspath(workspace.paths.private), name)
    return tuple(lines)


def _judge(workspace: Workspace, moves: bytes, oid: str, *, in_bisect: bool) -> Verdict:
    def git(*args: str) -> str:
        return workspace.repo.git(*args).out.decode(errors="replace")

    return judge(git, moves, oid, in_bisect=in_bisect)
