"""What git does to the plan file: while agents work, and with its stash."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.hooks.attribution import moves_of_people
from git_blackbird.git.worktree.log import find_stash, has_stash, log_size, tree_of
from git_blackbird.model.base.own_files import PLAN_NAME
from git_blackbird.model.run.commits import HeadMove, LogSpan


class PlanInGit(NamedTuple):
    """The plan file as the moves of HEAD of one worktree, and git's stash, have it."""

    repo: Repository

    def position(self) -> str:
        """Return the present end of the log."""
        return str(log_size(self.repo.git_dir))

    def since(self, position: str) -> tuple[list[tuple[bytes | None, bytes | None, bool]], bytes | None]:
        """Return the plan file before and after what was done with HEAD since then, and as HEAD has it now.

        With each move is whether an agent may have made the commit.
        """
        span = LogSpan(int(position), log_size(self.repo.git_dir), None)
        try:
            moves = _in_one_go(moves_of_people(self.repo, span))
            plans = [(self._plan_at(old), self._plan_at(new), by_agent) for old, new, by_agent in moves]
            return plans, self._plan_at(head(self.repo).commit)
        except (UnusableError, OSError):
            # Nothing is known of git then: what is in the file waits for a person.
            return [], None

    def stashed(self, data: bytes) -> bytes | None:
        """Return the plan that git took away with its stash, where the file is as HEAD has it since then.

        None where there is no such stash of this very commit.
        """
        if not has_stash(self.repo):
            return None
        try:
            stash = find_stash(self.repo)
            if (
                stash is None
                or stash.base != head(self.repo).commit
                or self._plan_in(stash.base_tree) != data
            ):
                return None
            kept = self._plan_in(stash.tree)
        except (UnusableError, OSError):
            return None
        return None if kept == data else kept

    def _plan_at(self, commit: str | None) -> bytes | None:
        return None if commit is None else self._plan_in(tree_of(self.repo, commit))

    def _plan_in(self, tree: str) -> bytes | None:
        from git_blackbird.git.commit.create import content_in_tree  # rarely needed

        return content_in_tree(self.repo, tree, PLAN_NAME)


def _in_one_go(moves: list[tuple[HeadMove, bool]]) -> Iterator[tuple[str | None, str, bool]]:
    """Yield the moves of people with nothing in between as one, and those of agents one by one."""
    for is_of_person, together in groupby(moves, key=lambda move: move[1]):
        made = [move for move, _ in together]
        if is_of_person:
            yield made[0].old, made[-1].new, False
        else:
            yield from ((move.old, move.new, True) for move in made)
