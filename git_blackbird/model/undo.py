"""How a person takes a rejected change back: commands for them to run, and what no command takes back."""

from dataclasses import dataclass

from git_blackbird.model.ids import RunId
from git_blackbird.model.recorded import Recorded


@dataclass(frozen=True, kw_only=True)
class KeptPath(Recorded):
    """A path that the commands leave alone, and why; a person takes it back by hand."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Undo(Recorded):
    """The commands that take a rejected change back, each one line, and the paths that they leave alone."""

    commands: tuple[str, ...] = ()
    kept: tuple[KeptPath, ...] = ()


NO_UNDO = Undo()
"""That of a decision which leaves nothing to take back."""


def script_command(run_id: RunId) -> str:
    """Write the command that runs the undo script of a run, from anywhere in its worktree.

    It is short whatever the repository's path is: what is pasted from a narrow terminal stays one line.
    """
    return f'sh "$(git rev-parse --git-path blackbird/undo/{run_id}.sh)"'


def revert_command(oid: str, parents: int) -> str:
    """Write the command that reverts a commit with so many parents."""
    return f"git revert {'-m 1 ' if parents > 1 else ''}{oid}"
