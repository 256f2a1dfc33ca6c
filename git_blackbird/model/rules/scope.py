"""The items that one call may do, and the next of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, assert_never

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import AgentOf, Band, By, Due, Stage, Stops, due_of, stage_of
from git_blackbird.model.plan.graph import ancestors
from git_blackbird.model.plan.named_paths import named_paths, overlaps
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import REVIEWS_OF_PARENTS, Item, in_order, items_in, last_try
from git_blackbird.model.rules.state import PlanState, feedback_below, leaves_with_feedback, unreadable_below
from git_blackbird.model.run.history import is_session_lost
from git_blackbird.model.run.states import RunStatus, TerminalReason

# So many ready leaves are looked at for one that goes well with what is at work.
_CHOICES = 50
ASKS = frozenset({Due.DECIDE, Due.ANSWER, Due.ASK_PAUSED})
"""What a call asks a person."""
_OF_REVIEWS = REVIEWS_OF_PARENTS | {Due.FEEDBACK}


class Following(NamedTuple):
    """The task that a call continues with, and whether it then starts an agent for it."""

    task_id: TaskId
    starts: bool


class CallScope(NamedTuple):
    """What one call may do, and what it has done so far.

    ``only``: the tasks it may touch, None for a plain execute. ``asked``: runs whose questions this call
    asks. ``carries``: leaves that are yet to get their review feedback. ``review``: a task whose review a
    person asked for, until ``is_reviewed``. ``tried``: parents that were reviewed without a verdict.
    ``elsewhere``: tasks that it does not start, since they have begun in another worktree, or
    their agent refuses every task. ``busy``: tasks and parents that are at work at this moment, or that it
    leaves alone. ``keeps_slots``: something goes on that may end with the landing for which others wait.
    Without ``starts_agents`` it only decides and lands; from ``until`` on, in nanoseconds since 1970, it
    starts and asks nothing more. ``decisions_left`` are those that it still asks for, None without a limit.
    ``rules``: agents decide themselves what they ask, as far as they may. Where it ``goes_past_unchanged``, a
    decision on a run that changed nothing is asked for last. With ``is_resume`` it continues the named tasks
    and starts no others, until a person approves and continues.
    """

    only: frozenset[TaskId] | None = None
    starts_left: int | None = None
    asked: frozenset[RunId] = frozenset()
    carries: frozenset[TaskId] = frozenset()
    review: TaskId | None = None
    is_reviewed: bool = False
    tried: frozenset[TaskId] = frozenset()
    elsewhere: frozenset[TaskId] = frozenset()
    busy: frozenset[TaskId] = frozenset()
    keeps_slots: bool = False
    starts_agents: bool = True
    decisions_left: int | None = None
    until: int | None = None
    rules: bool = False
    goes_past_unchanged: bool = False
    is_resume: bool = False

    @property
    def told(self) -> Mapping[str, object]:
        """What readers are told of the call while it is at work (``RunningCall``)."""
        starts = self.starts_agents and self.starts_left is None and self.until is None
        only = None if self.only is None else sorted(self.only)
        return {"only": only, "starts": starts, "agents": self.starts_agents}

    def continued(self) -> "CallScope":
        """Return the scope of a call that a person lets continue: a resume goes on with the whole plan."""
        return self._replace(only=None, starts_left=None, is_resume=False) if self.is_resume else self

    def covers(self, task_id: TaskId) -> bool:
        """Whether this call is about the task, which is not at work."""
        return task_id not in self.busy and (self.only is None or task_id in self.only)

    def covers_parent(self, plan: Plan, parent: Task) -> bool:
        """Whether this call is about the parent, or about a leaf below it."""
        if self.only is None or parent.id in self.only | self.busy:
            return parent.id not in self.busy
        named = (plan.tasks[task_id] for task_id in self.only if task_id in plan.tasks)
        return any(parent.id == above.id for task in named for above in ancestors(plan, task))

    def may_do(self, item: Item) -> bool:
        """Whether this call may do an item now, other than a start and what is its own."""
        task_id = item.task.id
        match item.due.by:
            case By.ANY_CALL:
                return task_id not in self.busy
            case By.CALL:
                may_ask = item.due is not Due.DECIDE or self.decisions_left != 0
                return may_ask and self.covers(task_id)
            case By.AGENTS:
                return self.starts_agents and self.covers(task_id)
            case By.PARENTS:
                return self.starts_agents and self.waits_for_review(item) and task_id not in self.tried
            case By.OWN | By.START | By.NO_CALL:
                return False
            case _:
                assert_never(item.due.by)

    def is_stopped_by(self, item: Item) -> bool:
        """Return whether the item prevents starts and resumes in this call, whoever is to do it.

        A review does not stop a task that was named.
        """
        if self.only is None and item.task.id in item.state.owing:
            return True
        if item.stops is Stops.NOTHING or self.goes_past(item):
            return False
        if item.due in _OF_REVIEWS:
            return self.only is None and self.waits_for_review(item)
        return item.due is Due.FINISH or self.only is None or item.task.id in self.only

    def goes_past(self, item: Item) -> bool:
        """Whether a call does all else first: every file, and all of plan and settings, is as it was."""
        run = item.run
        if not self.goes_past_unchanged or item.due is not Due.DECIDE or run is None:
            return False
        is_as_it_was = run.no_change and not run.plan_edits and not run.config_edits
        return is_as_it_was and not run.escalated and stage_of(run) is Stage.DECIDING

    def waits_for_review(self, item: Item) -> bool:
        """Whether this call is about a parent that waits for nothing but its review."""
        state, parent = item.state, item.task
        if not self.covers_parent(state.plan, parent) or unreadable_below(state, parent):
            return False
        return item.due is Due.REVIEW_FAILED or not feedback_below(state, parent)


def next_item(state: PlanState, scope: CallScope) -> Item | None:
    """Return the next item of this call: of its own, else of the queue; None where nothing is left to it."""
    passed: list[Item] = []
    is_stopped = any(run.task_id not in state.plan.tasks for run in state.half_written)
    for band in (Band.HALF_WRITTEN, Band.CHANGE, Band.PERSON, Band.RUN):
        if band is Band.CHANGE and (own := next(_own_items(state, scope), None)) is not None:
            return own
        items = tuple(items_in(band, state))
        is_stopped = is_stopped or any(map(scope.is_stopped_by, items))
        doable = [item for item in items if scope.may_do(item)]
        if is_stopped:
            doable = [item for item in doable if item.due is not Due.CONTINUE]
        passed += [item for item in doable if scope.goes_past(item)]
        if due := in_order(item for item in doable if not scope.goes_past(item)):
            return due[0]
    start = None if is_stopped or not scope.starts_agents else _start(state, scope)
    return start or next(iter(in_order(passed)), None)


def next_after_approval(
    state: PlanState, scope: CallScope, task_id: TaskId, may_do: Callable[[Item], bool]
) -> Following | None:
    """Return the task with which a call continues once the change of this one is approved and has landed.

    It is that of the first item that the call ``may_do``, else one that is at work; None if nothing follows.
    """
    if task_id not in state.saved.tasks:
        return None
    done = replace(state.saved.tasks[task_id], status=Status.DONE)
    histories = {other: history for other, history in state.histories.items() if other != task_id}
    after, scope = replace(state, saved=state.saved.replaced(done), histories=histories), scope.continued()
    while (item := next_item(after, scope)) is not None:
        if may_do(item):
            starts = item.due.agent not in {AgentOf.NOBODY, AgentOf.ANSWER}
            return Following(item.task.id, starts)
        scope = scope._replace(busy=scope.busy | {item.task.id})
    at_work = (other for other, history in sorted(after.open_histories.items()) if history.at_work)
    goes_on = (Following(other, starts=False) for other in at_work)
    return next(goes_on, None) if scope.starts_agents else None


def _own_items(state: PlanState, scope: CallScope) -> Iterator[Item]:
    """Yield what only this call does: a review by hand, questions that it asked, feedback that it carries."""
    if not scope.starts_agents:
        return
    reviewed = None if scope.is_reviewed else state.plan.tasks.get(scope.review or TaskId(""))
    if reviewed is not None and reviewed.id not in scope.busy and not unreadable_below(state, reviewed):
        run = state.history(reviewed.id).latest
        if reviewed.children and reviewed.id not in scope.tried:
            yield Item(Due.REVIEW_PARENT, reviewed, state=state)
        elif reviewed.is_leaf and run is not None and due_of(run) is not Due.CHECK:
            yield Item(Due.REVIEW, reviewed, run, state=state)
    for task, run in state.due[Due.ANSWER]:
        item = Item(Due.ANSWER, task, run, state=state)
        is_ruled = scope.rules and scope.covers(task.id) and Change.of(state.history(task.id)).is_rulable(run)
        if is_ruled and not item.is_session_lost:
            # Its agent decides itself.
            yield replace(item, due=Due.CONTINUE)
        elif run.id in scope.asked and task.id not in scope.busy:
            yield item
    leaves = (scope.carries - scope.busy) & state.feedback.keys() - state.unreadable.keys()
    for task in (task for task in state.plan.leaves() if task.id in leaves):
        run = state.history(task.id).latest
        is_asked = run is None or run.status is RunStatus.WAITING_USER
        if run is not None and not is_asked and not is_session_lost(state.history(task.id), run):
            yield Item(Due.FEEDBACK, task, run, state=state)


def _start(state: PlanState, scope: CallScope) -> Item | None:
    """Return the next ready leaf: one that names no file of what is at work comes before those that do.

    What was refused last, without work, comes last: it may have been its fault. A task waits for feedback to
    what it depends on, also where it is asked for by name.
    """
    if scope.starts_left is not None and scope.starts_left <= 0:
        return None
    ready, refused = list[Item](), list[Item]()
    for item in items_in(Band.READY, state):
        task, newest = item.task, state.history(item.task.id).newest
        if not scope.covers(task.id) or task.id in scope.elsewhere:
            continue
        if state.owing and any(feedback_below(state, state.plan.tasks[dep]) for dep in task.deps):
            continue
        was_refused = newest is not None and newest.terminal_reason is TerminalReason.WITHOUT_WORK
        (refused if was_refused else ready).append(item)
        if len(ready) == (_CHOICES if scope.busy else 1):
            break
    at_work = (state.plan.tasks[task_id] for task_id in scope.busy if task_id in state.plan.tasks)
    taken = frozenset[str]().union(*map(named_paths, at_work))
    apart = (item for item in (*ready, *refused) if not overlaps(named_paths(item.task), taken))
    return next(apart, None) or next(iter((*ready, *refused)), None)


def review_stops(state: PlanState, scope: CallScope) -> tuple[Item, ...]:
    """Return the parents without a passing review, and the leaves with feedback, for a person."""
    by_hand = None if scope.review is None else state.plan.tasks.get(scope.review)
    if by_hand is not None and unreadable_below(state, by_hand):
        return ()
    if by_hand is not None and by_hand.children and not scope.is_reviewed and by_hand.id not in scope.busy:
        return (Item(Due.REVIEW_AGAIN, by_hand, last_try(state, by_hand), state=state),)
    if not state.is_gated and (by_hand is None or by_hand.is_leaf):
        return ()
    parents = (
        item
        for band in (Band.PERSON, Band.RUN)
        for item in in_order(items_in(band, state))
        if item.due in REVIEWS_OF_PARENTS and scope.waits_for_review(item) and not scope.may_do(item)
    )
    leaves = (
        Item(Due.FEEDBACK, leaf, state.history(leaf.id).latest, state=state)
        for leaf in leaves_with_feedback(state)
        if _is_about(scope, state, leaf)
    )
    return (*parents, *leaves)


def _is_about(scope: CallScope, state: PlanState, leaf: Task) -> bool:
    """Whether the call is about a leaf, or about the parent whose review has feedback for it."""
    parent = state.plan.tasks.get(state.feedback[leaf.id].parent_task_id)
    return scope.covers(leaf.id) or (parent is not None and scope.covers_parent(state.plan, parent))
