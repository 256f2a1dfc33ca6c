"""Why the change of an approval cannot be committed, and the ways out."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from git_blackbird.controller.change.commit.hook_edits import HookEdits
from git_blackbird.controller.change.commit.order import (
    tasks_waiting_mutually,
    uncommitted_before,
    undecided_before,
)
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.git.commit.plan import COMMIT_EDITS_FIRST, EDITED_BEFORE, CommitPlan, LaterEdit
from git_blackbird.messages.display.format import bulleted_lines
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import approve_without_commit, task_command
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import OtherBranch

MAX_NAMED = 20
_MAX_SET_ASIDE = 5


class ApprovalRefusedError(RequestError):
    """The change of an approval cannot be committed now; the decision stays pending.

    ``hook_output`` is what a hook said that refused the commit, ``hook_edits`` what it made of the files.
    """

    hook_output: str | None = None
    hook_edits: HookEdits = MappingProxyType({})

    def __init__(
        self, task: Task, why: str, remedy: str | None = "resolve that", commands: Iterable[str] = ()
    ) -> None:
        is_done = task.status is Status.DONE
        by_hand = "" if is_done else f", and approve without a commit: {approve_without_commit(task.id)}"
        again = f"{remedy} and approve again; what HEAD already has is not committed again"
        hint = (
            "\n".join([again, *commands, f"or commit by hand{by_hand}"])
            if remedy is not None
            else f"commit by hand what you still want of it{by_hand}"
        )
        super().__init__(f"{task.id} is not approved: {why}", hint=hint)


def require_branch(task: Task, strayed: OtherBranch | None) -> None:
    """Refuse to commit where HEAD has left the branch of the run. Raises ApprovalRefusedError."""
    if strayed is not None:
        raise ApprovalRefusedError(task, wrong_branch(strayed), _switch_hint(strayed))


def wrong_branch(branch: OtherBranch) -> str:
    """Describe a commit that would go to another branch."""
    return f"its commit would go to another branch: {branch.text}"


def _switch_hint(branch: OtherBranch) -> str:
    here = "add --any-branch to commit here"
    if branch.by_agent:
        # The agent's own commits are here, so that going back would leave them out.
        return f"{here},"
    return f"go back with `git switch {shell_word(branch.worked_on)}`, or {here},"


def obstructed_error(
    workspace: Workspace, task: Task, pair: Trees | None, plan: CommitPlan
) -> ApprovalRefusedError:
    """Return the refusal of a commit that would touch the work of others, with the ways out."""
    why = f"its change cannot be committed yet\n{bulleted_lines(plan.obstacles, MAX_NAMED)}"
    if plan.has_moved_on:
        return ApprovalRefusedError(task, why, None)
    if pair is None or not plan.later_edits:
        return ApprovalRefusedError(task, why, plan.hint or "resolve that")
    remedies = [plan.hint, "set the later edits aside as below"]
    return ApprovalRefusedError(
        task,
        why,
        ", ".join(filter(None, remedies)),
        _aside_commands(workspace, task, plan.later_edits, pair.head),
    )


def name_undecided(
    workspace: Workspace, state: PlanState, task_id: TaskId, plan: CommitPlan, worktree: str
) -> CommitPlan:
    """Name the undecided tasks whose edits the run found in its files, and how to go on."""
    waiting = undecided_before(workspace, state, task_id, plan.edited_before)
    if not waiting:
        return plan
    named = _blocked_by_tasks(plan, waiting, "waits for a decision on it", "decide")
    if together := tasks_waiting_mutually(workspace, state, worktree, task_id):
        paths = sorted({path for paths in together.values() for path in paths})
        later_edits = tuple(edit for edit in plan.later_edits if edit.path not in paths)
        first = (
            f"{' and '.join(together)} each changed what the other had changed, so commit that"
            f" together first (`{_commit_command(workspace, paths)}`)"
        )
        named = replace(named, hint=_hint_with_first(plan, waiting, first), later_edits=later_edits)
    return named


def name_uncommitted(workspace: Workspace, state: PlanState, plan: CommitPlan) -> CommitPlan:
    """Name the landed tasks whose uncommitted edits the run found in its files."""
    waiting = uncommitted_before(workspace, state, plan.edited_before)
    return _blocked_by_tasks(plan, waiting, "has landed and is not committed", "commit") if waiting else plan


def _blocked_by_tasks(
    plan: CommitPlan, waiting: Mapping[bytes, TaskId], remark: str, verb: str
) -> CommitPlan:
    """Add the tasks of the earlier edits to the plan's obstacles, and what to do with them first."""
    remarks = {
        f"{path.decode(errors='replace')}: {EDITED_BEFORE}": f"; {other} {remark}"
        for path, other in waiting.items()
    }
    obstacles = tuple(why + remarks.get(why, "") for why in plan.obstacles)
    others = sorted(set(waiting.values()))
    commands = [f"`{task_command('decide', other, ' --approve')}`" for other in others]
    first = f"{verb} {', '.join(others)} first ({', '.join(commands)})"
    return replace(plan, obstacles=obstacles, hint=_hint_with_first(plan, waiting, first))


def _hint_with_first(plan: CommitPlan, waiting: Mapping[bytes, TaskId], first: str) -> str:
    if len(waiting) < len(plan.edited_before):
        first = f"{first}, {COMMIT_EDITS_FIRST}"
    return (plan.hint or "").replace(COMMIT_EDITS_FIRST, first)


def _commit_command(workspace: Workspace, paths: Iterable[bytes]) -> str:
    start = os.path.relpath(workspace.environment.cwd, workspace.repo.top)
    names = [os.path.relpath(os.fsdecode(path), start) for path in paths]
    words, git = " ".join(map(shell_word, names)), _git_command_for(*names)
    return f"{git} add -- {words} && {git} commit -m TEXT -- {words}"


def _git_command_for(*names: str) -> str:
    """Return how to call git with these paths; one that is quoted or has a colon may be a pattern to it."""
    is_plain = all(name == shell_word(name) and ":" not in name for name in names)
    return "git" if is_plain else "git --literal-pathspecs"


def _aside_commands(workspace: Workspace, task: Task, edits: Sequence[LaterEdit], tree: str) -> Iterator[str]:
    """Return the commands that move later edits out of the way, approve, and move them back."""
    start = os.path.relpath(workspace.environment.cwd, workspace.repo.top)
    back: list[str] = []
    for edit in edits[:_MAX_SET_ASIDE]:
        path = os.path.relpath(os.fsdecode(edit.path), start)
        name, aside = shell_word(path), shell_word(f"{path}.later")
        move = f"mv -i -- {name} {aside}"
        restore = f"{_git_command_for(path)} restore --source={tree} --worktree -- {name}"
        steps = [(move, edit.in_worktree), (restore, edit.in_change)]
        yield f"  {' && '.join(step for step, is_needed in steps if is_needed)}"
        back.append(f"  mv -- {aside} {name}" if edit.in_worktree else f"  rm -- {name}")
    if len(edits) > _MAX_SET_ASIDE:
        yield f"  # and likewise for {len(edits) - _MAX_SET_ASIDE} more"
    yield f"  {task_command('decide', task.id, ' --approve')}"
    yield from back
