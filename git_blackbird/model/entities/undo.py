"""How a rejected change is undone: commands to paste, and what they leave alone."""

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.record import Record


class KeptPath(Record):
    """A path that the commands leave alone, and why; a person restores it by hand."""

    path: str
    reason: str


class Undo(Record):
    """The commands that undo a rejected change, one line each, and the paths that they leave alone."""

    commands: tuple[str, ...] = ()
    kept: tuple[KeptPath, ...] = ()


def script_command(run_id: RunId) -> str:
    """Format the command that runs the undo script of a run, from anywhere in its worktree.

    It is short whatever the repository's path is, so that it can be pasted from a narrow terminal.
    """
    return f'sh "$(git rev-parse --git-path blackbird/undo/{run_id}.sh)"'


def revert_command(oid: str, parents: int) -> str:
    """Format the command that reverts a commit with so many parents."""
    return f"git revert {'-m 1 ' if parents > 1 else ''}{oid}"
