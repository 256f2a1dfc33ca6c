"""The next action: one pure function of plan, records and the scope of the call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.stages import Due, Stage, due_of, stage_of
from git_blackbird.model.plan.graph import ancestors
from git_blackbird.model.plan.named_paths import named_paths, overlaps
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.attention import (
    PendingDecision,
    is_session_lost,
    paused_runs,
    pending_decisions,
)
from git_blackbird.model.rules.limits import Hold
from git_blackbird.model.rules.state import (
    BlockedParent,
    PlanState,
    blocked_parents,
    blocked_tasks,
    feedback_below,
    leaves_with_feedback,
    may_start,
    unreadable_below,
)
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason

# So many ready leaves are looked at for one that goes well with what is at work.
_CHOICES = 50
# Ends of paused runs on which only a person knows how to go on.
_ASKED = frozenset({TerminalReason.WALL_LIMIT, TerminalReason.IDLE_LIMIT, TerminalReason.UNKNOWN_END})


@dataclass(frozen=True)
class CallScope:
    """What one call may do, and what it has done so far.

    ``only``: the tasks it may touch, None for a plain execute. ``asked``: runs whose questions this call
    asks. ``carries``: leaves that are yet to get their review feedback. ``review``: a task whose review a
    person asked for, until ``is_reviewed``. ``tried``: parents that were reviewed without a verdict.
    ``elsewhere``: tasks that it does not start, since they have begun in another worktree, or
    their agent refuses every task. ``busy``: tasks and parents that are at work at this moment, or that it
    leaves alone. ``keeps_turns``: something goes on that may end with the landing for which others wait.
    Without ``starts_agents`` it only decides and lands; from ``until`` on, in nanoseconds since 1970, it
    starts and asks nothing more. ``decisions_left`` are those that it still asks for, those first that
    unblock most, None without a limit. ``rules``: agents decide themselves what they ask, as far as they may.
    Where it ``goes_past_unchanged``, a decision on a run that changed nothing is asked for last.
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
    keeps_turns: bool = False
    starts_agents: bool = True
    decisions_left: int | None = None
    until: int | None = None
    rules: bool = False
    goes_past_unchanged: bool = False

    @property
    def is_resume(self) -> bool:
        """Whether it goes on with the tasks that it names, and starts no other."""
        return self.only is not None and self.starts_left == 0

    def covers(self, task_id: TaskId) -> bool:
        """Whether this call is about the task."""
        return task_id not in self.busy and (self.only is None or task_id in self.only)

    def covers_parent(self, plan: Plan, parent: Task) -> bool:
        """Whether this call is about the parent, or about a leaf below it."""
        if self.only is None or parent.id in self.only | self.busy:
            return parent.id not in self.busy
        named = (plan.tasks[task_id] for task_id in self.only if task_id in plan.tasks)
        return any(parent.id == above.id for task in named for above in ancestors(plan, task))

    @property
    def may_start(self) -> bool:
        """Whether another start is within the limit."""
        return self.starts_left is None or self.starts_left > 0


@dataclass(frozen=True)
class RunAction:
    """An action on the run of a task that counts."""

    task: Task
    run: Run


class ApplyChangeRequest(RunAction):
    """Send a change request to the session that did the work; the session may be gone."""


class CheckChange(RunAction):
    """Run the user's check on the change of a successful run, before its reviews."""


class LandChange(RunAction):
    """Bring the accepted change of a task from its worktree into the user's."""


class FinishUndo(RunAction):
    """Complete an undo or a redo that was interrupted."""


class ReviewChange(RunAction):
    """Review the change of a successful run before anyone decides on it."""


@dataclass(frozen=True)
class AskQuestions(RunAction):
    """Ask what an agent asked in this call; ``message`` goes to the agent with the answers."""

    message: str | None = None


class SendFeedback(RunAction):
    """Send the feedback of a parent review to the session that did the work."""


class ContinueRun(RunAction):
    """Continue an interrupted run in its session, or one whose questions its agent is to decide.

    The session may be gone.
    """


class AskPaused(RunAction):
    """Ask whether to continue a run that reached a limit, or that is not known to have finished."""


@dataclass(frozen=True)
class ReviewParent:
    """Review a parent whose children are all done."""

    task: Task


@dataclass(frozen=True)
class StartTask:
    """Start a ready leaf."""

    task: Task


@dataclass(frozen=True)
class ParentReviewRequired:
    """Stop: a person must go on with parents without a passing review, or leaves with open feedback."""

    parents: tuple[BlockedParent, ...]
    leaves: tuple[Task, ...]


@dataclass(frozen=True)
class Idle:
    """Stop: nothing is due in this call; ``blocked`` maps each waiting task to those it waits for."""

    blocked: Mapping[TaskId, tuple[TaskId, ...]]


@dataclass(frozen=True)
class AwaitLimit:
    """Wait: all that is left is for agents at a usage limit; ``holds`` are the limits there are."""

    holds: tuple[Hold, ...]


TaskAction = (
    ApplyChangeRequest
    | CheckChange
    | LandChange
    | FinishUndo
    | ReviewChange
    | PendingDecision
    | AskQuestions
    | SendFeedback
    | ReviewParent
    | ContinueRun
    | AskPaused
    | StartTask
)
NextAction = TaskAction | ParentReviewRequired | Idle
LastAction = ParentReviewRequired | Idle | AwaitLimit
CallAction = TaskAction | LastAction
_WITHOUT_AGENT = (CheckChange, LandChange, FinishUndo, PendingDecision)


def leads_to_agent(action: TaskAction) -> bool:
    """Whether an agent starts in an action, or after what a person answers in it."""
    return not isinstance(action, _WITHOUT_AGENT)


def next_action(state: PlanState, call: CallScope) -> NextAction:
    """Return the next action of this call."""
    if not call.starts_agents:
        return next(_without_agents(state, call), None) or Idle(blocked_tasks(state))
    owed = next(_owed(state, call), None)
    if owed is not None:
        return owed
    action = _parent_review_or_start(state, call)
    if isinstance(action, ParentReviewRequired | Idle):
        return next((due for due in _decisions(state, call) if is_passed(due, call)), action)
    return action


def is_passed(action: CallAction, call: CallScope) -> bool:
    """Whether a call does all else first: every file, and all of plan and settings, is as it was."""
    if not (call.goes_past_unchanged and isinstance(action, PendingDecision)):
        return False
    run = action.run
    is_as_it_was = run.no_change and not run.plan_edits and not run.config_edits
    return is_as_it_was and not run.escalated and stage_of(run) is Stage.DECIDING


def _decisions(state: PlanState, call: CallScope) -> Iterator[PendingDecision]:
    return (decision for decision in pending_decisions(state) if call.covers(decision.task.id))


def _owed(state: PlanState, call: CallScope) -> Iterator[NextAction]:
    """Yield what the runs there are require, in the order in which it is done."""
    yield from _half_written(state, call)
    yield from change_requests(state, call)
    yield from (CheckChange(task, run) for task, run in _due(state, call, Due.CHECK))
    yield from _reviews_of_changes(state, call)
    yield from _landings(state, call)
    yield from (decision for decision in _decisions(state, call) if not is_passed(decision, call))
    yield from _questions(state, call)
    yield from _feedback(state, call)


def _without_agents(state: PlanState, call: CallScope) -> Iterator[NextAction]:
    """Yield what can be done without an agent: completing, landing, deciding."""
    yield from _half_written(state, call)
    yield from _landings(state, call)
    due = _decisions(state, call)
    if call.decisions_left is None:
        yield from due
    elif call.decisions_left:
        yield from sorted(due, key=lambda decision: -state.unblocked.get(decision.task.id, 0))


def _due(state: PlanState, call: CallScope, what: Due) -> Iterator[tuple[Task, Run]]:
    return ((task, run) for task, run in state.due(what) if call.covers(task.id))


def _parent_review_or_start(state: PlanState, call: CallScope) -> NextAction:
    """Return what reviews require, else what may run; a leaf asked for by name runs before a stop."""
    review = _parent_review(state, call)
    if isinstance(review, ReviewParent) or (review is not None and call.only is None):
        return review
    start = next(unfinished(state, call), None) or _start(state, call)
    if review is None:
        return start or Idle(blocked_tasks(state))
    waits = start is None or any(feedback_below(state, state.plan.tasks[dep]) for dep in start.task.deps)
    return review if start is None or waits else start


def is_continued(run: Run) -> bool:
    """Whether a call goes on with a run by itself, as long as that has no effect."""
    is_asked = run.terminal_reason in _ASKED
    return due_of(run) is Due.CARRY_OUT_REQUEST or (due_of(run) is Due.CONTINUE and not is_asked)


def unfinished(state: PlanState, call: CallScope) -> Iterator[ContinueRun | AskPaused]:
    """Yield the action on each run that left unfinished work in the worktree, oldest first."""
    for task, run in paused_runs(state):
        if call.covers(task.id):
            is_asked = run.terminal_reason in _ASKED
            yield AskPaused(task, run) if is_asked else ContinueRun(task, run)


def _start(state: PlanState, call: CallScope) -> StartTask | None:
    """Return the next ready leaf: one that names no file of what is at work comes before those that do."""
    if not call.may_start:
        return None
    unfinished = state.plan.unfinished_leaves()
    waiting = (task for task in unfinished if task.status == Status.TODO and call.covers(task.id))
    here = (task for task in waiting if task.id not in call.elsewhere)
    startable = (task for task in here if may_start(state, task))
    ready = [*islice(_refused_last(state, startable), _CHOICES if call.busy else 1)]
    at_work = (state.plan.tasks[task_id] for task_id in call.busy if task_id in state.plan.tasks)
    taken = frozenset[str]().union(*map(named_paths, at_work))
    apart = (task for task in ready if not overlaps(named_paths(task), taken))
    task = next(apart, None) or next(iter(ready), None)
    return None if task is None else StartTask(task)


def _refused_last(state: PlanState, ready: Iterable[Task]) -> Iterator[Task]:
    """Yield the tasks whose last start was without work after all others: it may have been their fault."""
    refused: list[Task] = []
    for task in ready:
        newest = state.history(task.id).newest
        if newest is not None and newest.terminal_reason is TerminalReason.WITHOUT_WORK:
            refused.append(task)
        else:
            yield task
    yield from refused


def change_requests(state: PlanState, call: CallScope) -> Iterator[ApplyChangeRequest]:
    """Yield every change request that this call is to apply, in order."""
    for task, run in _due(state, call, Due.CARRY_OUT_REQUEST):
        yield ApplyChangeRequest(task, run)


def _half_written(state: PlanState, call: CallScope) -> Iterator[FinishUndo | LandChange]:
    """Yield what was cut off, whichever tasks a call is about: nothing is to begin with half of a change."""
    for run in state.half_written:
        task = state.plan.tasks.get(run.task_id)
        if task is not None and task.id not in call.busy:
            yield LandChange(task, run) if due_of(run) is Due.LAND else FinishUndo(task, run)


def _landings(state: PlanState, call: CallScope) -> Sequence[LandChange]:
    """Return the changes that are to land, in the order in which they were accepted."""
    due = [LandChange(task, run) for task, run in _due(state, call, Due.LAND)]
    return sorted(due, key=lambda action: (action.run.decision_resolved_at or "", action.run.sort_key))


def _reviews_of_changes(state: PlanState, call: CallScope) -> Iterator[ReviewChange]:
    for task, run in state.open_runs if call.review is None else state.latest_runs:
        is_by_hand = task.id == call.review and not call.is_reviewed
        if call.covers(task.id) and (due_of(run) is Due.REVIEW or is_by_hand):
            yield ReviewChange(task, run)


def _questions(state: PlanState, call: CallScope) -> Iterator[AskQuestions | ContinueRun]:
    for task, run in state.due(Due.ASK):
        history = state.history(task.id)
        is_ruled = call.rules and call.covers(task.id) and Change.of(history).is_rulable(run)
        if is_ruled and not is_session_lost(history, run):
            yield ContinueRun(task, run)
        elif run.id in call.asked and task.id not in call.busy:
            yield AskQuestions(task, run)


def _feedback(state: PlanState, call: CallScope) -> Iterator[SendFeedback]:
    """Yield the leaves that this call sends review feedback, if their sessions can be resumed."""
    leaves = (call.carries - call.busy) & state.feedback.keys() - state.unreadable.keys()
    for task_id in (task.id for task in state.plan.leaves() if task.id in leaves):
        run = state.latest(task_id)
        if run is None or run.status is RunStatus.WAITING_USER:
            continue
        if not is_session_lost(state.history(task_id), run):
            yield SendFeedback(state.plan.tasks[task_id], run)


def _parent_review(state: PlanState, call: CallScope) -> ReviewParent | ParentReviewRequired | None:
    """Return the parent review that is due, nearest ancestor first, or the stop at one."""
    by_hand = state.plan.tasks.get(call.review) if call.review is not None else None
    if by_hand is not None and unreadable_below(state, by_hand):
        return None
    if by_hand is not None and by_hand.children and not call.is_reviewed and by_hand.id not in call.busy:
        if by_hand.id in call.tried:
            return ParentReviewRequired((BlockedParent(by_hand, None),), ())
        return ReviewParent(by_hand)
    if not state.is_gated and (by_hand is None or by_hand.is_leaf):
        return None
    parents: list[BlockedParent] = []
    for parent in blocked_parents(state):
        if not call.covers_parent(state.plan, parent.task) or unreadable_below(state, parent.task):
            continue
        if parent.review is None and feedback_below(state, parent.task):
            continue
        if parent.review is None and parent.task.id not in call.tried:
            return ReviewParent(parent.task)
        parents.append(parent)
    leaves = tuple(task for task in leaves_with_feedback(state) if _is_about(call, state, task))
    return ParentReviewRequired(tuple(parents), leaves) if parents or leaves else None


def _is_about(call: CallScope, state: PlanState, leaf: Task) -> bool:
    """Whether the call is about a leaf, or about the parent whose review has feedback for it."""
    if call.covers(leaf.id):
        return True
    parent = state.plan.tasks.get(state.feedback[leaf.id].parent_task_id)
    return parent is not None and call.covers_parent(state.plan, parent)
