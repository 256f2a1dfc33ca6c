"""The queue: everything that is due, once, in the one order in which it is done and shown.

A call does the first item that its scope allows (``model/rules/scope.py``); readers show it, or a part of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, NamedTuple

from git_blackbird.clean import one_line
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import (
    EXECUTE,
    Sentence,
    TaskCommand,
    dismiss_command,
    restart_command,
)
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.change.stages import (
    TABLE,
    AgentOf,
    Band,
    By,
    Due,
    Needs,
    Stage,
    Stops,
    due_of,
    label_of,
    stage_of,
)
from git_blackbird.model.change.work import answers_blank, decide_run_command, next_step
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import GateState, merged_or_none, skipped_children
from git_blackbird.model.rules.state import (
    PlanState,
    feedback_below,
    may_start,
    unreadable_below,
)
from git_blackbird.model.run.history import RecordError, is_session_lost
from git_blackbird.model.run.parent_verdict import completion_signature, excerpt
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import TerminalReason

if TYPE_CHECKING:
    # Imported on demand, because only reviews need it.
    from git_blackbird.model.run.broken import Broken
    from git_blackbird.model.run.findings import FollowUp, MergedVerdict

UNWATCHED = "no controller is running it"
GONE = "its process is gone"
LOST_SESSION = "its session is lost"
_CLOSES = "closes the run: its session is resumed, or else the task has failed"
_OVER = frozenset({Status.DONE, Status.FAILED})
_HELD = frozenset({Status.QUEUED, Status.IN_PROGRESS, Status.WAITING_USER})
_IN_SESSION = frozenset(due for due in Due if due.agent in {AgentOf.RUN, AgentOf.ANSWER})
PENDING = frozenset(due for due in Due if due.needs is Needs.ANSWER)
"""What a person says for a run to go on."""
REVIEWS_OF_PARENTS = frozenset({Due.REVIEW_FAILED, Due.REVIEW_PARENT, Due.REVIEW_AGAIN})


class LiveRun(NamedTuple):
    """A record that says an agent is at work, and whether its process is there."""

    run: Run
    alive: bool


class InterruptedApproval(NamedTuple):
    """An approval that was killed while git committed it."""

    task_id: Annotated[TaskId, Shown("The task.", "task")]
    run_id: Annotated[RunId, Shown("The run.", "run")]
    commit: Annotated[str | None, Shown("What HEAD has of it; null where nothing was committed.")]
    is_recorded: bool  # all that is left to do is that the index may not follow HEAD
    command: Annotated[str, Shown("The command that finishes it.")]


class RunningCall(NamedTuple):
    """The call that holds the lock without which no agent starts here, as it began.

    ``words`` name it. It is about the tasks of ``only``, None for all; one that takes up nothing names none.
    ``starts``: it starts any number of tasks, ``agents``: it goes on with those that have begun.
    """

    words: str
    only: frozenset[TaskId] | None = frozenset()
    starts: bool = False
    agents: bool = False

    def does(self, item: "Item") -> bool:
        """Whether it comes to an item by itself."""
        is_named = self.only is None or item.task.id in self.only
        match item.due.by:
            case By.ANY_CALL:
                return self.only is None or bool(self.only)
            case By.CALL:
                return is_named
            case By.AGENTS:
                return is_named and self.agents
            case By.PARENTS:
                return self.only is None and self.agents
            case By.START:
                return is_named and self.starts
            case By.OWN | By.NO_CALL:
                return False

    def instead_of(self, item: "Item", command: str) -> str:
        """Return what to say in place of a command that needs its lock; the command if it needs none."""
        if not isinstance(command, TaskCommand) or command.verb not in _LOCKING:
            return command
        if item.due is Due.DECIDE:
            return TaskCommand("decide", item.task.id)
        if self.does(item) and item.due is not Due.ASK_PAUSED:
            return f"left to {self.words}"
        if item.due in {Due.ANSWER, Due.ASK_PAUSED}:
            return f"where {self.words} asks, or once that has ended"
        return f"once {self.words} has ended"


_LOCKING = frozenset({"execute", "resume", "resume --all", "restart", "review run", "undo", "redo", "verify"})


class Seen(NamedTuple):
    """What only looking tells, beyond plan and records.

    ``at_work`` are the tasks with a process of an agent or reviewer, ``unwatched`` the runs that no command
    follows. ``raising`` has the command that raises a spent budget, by task, None for that of the plan;
    ``lands_after`` the tasks whose landing waits, each with the one that lands before. ``call`` is at work.
    """

    at_work: frozenset[TaskId] = frozenset()
    unwatched: tuple[LiveRun, ...] = ()
    approval: InterruptedApproval | None = None
    raising: Mapping[TaskId | None, str] = MappingProxyType({})
    lands_after: Mapping[TaskId, TaskId] = MappingProxyType({})
    call: RunningCall | None = None


NOTHING_SEEN = Seen()


class Questions(NamedTuple):
    """What an agent asks, where the kind is `answers`."""

    questions: Annotated[tuple[Question, ...], Shown("The questions.")]


class Merged(NamedTuple):
    """What both reviews of a change came to, and ask for; None where one is missing."""

    overall: "MergedVerdict | None"
    action: "FollowUp | None"


class Flagged(NamedTuple):
    """What a review says of a parent: the children it flags, and the beginning of its feedback.

    ``fault`` says why there is no verdict; ``skipped`` are the children that the parent is complete without.
    """

    resume: tuple[TaskId, ...]
    feedback: str
    fault: str | None
    skipped: tuple[TaskId, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Item:
    """One thing to do about a task, with its run, if it is about one; ``fault`` is an unusable record."""

    due: Due
    task: Task
    run: Run | None = None
    fault: RecordError | None = None
    state: PlanState = field(repr=False, kw_only=True)
    seen: Seen = field(default=NOTHING_SEEN, repr=False, kw_only=True)

    @property
    def run_id(self) -> RunId | None:
        return None if self.run is None else self.run.id

    def is_same(self, other: "Item") -> bool:
        """Whether both are about the same, as two looks at the records found it."""
        return (self.due, self.task.id, self.run_id) == (other.due, other.task.id, other.run_id)

    @property
    def of_run(self) -> Run:
        """Its run, of a kind that is about one."""
        if self.run is None:
            raise ValueError(f"no run of {self.task.id}: {self.due}")
        return self.run

    @property
    def since(self) -> str | None:
        """Since when it is due, if its run has a time for that."""
        if self.broken is not None:
            return self.broken.criteria[0].at
        at = None if self.run is None else self.run.event_at
        return None if at is None else at.text

    @property
    def place(self) -> tuple[int, int, TaskId]:
        """Its place in a band."""
        at = None if self.run is None else self.run.event_at
        return self.due.order, 0 if at is None else at.nanoseconds, self.task.id

    @property
    def stops(self) -> Stops:
        """What it stops: nothing if it is apart from the user's worktree, or no parent is reviewed."""
        match self.due, self.run:
            case Due.FEEDBACK, _:
                return self.due.stops if self.task.id in self.state.owing else Stops.NOTHING
            case Due.DECIDE | Due.ASK_PAUSED, Run() as run if not run.is_in_place and run.moving is None:
                return Stops.NOTHING
            case _:
                return self.due.stops

    @property
    def unblocks(self) -> int:
        """How many tasks wait for a person's answer to this alone."""
        is_answered = self.due.needs in {Needs.ANSWER, Needs.PERSON}
        return self.state.unblocked.get(self.task.id, 0) if is_answered else 0

    @property
    def is_session_lost(self) -> bool:
        """Whether its session would go on and cannot, so that a new one is to begin."""
        return (
            self.run is not None
            and self.due in _IN_SESSION - {Due.FEEDBACK}
            and is_session_lost(self.state.history(self.task.id), self.run)
        )

    @property
    def words(self) -> str:
        if self.is_session_lost:
            return LOST_SESSION
        match self.due, self.run:
            case Due.STUCK, _:
                return f"{self.task.status.value.replace('_', ' ')}, but it has no run"
            case Due.CLOSE, _:
                return UNWATCHED if self._is_alive else GONE
            case Due.BROKEN, _ if self.broken is not None:
                return f"broken since {', '.join(dict.fromkeys(one.task_id for one in self.broken.criteria))}"
            case due, Run() as run if not due.words:
                return label_of(run)
            case due, _:
                return due.words or due.value

    @property
    def why(self) -> str | None:
        """What else to say: what speaks against an approval, how a run ended, who lands before."""
        if self.fault is not None:
            return self.fault.what
        match self.due, self.run:
            case Due.LAND, _ if first := self.seen.lands_after.get(self.task.id):
                return f"{first} lands before: it resolves a conflict in the same files"
            case Due.CLOSE, _:
                return f"execute {'stops its agent and ' if self._is_alive else ''}{_CLOSES}"
            case Due.DECIDE, Run() as run:
                return _against_approval(run)
            case Due.BROKEN, _ if self.broken is not None:
                found = self.broken.criteria
                return "; ".join(f"its criterion $ {one_line(one.command, 60)} {one.words}" for one in found)
            case Due.FAILED, Run() as run if stage_of(run) is Stage.FAILED:
                return run.error
            case (Due.ASK_PAUSED, Run() as run) if run.terminal_reason is TerminalReason.UNKNOWN_END:
                return run.error or None
            case _:
                flagged = self.flagged
                return None if flagged is None else flagged.feedback or flagged.fault

    @property
    def command(self) -> str:
        """The command that answers it; in words who does, where that is left to a call at work."""
        call = self.seen.call
        return self._answer if call is None else call.instead_of(self, self._answer)

    @property
    def _answer(self) -> str:
        if self.fault is not None:
            return self.fault.hint
        if self.due in _IN_SESSION:
            raising = self.seen.raising
            return raising.get(self.task.id) or raising.get(None) or self._resuming
        match self.due, self.run:
            case Due.DECIDE, Run() as run:
                return decide_run_command(run)
            case Due.FINISH_APPROVAL, _ if self.seen.approval is not None:
                return self.seen.approval.command
            case Due.FAILED | Due.STUCK, run:
                return next_step(self.task, run)
            case Due.BROKEN, _ if self.broken is not None:
                cause = self.broken.criteria[-1].task_id
                undo = ("; or ", TaskCommand("undo", cause)) if cause in self.state.plan.tasks else ()
                return TaskCommand("verify", rest=" --done", remark=Sentence("once it is mended", *undo))
            case Due.START, _:
                return self.seen.raising.get(None) or TaskCommand("execute", self.task.id)
            case _:
                return EXECUTE if self.flagged is None else self.flagged.commands[0]

    @cached_property
    def details(self) -> "Questions | Merged | Broken | RecordError | Flagged | None":
        """What else there is: the questions, the reviews, the record, or what a parent's review says."""
        if self.run is not None and self.due is Due.ANSWER and not self.is_session_lost:
            return Questions(self.run.questions)
        if self.run is not None and self.due is Due.DECIDE and (merged := merged_or_none(self.run)):
            return Merged(merged.overall, merged.action)
        return self.broken or self.fault or self.flagged

    @cached_property
    def broken(self) -> "Broken | None":
        """The criteria that fail since changes of others; None for another kind of item."""
        return broken_criteria(self.state, self.task) if self.due is Due.BROKEN else None

    @cached_property
    def flagged(self) -> Flagged | None:
        """The review of a parent; None for another kind of item."""
        return _flagged(self) if self.due in REVIEWS_OF_PARENTS else None

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.details.questions if isinstance(self.details, Questions) else ()

    @property
    def _resuming(self) -> str:
        task_id, run = self.task.id, self.run
        if self.due is Due.FEEDBACK or run is None:
            return resume_command(self.state, self.task)
        verb = "restart" if self.is_session_lost else TABLE[stage_of(run)].verb
        blank = answers_blank(self.questions)
        back = ""
        if run.terminal_reason is TerminalReason.WORKER_LOST:
            again = TaskCommand("restart", task_id)
            back = Sentence("once that worker is back; ", again, " starts it elsewhere")
        return TaskCommand(verb, task_id, remark=back, blank=blank)

    @property
    def _is_alive(self) -> bool:
        return any(one.alive for one in self.seen.unwatched if one.run.id == self.run_id)


def acting_text(item: Item, does: str) -> str:
    """Return who acts on an item that needs a call, and when: one at work, or the next; ``does`` is what."""
    call = item.seen.call
    if call is not None and call.does(item):
        return f"{call.words} {does}"
    return Sentence(EXECUTE, f" {does}" + ("" if call is None else f" once {call.words} has ended"))


def queue(state: PlanState, seen: Seen = NOTHING_SEEN) -> Iterator[Item]:
    return chain.from_iterable(in_order(items_in(band, state, seen)) for band in Band)


def in_order(items: Iterable[Item]) -> Sequence[Item]:
    """Return the items of one band in their order; what they unblock is not counted for fewer than two."""
    found = tuple(items)
    if len(found) < 2 or found[0].due.band is Band.READY:
        return found
    if found[0].due.band is Band.PERSON:
        return sorted(found, key=lambda item: (-item.unblocks, item.place))
    return sorted(found, key=lambda item: item.place)


def items_in(band: Band, state: PlanState, seen: Seen = NOTHING_SEEN) -> Iterator[Item]:
    """Yield the items of one band, in any order; ready tasks in that of the plan."""
    match band:
        case Band.HALF_WRITTEN:
            yield from _half_written(state, seen)
        case Band.CHANGE:
            yield from _of_stage(state, seen, Due.REQUEST)
            begun = _of_stage(state, seen, Due.CHECK, Due.REVIEW, Due.LAND, Due.RECHECK)
            yield from (item for item in begun if item.task.id not in seen.at_work)
        case Band.PERSON:
            yield from _of_stage(state, seen, Due.DECIDE, Due.ANSWER, Due.ASK_PAUSED)
            yield from _reviews(state, seen, band)
            broken = _of_stage(state, seen, Due.BROKEN)
            yield from (item for item in broken if broken_criteria(state, item.task))
            yield from _dead_ends(state, seen)
        case Band.RUN:
            yield from _reviews(state, seen, band)
            yield from _of_stage(state, seen, Due.CONTINUE)
            gone = [live.run for live in seen.unwatched if live.run.task_id in state.plan.tasks]
            for run in gone:
                yield Item(Due.CLOSE, state.plan.tasks[run.task_id], run, state=state, seen=seen)
        case Band.READY:
            ready = (task for task in state.plan.unfinished_leaves() if may_start(state, task))
            yield from (Item(Due.START, task, state=state, seen=seen) for task in ready)


def _of_stage(state: PlanState, seen: Seen, *kinds: Due) -> Iterator[Item]:
    for due in kinds:
        yield from (Item(due, task, run, state=state, seen=seen) for task, run in state.due[due])


def _half_written(state: PlanState, seen: Seen) -> Iterator[Item]:
    for run in state.half_written:
        task = state.plan.tasks.get(run.task_id)
        if task is not None and task.id not in seen.at_work:
            yield Item(Due.FINISH, task, run, state=state, seen=seen)
    if seen.approval is not None and (task := state.plan.tasks.get(seen.approval.task_id)) is not None:
        approved = state.history(task.id).latest
        is_its = approved is not None and approved.id == seen.approval.run_id
        yield Item(Due.FINISH_APPROVAL, task, approved if is_its else None, state=state, seen=seen)


def _dead_ends(state: PlanState, seen: Seen) -> Iterator[Item]:
    """Yield what no run of a leaf gets on: unusable records, feedback, failures, what has no run."""
    for task_id, faults in state.unreadable.items():
        for fault in faults:
            yield Item(Due.UNREADABLE, state.plan.tasks[task_id], fault=fault, state=state, seen=seen)
    owing = (state.plan.tasks[task_id] for task_id in state.feedback)
    flagged = [task for task in owing if task.status is Status.DONE]
    for task in (*flagged, *state.plan.unfinished_leaves()):
        if task.status is Status.TODO or task.id in state.unreadable:
            continue
        run = state.history(task.id).latest
        if task.status in _OVER and (run is None or due_of(run) in {None, Due.BROKEN}):
            due = Due.FEEDBACK if task.id in state.feedback else Due.FAILED
            yield Item(due, task, run, state=state, seen=seen)
        elif task.status in _HELD and run is None and state.history(task.id).live is None:
            yield Item(Due.STUCK, task, state=state, seen=seen)


def broken_criteria(state: PlanState, task: Task) -> "Broken | None":
    """Return the criteria of a done task that fail since a change which is still there, if any does.

    What its parent's review asks for comes first, and what is no criterion any more is none.
    """
    run = state.history(task.id).latest
    if run is None or run.broken is None or task.id in state.feedback:
        return None
    from git_blackbird.model.rules.evidence import commands_in  # few have any

    commands = commands_in(task).values()
    left = tuple(
        one for one in run.broken.criteria if one.command in commands and _is_there(state, one.task_id)
    )
    return run.broken.updated(criteria=left) if left else None


def _is_there(state: PlanState, task_id: TaskId) -> bool:
    last = state.history(task_id).latest
    return last is None or last.undone is None or last.undone.redone


def _reviews(state: PlanState, seen: Seen, band: Band) -> Iterator[Item]:
    """Yield the parents that wait only for a review which is not running."""
    for parent, review in state.held_parents:
        if state.gate.state(state.plan.tasks, parent) is GateState.REVIEWING:
            continue
        last = review or last_try(state, parent)
        due = Due.REVIEW_PARENT if last is None else Due.REVIEW_FAILED if review else Due.REVIEW_AGAIN
        if due.band is band:
            yield Item(due, parent, last, state=state, seen=seen)


def last_try(state: PlanState, parent: Task) -> Run | None:
    """Return the last review of the children as they are now, which gave no verdict; None without one."""
    if unreadable_below(state, parent) or feedback_below(state, parent):
        return None
    reviews = state.history(parent.id).reviews
    signature = completion_signature(parent, state.plan.tasks) if reviews else None
    return next(
        (run for run in reversed(reviews) if run.parent_review_completion_signature == signature), None
    )


def _flagged(item: Item) -> Flagged:
    state, parent, run = item.state, item.task, item.run
    leaves = feedback_below(state, parent)
    first = TaskCommand("resume --all", parent.id) if item.due is Due.REVIEW_FAILED or leaves else EXECUTE
    if leaves and not any(is_resumable(state, leaf) for leaf in leaves):
        first = restart_command(leaves[0].id)
    dismiss = () if item.due is Due.REVIEW_PARENT else (dismiss_command(parent.id),)
    call = item.seen.call
    steps = (first, *dismiss) if call is None else (call.instead_of(item, first), *dismiss)
    skipped, commands = skipped_children(state.plan.tasks, parent), steps
    if item.due is Due.REVIEW_FAILED and run is not None:
        feedback = excerpt(run.parent_review_feedback or "")
        return Flagged(run.parent_review_resume_task_ids, feedback, None, skipped, commands)
    return Flagged((), "", _why_without_verdict(state, parent, run), skipped, commands)


def _why_without_verdict(state: PlanState, parent: Task, last: Run | None) -> str:
    if broken := unreadable_below(state, parent):
        return f"records of {', '.join(leaf.id for leaf in broken)} cannot be used"
    if owing := feedback_below(state, parent):
        return f"{', '.join(leaf.id for leaf in owing)} must first act on open review feedback"
    if last is not None:
        return excerpt(last.error or "it gave no verdict")
    is_later = bool(state.history(parent.id).reviews)
    return "its children have changed since its last review" if is_later else "it has not been reviewed yet"


def _against_approval(run: Run) -> str | None:
    """Return what speaks against an approval: nothing was changed, a failed check, an obstacle to landing."""
    if run.no_change_reason is not None:
        return run.no_change_reason
    stage, reason = stage_of(run), run.landing_reason or ""
    if stage is Stage.BLOCKED:
        return f"it {run.landing_words}: {reason}"
    if stage is Stage.NOT_COMMITTED:
        return reason
    return "; ".join(f"its {check.title} {check.words}" for check in run.red_checks) or None


def pending_decisions(state: PlanState) -> Sequence[Item]:
    """Return the decisions that are due, in the order of the queue."""
    return in_order(_of_stage(state, NOTHING_SEEN, Due.DECIDE))


def resume_command(state: PlanState, task: Task) -> str:
    return TaskCommand("resume", task.id) if is_resumable(state, task) else restart_command(task.id)


def is_resumable(state: PlanState, task: Task) -> bool:
    """Whether a leaf has a session to continue, according to its records."""
    run = state.history(task.id).latest
    return run is not None and not is_session_lost(state.history(task.id), run)
