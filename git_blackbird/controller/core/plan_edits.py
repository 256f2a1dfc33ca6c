"""The plan file while agents work: edits that wait for a decision, and what git does to it."""

from collections.abc import Iterator
from itertools import dropwhile, groupby
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.hooks.attribution import moves_of_people
from git_blackbird.git.worktree.log import find_stash, log_size, tree_of
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.system import PLAN_NAME
from git_blackbird.model.change.change import Change
from git_blackbird.model.plan.graph import describe_changes
from git_blackbird.model.rules.written_plan import take_edits
from git_blackbird.model.run.commits import HeadMove, LogSpan
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, DecisionState
from git_blackbird.storage.notes import HeldEdits, PlanEdit, drop_held_edits, load_held_edits, save_held_edits
from git_blackbird.storage.plan_file import parse_plan
from git_blackbird.storage.store import Store, Transaction

_DECIDED = frozenset({*APPROVALS, DecisionState.REJECTED})


def edits_at_work(transaction: Transaction) -> tuple[str, ...]:
    """Describe what is in the plan file and does not count; what the records say by themselves is none."""
    edited = transaction.edited_plan
    if edited is None:
        return ()
    state = transaction.state()
    return describe_changes(state.plan, state.derived(edited))


def hold_edits(store: Store, transaction: Transaction, task_id: TaskId, run_id: RunId) -> None:
    """Save what is in the plan file and does not count until a person approves a run."""
    if transaction.edited_plan is None:
        return
    base, edited = map(store.renderer.render, (transaction.plan(), transaction.edited_plan))
    edit = PlanEdit(base=base.decode(), edited=edited.decode())
    held = next((one for one in load_held_edits(store.paths) if one.run_id == run_id), None)
    before = () if held is None else held.edits
    if edit not in before:
        save_held_edits(store.paths, HeldEdits(task_id=task_id, run_id=run_id, edits=(*before, edit)))


def undecided_edits(store: Store) -> HeldEdits | None:
    """Return the edits that wait since last; None if none do."""
    waiting = [held for held in load_held_edits(store.paths) if _is_taken(store, held) is None]
    return waiting[-1] if waiting else None


def settle_edits(store: Store, transaction: Transaction) -> tuple[str, ...]:
    """Take the edits into the plan whose run was approved, set those of others aside; say so.

    A killed program leaves them as they were, or in the plan: taking them twice changes nothing more.
    """
    said: list[str] = []
    for held in load_held_edits(store.paths):
        is_taken = _is_taken(store, held)
        if is_taken is None:
            continue
        try:
            transaction.plan()
        except UnusableError:
            break
        said += _take(transaction, held) if is_taken else _set_aside(transaction, held, "are left out")
        drop_held_edits(store.paths, held)
    return tuple(said)


def _is_taken(store: Store, held: HeldEdits) -> bool | None:
    """Whether the edits of a run are approved with its change, or given up with it; None before either."""
    history = store.records.history(held.task_id)
    if history.faults:
        return None
    runs = [*dropwhile(lambda run: run.id != held.run_id, Change.of(history).runs)]
    if not runs:
        return False
    states = (run.decision_state for run in runs)
    return next((state in APPROVALS for state in states if state in _DECIDED), None)


def _take(transaction: Transaction, held: HeldEdits) -> list[str]:
    said = ["with its edits of the plan"]
    for edit in held.edits:
        base, edited = (parse_plan(text.encode(), "") for text in (edit.base, edit.edited))
        taken = take_edits(transaction.plan(), base, edited)
        if taken.plan is None:
            return _set_aside(transaction, held, "do not fit it any more")
        transaction.save_plan(taken.plan)
        said += (f"the plan has it otherwise by now, and keeps that: {left}" for left in taken.left)
    return said


def _set_aside(transaction: Transaction, held: HeldEdits, why: str) -> list[str]:
    path = transaction.set_plan_aside(held.run_id, held.edits[-1].edited.encode())
    return [f"its edits of the plan {why}: they are kept as .blackbird/{path.name}"]


def carried_edits(history: History, run: Run) -> tuple[str, ...]:
    """Return the undecided edits of the run that this one resumes."""
    resumed = None if run.resumes is None else history.find(run.resumes)
    return () if resumed is None or resumed.decision_state in _DECIDED else resumed.plan_edits


class PlanInGit(NamedTuple):
    """The plan file as the moves of HEAD of one worktree, and git's stash, have it."""

    repo: Repository

    def position(self) -> str:
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
    """Yield adjacent moves of people as one, and those of agents one by one."""
    for is_of_person, together in groupby(moves, key=lambda move: move[1]):
        made = [move for move, _ in together]
        if is_of_person:
            yield made[0].old, made[-1].new, False
        else:
            yield from ((move.old, move.new, True) for move in made)
