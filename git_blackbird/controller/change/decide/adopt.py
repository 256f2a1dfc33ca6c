"""Adopt what another program or clone left below ``.blackbird/``, or leave it there for good.

Nothing of it counts before a person has said so (SECURITY.md). This is the only place where it becomes ours.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from git_blackbird.controller.core.guards import require_not_busy
from git_blackbird.controller.core.status_sync import save_feedback_and_statuses
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.place.place import place_of
from git_blackbird.errors import BlackbirdError, ExitCode, RequestError
from git_blackbird.messages.display.dialogue import Confirm, confirm_adoption
from git_blackbird.messages.display.format import adoptable_lines
from git_blackbird.messages.document import plain
from git_blackbird.model.base.next_steps import ADOPT, ShellLine
from git_blackbird.model.change.stages import status_of
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import Adoptable, AdoptableKind
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS
from git_blackbird.storage.notes import save_answered

Agree = Callable[[Confirm], Awaitable[bool | Unanswered | None]]


class UnansweredError(BlackbirdError):
    """Nobody has said whether what lies below ``.blackbird/`` counts."""

    exit_code = ExitCode.DECISION_REQUIRED

    def __init__(self, items: Sequence[Adoptable]) -> None:
        listed = (f"- {text}" for text in plain(adoptable_lines(items)))
        super().__init__(
            ("what another program or clone did does not count here yet:", *listed),
            hint=(
                ShellLine("git blackbird adopt --take", "lets it count"),
                ShellLine("git blackbird adopt --leave", "goes on without it"),
            ),
        )


class Adopted(NamedTuple):
    item: Adoptable
    status: Status


def find_adoptable(workspace: Workspace, names: Sequence[str]) -> tuple[Adoptable, ...]:
    """Return what can be adopted of these tasks or of all, also what was left before.

    Raises RequestError for a name of no task, and for a task of which there is nothing.
    """
    state = workspace.plan_state()
    wanted = [find_task(state.plan, name).id for name in names]
    found = workspace.store.copies.adoptable(state)
    for task_id in wanted:
        if all(item.task_id != task_id for item in found):
            raise RequestError(f"nothing below .blackbird/ could be adopted for {task_id}", hint=ADOPT)
    return tuple(item for item in found if not wanted or item.task_id in wanted)


async def settle_adoption(workspace: Workspace, state: PlanState, agree: Agree) -> list[Adopted]:
    """Ask once whether what lies below ``.blackbird/`` counts, and return what was adopted.

    This comes before a call starts, decides or reviews anything. Raises UnansweredError where nobody can be
    asked, or leaves that open.
    """
    items = workspace.store.unanswered(state)
    answer = await agree(confirm_adoption(items)) if items else False
    if answer is None or isinstance(answer, Unanswered):
        raise UnansweredError(items)
    if answer:
        return adopt(workspace, items)
    if items:
        leave(workspace, items)
    return []


def leave(workspace: Workspace, items: Sequence[Adoptable]) -> None:
    """Note that these do not count; what is written there later is asked about.

    Raises RequestError for an agent, SaveError.
    """
    workspace.environment.forbid_agents("answer what counts")
    with workspace.transaction():
        save_answered(workspace.paths, items)


def adopt(workspace: Workspace, items: Sequence[Adoptable]) -> list[Adopted]:
    """Record these as ours, exactly as they were shown.

    Of a run only the fields of the Go program are taken: no path, no tree, no commit.
    Raises RequestError for an agent and where a file has changed since, LockedError, SaveError.
    """
    workspace.environment.forbid_agents("adopt what was done elsewhere")
    with workspace.transaction() as transaction:
        state = transaction.state()
        # What a person has yet to answer may not be the newest of all.
        present = (*workspace.store.copies.adoptable(state), *workspace.store.unanswered(state))
        for item in items:
            require_not_busy(workspace, state.plan.tasks[item.task_id])
            if item not in present:
                raise RequestError(f"what is there for {item.task_id} has changed meanwhile", hint=ADOPT)
        for item in items:
            if isinstance(item.found, Feedback):
                transaction.save_feedback(item.task_id, item.found)
                continue
            run = item.found.taken_over()
            if item.kind is AdoptableKind.DECISION:
                run = _decided(workspace, state, item.found)
            # Else the verdict on its parent would be about another time of this task.
            task = state.saved.tasks[item.task_id]
            stays = status_of(run) is task.status and not run.is_review
            transaction.save_run(run, since=task.updated_at if stays else None)
        save_answered(workspace.paths, items)
        after = save_feedback_and_statuses(transaction, transaction.state()).state.plan.tasks
    return [Adopted(item, after[item.task_id].status) for item in items]


def _decided(workspace: Workspace, state: PlanState, copy: Run) -> Run:
    ours = state.history(copy.task_id).find(copy.id) or copy
    branch = place_of(workspace, ours).commit_branch if copy.decision_state in APPROVALS else None
    at = copy.decision_resolved_at or workspace.environment.timestamp()
    decided = ours.decided(copy.decision_state, at, copy.decision_feedback)
    return decided.updated(approved_on=branch)
