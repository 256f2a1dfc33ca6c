"""What git does to the plan file: while agents work, and with its stash."""

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.commit.carried_file import content_in_tree
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.hooks.attribution import moves_of_people
from git_blackbird.git.worktree.log import log_size, tree_of
from git_blackbird.git.worktree.stash import find_stash, has_stash
from git_blackbird.model.base.own_files import PLAN_NAME
from git_blackbird.model.run.commits import HeadMove, LogSpan


class PlanInGit(NamedTuple):
    """The plan file as the moves of HEAD of one worktree, and git's stash, have it."""

    repo: Repository

    def position(self) -> str:
        """Return the present end of the log."""
        return str(log_size(self.repo.git_dir))

    def since(self, position: str) -> tuple[list[tuple[bytes | None, bytes | None]], bytes | None]:
        """Return the plan file before and after what people did with HEAD since then, and as HEAD has it.

        HEAD has None after what an agent did, or may have done.
        """
        span = LogSpan(int(position), log_size(self.repo.git_dir), None)
        try:
            moves = moves_of_people(self.repo, span)
            at = head(self.repo).commit if not moves or moves[-1][1] else None
            pairs = [(self._plan_at(old), self._plan_at(new)) for old, new in _in_one_go(moves)]
            return pairs, self._plan_at(at)
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
            if stash is None or stash.base != head(self.repo).commit or self._plan_at(stash.base) != data:
                return None
            kept = self._plan_at(stash.commit)
        except (UnusableError, OSError):
            return None
        return None if kept == data else kept

    def _plan_at(self, commit: str | None) -> bytes | None:
        return None if commit is None else content_in_tree(self.repo, tree_of(self.repo, commit), PLAN_NAME)


def _in_one_go(moves: list[tuple[HeadMove, bool]]) -> Iterator[tuple[str | None, str]]:
    """Yield the moves of people, those with nothing in between as one."""
    for is_of_person, together in groupby(moves, key=lambda move: move[1]):
        if is_of_person:
            first, *rest = (move for move, _ in together)
            yield first.old, (rest[-1] if rest else first).new
