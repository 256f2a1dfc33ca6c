"""What is due: the next thing to happen, one pure function of plan, records and this call (DESIGN.md 5)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from git_blackbird.model.decisions import (
    Decide,
    is_decision_alive,
    is_session_lost,
    paused_runs,
    pending_decisions,
    stopped_at_limit,
)
from git_blackbird.model.graph import ancestors
from git_blackbird.model.held import Unreviewed, owing_below, owing_leaves, unreviewed
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.run import DecisionState, ReviewState, Run, RunStatus
from git_blackbird.model.standing import Standing
from git_blackbird.model.unreadable import blocked_tasks, may_start, unreadable_below

REVIEW_TRIES = 2


@dataclass(frozen=True)
class Call:
    """What one call asks for: which tasks it may touch, how many starts are left, what it has begun.

    ``only`` is None for a plain execute; ``asked`` holds the runs whose questions this call answers,
    ``carries`` the leaves to which it is yet to carry what a review left owed, ``review`` a parent, or a
    leaf whose change, a person asked to be reviewed, until ``is_reviewed``, and ``tried`` the parents that
    were reviewed without a verdict, once for each time. ``widens`` says that *approve and continue* makes
    the call go on as a plain execute would.
    """

    only: frozenset[TaskId] | None = None
    starts_left: int | None = None
    asked: frozenset[RunId] = frozenset()
    carries: frozenset[TaskId] = frozenset()
    review: TaskId | None = None
    is_reviewed: bool = False
    tried: tuple[TaskId, ...] = ()
    widens: bool = False

    def widened(self) -> "Call":
        """Return the call as it goes on after *approve and continue*."""
        return Call(asked=self.asked, carries=self.carries, tried=self.tried) if self.widens else self

    def covers(self, task_id: TaskId) -> bool:
        """Whether this call is about the task."""
        return self.only is None or task_id in self.only

    def covers_parent(self, plan: Plan, parent: Task) -> bool:
        """Whether this call is about the parent, or about a leaf below it."""
        if self.only is None or parent.id in self.only:
            return True
        return any(parent.id == above.id for task_id in self.only for above in _above(plan, task_id))

    @property
    def may_start(self) -> bool:
        """Whether another start is within the limit."""
        return self.starts_left is None or self.starts_left > 0


@dataclass(frozen=True)
class CarryOut:
    """A change request to carry to the session that did the work; that may be gone."""

    task: Task
    run: Run


@dataclass(frozen=True)
class ReviewChange:
    """The change of a run that succeeded, to be reviewed before anyone decides on it."""

    task: Task
    run: Run


@dataclass(frozen=True)
class Ask:
    """Questions that an agent asked in this call; ``message`` is what a person says with the answers."""

    task: Task
    run: Run
    message: str | None = None


@dataclass(frozen=True)
class CarryFeedback:
    """What a parent's review left owed, to carry to the session that did the work."""

    task: Task
    run: Run


@dataclass(frozen=True)
class ReviewParent:
    """A parent whose children are all done, to be reviewed."""

    task: Task


@dataclass(frozen=True)
class ReviewsRequired:
    """Parents are held back, and leaves owed what their reviews said: a person must go on with them."""

    parents: tuple[Unreviewed, ...]
    leaves: tuple[Task, ...]


@dataclass(frozen=True)
class Continue:
    """An interrupted run to continue in its session; that may be gone."""

    task: Task
    run: Run


@dataclass(frozen=True)
class AskPaused:
    """A run that reached a limit: a person says whether it is continued."""

    task: Task
    run: Run


@dataclass(frozen=True)
class Start:
    """A ready leaf to start."""

    task: Task


@dataclass(frozen=True)
class Nothing:
    """Nothing is due in this call; ``blocked`` names what waits, and for whom."""

    blocked: Mapping[TaskId, tuple[TaskId, ...]]


Due = (
    CarryOut
    | ReviewChange
    | Decide
    | Ask
    | CarryFeedback
    | ReviewParent
    | ReviewsRequired
    | Continue
    | AskPaused
    | Start
    | Nothing
)


def next_due(standing: Standing, call: Call) -> Due:
    """Give the next thing to happen in this call."""
    if (request := next(change_requests(standing, call), None)) is not None:
        return request
    if (review := _review_of_change(standing, call)) is not None:
        return review
    for decision in pending_decisions(standing):
        if call.covers(decision.task.id):
            return decision
    if (question := _question(standing, call)) is not None:
        return question
    return _carried(standing, call) or _due_of_parents_or_start(standing, call)


def _due_of_parents_or_start(standing: Standing, call: Call) -> Due:
    """Give what comes of reviews, and then what may start; a leaf asked for by name starts before a stop."""
    of_parents = _due_of_parents(standing, call)
    if of_parents is None:
        after = next(unfinished(standing, call), None) or _due_start(standing, call)
        return after or Nothing(blocked_tasks(standing))
    if call.only is None or isinstance(of_parents, ReviewParent):
        return of_parents
    start = _due_start(standing, call)
    return of_parents if start is None or _builds_on_owing(standing, start) else start


def unfinished(standing: Standing, call: Call) -> Iterator[Continue | AskPaused]:
    """Yield what is due on each run that left half-done work in the worktree, oldest first."""
    for task, run in paused_runs(standing):
        if call.covers(task.id):
            is_asked = stopped_at_limit(run) and not is_session_lost(standing.history(task.id), run)
            yield AskPaused(task, run) if is_asked else Continue(task, run)


def _builds_on_owing(standing: Standing, start: Start) -> bool:
    """Whether a leaf that is about to start depends on a parent below which a review left something owed."""
    return any(owing_below(standing, standing.plan.tasks[dep]) for dep in start.task.deps)


def _due_start(standing: Standing, call: Call) -> Start | None:
    task = _startable(standing, call) if call.may_start else None
    return None if task is None else Start(task)


def change_requests(standing: Standing, call: Call) -> Iterator[CarryOut]:
    """Yield every change request that this call is to carry out, in order."""
    for task, run in standing.latest_runs():
        if (
            call.covers(task.id)
            and run.decision_state == DecisionState.CHANGES_REQUESTED
            and is_decision_alive(task, run)
        ):
            yield CarryOut(task, run)


def _review_of_change(standing: Standing, call: Call) -> ReviewChange | None:
    for task, run in standing.latest_runs():
        by_hand = task.id == call.review and not call.is_reviewed
        if call.covers(task.id) and (run.review_state is ReviewState.DUE or by_hand):
            return ReviewChange(task, run)
    return None


def _question(standing: Standing, call: Call) -> Ask | None:
    for task, run in standing.latest_runs():
        if run.id in call.asked and run.status == RunStatus.WAITING_USER:
            return Ask(task, run)
    return None


def _carried(standing: Standing, call: Call) -> CarryFeedback | None:
    """Give the next leaf to which this call carries what a review left owed, if its session can go on."""
    owing = call.carries & standing.feedback.keys() - standing.unreadable.keys()
    for task_id in (task.id for task in standing.plan.leaves() if task.id in owing):
        run = standing.latest(task_id)
        if run is None or run.status is RunStatus.WAITING_USER:
            continue
        if not is_session_lost(standing.history(task_id), run):
            return CarryFeedback(standing.plan.tasks[task_id], run)
    return None


def _due_of_parents(standing: Standing, call: Call) -> ReviewParent | ReviewsRequired | None:
    """Give the review that is owed, nearest ancestor first; or that a person must go on (spec 0)."""
    tries = Counter(call.tried)
    by_hand = standing.plan.tasks.get(call.review) if call.review is not None else None
    if by_hand is not None and unreadable_below(standing, by_hand):
        return None
    if by_hand is not None and by_hand.children and not call.is_reviewed:
        is_tried = tries[by_hand.id] >= REVIEW_TRIES
        return ReviewsRequired((Unreviewed(by_hand, None),), ()) if is_tried else ReviewParent(by_hand)
    if not standing.is_gated and (by_hand is None or by_hand.is_leaf):
        return None
    held: list[Unreviewed] = []
    for one in unreviewed(standing):
        if not call.covers_parent(standing.plan, one.task) or _owes_feedback(standing, one):
            continue
        if unreadable_below(standing, one.task):
            continue
        if one.review is None and tries[one.task.id] < REVIEW_TRIES:
            return ReviewParent(one.task)
        held.append(one)
    leaves = tuple(task for task in owing_leaves(standing) if _is_about(call, standing, task))
    return ReviewsRequired(tuple(held), leaves) if held or leaves else None


def _is_about(call: Call, standing: Standing, leaf: Task) -> bool:
    """Whether the call is about a leaf, or about the parent whose review left it something."""
    if call.covers(leaf.id):
        return True
    parent = standing.plan.tasks.get(standing.feedback[leaf.id].parent_task_id)
    return parent is not None and call.covers_parent(standing.plan, parent)


def _owes_feedback(standing: Standing, one: Unreviewed) -> bool:
    """Whether a parent without a verdict waits for leaves below it to hear what another review said."""
    return one.review is None and bool(owing_below(standing, one.task))


def _above(plan: Plan, task_id: TaskId) -> Iterator[Task]:
    return ancestors(plan, plan.tasks[task_id]) if task_id in plan.tasks else iter(())


def _startable(standing: Standing, call: Call) -> Task | None:
    """Return the first leaf in plan order that may start."""
    leaves = standing.plan.leaves()
    return next((task for task in leaves if call.covers(task.id) and may_start(standing, task)), None)
