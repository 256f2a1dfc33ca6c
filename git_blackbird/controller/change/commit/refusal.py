"""Why the change of an approval cannot be committed, and the ways out.

Of several undecided changes that have files in common, at each path the task whose run touched it first is
committed first; changes that each come first at some path can only be committed together. What a hook that
refused a commit, such as a formatter, made of the files becomes part of the change: checkpoint and diff show
it, and the next approval commits it.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import own_commits, snapshot
from git_blackbird.errors import BlackbirdError, RequestError, UnusableError
from git_blackbird.git.change.changes import changed_paths, compose
from git_blackbird.git.commit.plan import (
    COMMIT_EDITS_FIRST,
    EDITED_BEFORE,
    ChangeOrigin,
    CommitPlan,
    LaterEdit,
    plan_commit,
)
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.messages.display.format import bulleted_lines
from git_blackbird.messages.display.quantities import some_of
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import Sentence, ShellLine, TaskCommand, approve_without_commit
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.change.change import contributions
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import pending_decisions
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run, RunChange
from git_blackbird.model.run.summary import Summary, Trees
from git_blackbird.model.views.checkpoint import OtherBranch


def origin_of(workspace: Workspace, state: PlanState, runs: Sequence[Run]) -> ChangeOrigin:
    """Return HEAD when the change of these runs began, their commits, and the trees of all later runs."""
    if not runs:
        return ChangeOrigin()
    later = (run for history in state.histories.values() for run in history.since(runs[0]))
    run_trees = (run.change_in_place for run in (runs[0], *sorted(later, key=lambda run: run.sort_key)))
    own = frozenset[str]().union(*(own_commits(workspace, run) for run in runs))
    return ChangeOrigin(runs[0].start_commit, own, tuple(pair for pair in run_trees if pair is not None))


def undecided_before(
    workspace: Workspace, state: PlanState, task_id: TaskId, paths: Iterable[bytes]
) -> dict[bytes, TaskId]:
    """Return the paths that undecided changes touched before this task's, each with the first such task."""
    own, first = _first_touches(workspace, state, task_id), dict[bytes, tuple[tuple[int, str], TaskId]]()
    for due in pending_decisions(state):
        for path, touched in _first_touches(workspace, state, due.task.id).items():
            if due.task.id != task_id and path in own and touched < own[path]:
                first[path] = min(first.get(path, (touched, due.task.id)), (touched, due.task.id))
    return {path: first[path][1] for path in paths if path in first}


def uncommitted_before(workspace: Workspace, state: PlanState, paths: Iterable[bytes]) -> dict[bytes, TaskId]:
    """Return the paths of landed changes that could not be committed, each with the first such task."""
    found: dict[bytes, TaskId] = {}
    runs = (history.latest for history in state.histories.values())
    waiting = (run for run in runs if run is not None and run.uncommitted_landing is not None)
    for run in sorted(waiting, key=lambda run: run.landed_at or ""):
        # Its trees may be gone.
        with suppress(UnusableError):
            touched = () if run.landing_pair is None else changed_paths(workspace.repo, run.landing_pair)
            found = dict.fromkeys(touched, run.task_id) | found
    return {path: found[path] for path in paths if path in found}


def tasks_waiting_mutually(
    workspace: Workspace, state: PlanState, worktree: str, task_id: TaskId
) -> Mapping[TaskId, tuple[bytes, ...]]:
    """Return the tasks in the way of this one that wait for each other's decision.

    Each comes with the paths because of which it waits.
    """
    waits: dict[TaskId, dict[bytes, TaskId]] = {}
    pending = [task_id]
    while pending:
        current = pending.pop()
        if current not in waits:
            waits[current] = {}
            # The trees of another task's runs may be gone.
            with suppress(UnusableError):
                edited = _commit_plan_of(workspace, state, worktree, current).edited_before
                waits[current] = undecided_before(workspace, state, current, edited)
            pending += waits[current].values()
    try:
        TopologicalSorter({task: others.values() for task, others in waits.items()}).prepare()
    except CycleError as error:
        return {task: tuple(waits[task]) for task in sorted(set(error.args[1]))}
    return {}


def _commit_plan_of(workspace: Workspace, state: PlanState, worktree: str, task_id: TaskId) -> CommitPlan:
    runs = workspace.runs_to_decide(state.history(task_id))
    pair = compose(workspace.repo, contributions(runs))
    return plan_commit(workspace.repo, pair, worktree, origin_of(workspace, state, runs))


def _first_touches(workspace: Workspace, state: PlanState, task_id: TaskId) -> dict[bytes, tuple[int, str]]:
    """Return when the undecided runs of a task first touched each path, as far as their trees are there."""
    touches: dict[bytes, tuple[int, str]] = {}
    for run in workspace.runs_to_decide(state.history(task_id)):
        if run.change_in_place is not None:
            with suppress(UnusableError):
                for path in changed_paths(workspace.repo, run.change_in_place):
                    touches.setdefault(path, run.sort_key)
    return touches


HookEdits = Mapping[bytes, TreeEntry | None]
"""The files as the hook left them, by path; None where it removed one."""

_MAX_EDITS = 5


def find_hook_edits(workspace: Workspace, plan: CommitPlan, before: str) -> HookEdits:
    """Return how the files to be committed have changed since the snapshot ``before``."""
    try:
        now = snapshot(workspace, since=before).tree
    except GitStoppedError:
        raise
    except BlackbirdError:
        # The next approval finds the same edits, and names them as a person's.
        return {}
    trees = TreeStore(workspace.repo)
    return {
        path: trees.entry(now, path)
        for path, entry in plan.edits.items()
        if trees.entry(before, path) == entry != trees.entry(now, path)
    }


def hook_edits_text(run: Run, edits: HookEdits) -> str:
    """Say that a hook made edits, and who has not seen them."""
    judged = {"check": run.evidence or run.landing_evidence, "reviews": run.merged_review}
    unseen = " and ".join(name for name, verdict in judged.items() if verdict is not None)
    text = f"the hook that refused the commit changed {named_edits(edits)}: that is part of the change now"
    return f"{text}, and its {unseen} saw it before" if unseen else text


def named_edits(edits: HookEdits) -> str:
    """Name the paths of edits, the first few of them."""
    names = [path.decode(errors="replace") for path in sorted(edits)]
    return some_of(names, _MAX_EDITS)


def with_hook_edits(workspace: Workspace, run: Run, edits: HookEdits) -> Run:
    """Return the record of the run whose change was to be committed, with these edits in it.

    They are in the files of the user's worktree: as the run left them, or as its change has landed there.
    Raises UnusableError.
    """
    if not edits:
        return run
    trees, changed = TreeStore(workspace.repo), run.noting(hook_edits_text(run, edits))
    if run.landing_pair is not None:
        changed = changed.landed_as(trees.edited(run.landing_pair.head, edits))
    if run.is_in_place and run.base_tree is not None and run.head_tree is not None:
        pair = Trees(run.base_tree, trees.edited(run.head_tree, edits))
        summary = (run.review_summary or Summary()).with_fields(summarize(workspace.repo, pair))
        changed = changed.changed(RunChange(summary, pair.head))
    return changed


MAX_NAMED = 20
_MAX_SET_ASIDE = 5


class ApprovalRefusedError(RequestError):
    """The change of an approval cannot be committed now; the decision stays pending.

    ``why`` is one line or several. ``hook_output`` is what a hook said that refused the commit,
    ``hook_edits`` what it made of the files.
    """

    hook_output: str | None = None
    hook_edits: HookEdits = MappingProxyType({})

    def __init__(
        self,
        task: Task,
        why: str | tuple[str, ...],
        remedy: str | None = "resolve that",
        commands: Iterable[str] = (),
    ) -> None:
        without = ", and approve without a commit: ", approve_without_commit(task.id)
        by_hand = () if task.status is Status.DONE else without
        hint: tuple[str, ...] = (Sentence("commit by hand what you still want of it", *by_hand),)
        if remedy is not None:
            again = Sentence(remedy, " and approve again; what HEAD already has is not committed again")
            hint = again, *commands, Sentence("or commit by hand", *by_hand)
        first, *more = (why,) if isinstance(why, str) else why
        super().__init__((f"{task.id} is not approved: {first}", *more), hint=hint)


def require_branch(task: Task, strayed: OtherBranch | None) -> None:
    """Raise ApprovalRefusedError if HEAD has left the branch of the run."""
    if strayed is not None:
        raise ApprovalRefusedError(task, wrong_branch(strayed), _switch_hint(strayed))


def wrong_branch(branch: OtherBranch) -> str:
    return f"its commit would go to another branch: {branch.text}"


def _switch_hint(branch: OtherBranch) -> str:
    here = "add --any-branch to commit here"
    if branch.by_agent:
        # The agent's own commits are here, so that going back would leave them out.
        return f"{here},"
    return Sentence("go back with ", ShellLine(f"git switch {shell_word(branch.worked_on)}"), f", or {here},")


def obstructed_error(workspace: Workspace, task: Task, tree: str, plan: CommitPlan) -> ApprovalRefusedError:
    """Return the refusal of a commit that would touch the work of others, with the ways out.

    ``tree`` is what the change made of the worktree.
    """
    why = "its change cannot be committed yet", *bulleted_lines(plan.obstacles, MAX_NAMED)
    if plan.has_moved_on:
        return ApprovalRefusedError(task, why, None)
    if not plan.later_edits:
        return ApprovalRefusedError(task, why, plan.hint or "resolve that")
    before = (plan.hint, ", ") if plan.hint else ()
    return ApprovalRefusedError(
        task,
        why,
        Sentence(*before, "set the later edits aside as below"),
        _aside_commands(workspace, task, plan.later_edits, tree),
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
        tasks = " and ".join(together)
        first = Sentence(
            f"{tasks} each changed what the other had changed, so commit that together first (",
            _commit_command(workspace, paths),
            ")",
        )
        named = replace(named, hint=_hint_with_first(plan, waiting, first), later_edits=later_edits)
    return named


def name_uncommitted(workspace: Workspace, state: PlanState, plan: CommitPlan) -> CommitPlan:
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
    commands = [part for other in others for part in (", ", TaskCommand("decide", other, " --approve"))]
    first = Sentence(f"{verb} {', '.join(others)} first (", *commands[1:], ")")
    return replace(plan, obstacles=obstacles, hint=_hint_with_first(plan, waiting, first))


def _hint_with_first(plan: CommitPlan, waiting: Mapping[bytes, TaskId], first: str) -> str:
    if len(waiting) < len(plan.edited_before):
        first = Sentence(first, ", ", COMMIT_EDITS_FIRST)
    before, is_there, after = (plan.hint or "").partition(COMMIT_EDITS_FIRST)
    return Sentence(before, first, after) if is_there else before


def _commit_command(workspace: Workspace, paths: Iterable[bytes]) -> ShellLine:
    start = os.path.relpath(workspace.environment.cwd, workspace.repo.top)
    names = [os.path.relpath(os.fsdecode(path), start) for path in paths]
    words, git = " ".join(map(shell_word, names)), _git_command_for(*names)
    return ShellLine(f"{git} add -- {words} && {git} commit -- {words}")


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
    yield f"  {TaskCommand('decide', task.id, ' --approve').command}"
    yield from back
