"""One run of an agent that only reads, from its record to its answer: a reviewer, or who plans."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.change.agent_run import run_agent
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.work.close import AgentInterference, closing_run, concluded
from git_blackbird.controller.change.work.starts import Start
from git_blackbird.controller.change.work.watch import store_config, warn_outside, watch_agent
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import publish_logs, scratch_dir
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.place.worktrees import Opened
from git_blackbird.git.submodules.checkout import check_out_whole
from git_blackbird.git.worktree.linked import home_repository
from git_blackbird.git.worktree.snapshot import SnapshotError
from git_blackbird.messages.display.format import masked_text
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.redaction import masked_kinds
from git_blackbird.model.run.ended import CUT_OFF, Ended, ExitCause
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_UNAVAILABLE, RunStatus, TerminalReason
from git_blackbird.model.views.events import RunEnded
from git_blackbird.storage.files import load_bytes
from git_blackbird.storage.store import Transaction

T = TypeVar("T")

_CHECKOUT = "review"
_LIMITS = frozenset({ExitCause.WALL_LIMIT, ExitCause.IDLE_LIMIT, ExitCause.BUDGET})
_CUT_OFF = {
    ExitCause.WALL_LIMIT: "the {0.work} took too long",
    ExitCause.IDLE_LIMIT: "the {0.who} printed nothing for too long",
    ExitCause.BUDGET: "the {0.work} was stopped, since its budget is spent",
    ExitCause.INTERRUPTED: "the {0.work} was interrupted",
}
NOT_ASKED_AGAIN = frozenset(
    {
        TerminalReason.INTERRUPTED,
        TerminalReason.BUDGET,
        TerminalReason.AGENT_UNAVAILABLE,
        TerminalReason.WITHOUT_WORK,
    }
)


class Role(NamedTuple):
    """How people call an agent that only reads, what it does, and what it answers with.

    ``asks``: questions may be part of its answer.
    """

    who: str
    work: str
    answer: str
    asks: bool = False


REVIEW = Role("reviewer", "review", "verdict")


class Reading(ABC, Generic[T]):
    """What an agent is to read and to answer, and what becomes of its answer.

    ``run`` is its record before it begins. An agent that works in a copy of the worktree gets ``records``
    too. One ``of_several`` shares the worktree with others: who began them all says what changed meanwhile.
    """

    role = REVIEW
    of_several = False

    def __init__(self, start: Start, run: Run, records: tuple[str, ...] = ()) -> None:
        self.start, self.run, self.records = start, run, records

    def warn_changed(self, ui: UserInterface, run: Run) -> None:
        warn(ui, _worktree_changed(self.role), run.task_id)

    def begin(self, transaction: Transaction, run: Run) -> None:
        transaction.save_run(run)

    @abstractmethod
    def parse(self, transaction: Transaction, ended: Ended) -> T:
        """Return the answer. Raises ValueError for one that cannot be read."""

    def record(self, transaction: Transaction, closed: Run, answer: T | None) -> Run:  # noqa: ARG002  # for others
        """Save the closed record with the ``answer``, and return it."""
        transaction.save_run(closed)
        return closed


class ReadingEnd(NamedTuple, Generic[T]):
    """How such a run ended; ``answer`` is None if it is unusable."""

    run: Run
    answer: T | None
    ended: Ended

    @property
    def is_final(self) -> bool:
        """Whether the same would be refused again, or there is an answer."""
        is_refused = self.ended.refusal is not None or self.ended.reason in NOT_ASKED_AGAIN
        return self.answer is not None or is_refused


async def read_twice(
    call: Call, place: Opened, reading_for: Callable[[str | None], Awaitable[Reading[T]]]
) -> ReadingEnd[T]:
    """Have an agent read; where no answer can be read, one fresh start is told the fault.

    Raises as ``read``.
    """
    end = await read(call, place, await reading_for(None))
    return end if end.is_final else await read(call, place, await reading_for(end.run.error))


async def read(call: Call, place: Opened, reading: Reading[T]) -> ReadingEnd[T]:
    """Run an agent that reads, to its closed record.

    Cancelling it stops the agent and closes the record as failed. Raises what ``begin`` does, SaveError,
    SnapshotError, AgentUnavailableError or UnusableError with nothing left running.
    """
    workspace, start, role = place.workspace, reading.start, reading.role

    def begin(run: Run) -> None:
        store_config(workspace)
        with workspace.transaction() as transaction:
            reading.begin(transaction, run)
            watch_agent(workspace, transaction, run)

    with scratch_dir(workspace.paths, reading.run.id) as scratch:
        place = await run_in_thread(lambda: _checked_out(place, reading, scratch))
        run, ended = await run_agent(call, start, place, reading.run, scratch, begin)
    # Files are named as they are in the worktree, wherever the agent looked at them.
    texts = (text.replace(f"{place.folder}/", "") for text in (ended.final_text, *ended.woken_texts))
    if kinds := masked_kinds(ended.whole_text, ended.marks):
        ended = ended.noting(masked_text(f"the {role.who}'s answer", kinds))
        warn(call.ui, ended.notes[-1], run.task_id)
    text, *woken = texts
    ended = ended._replace(final_text=text, woken_texts=tuple(woken))
    after = None
    if not reading.of_several:
        after = await read_worktree(call, place, start.agent, run.task_id, run.base_tree)
        if after not in {None, run.base_tree}:
            reading.warn_changed(call.ui, run)
    with _closing(workspace, run, of_several=reading.of_several) as (transaction, check):
        ended = concluded(ended, workspace.environment.timestamp())
        ended, answer = judged_answer(ended, partial(reading.parse, transaction), role)
        closed = run.ended(ended)
        if check is not None:
            closed = closed.updated(head_tree=after or run.base_tree)
            if closed.has_changed_files:
                closed = closed.noting(_worktree_changed(role))
            closed = check.noted_on(closed)
        closed = reading.record(transaction, closed, answer)
    publish_logs(workspace, closed)
    if check is not None:
        _tell_edits(call, closed, role)
    call.ui.notify(RunEnded(closed, start.task.title, ended.duration_seconds))
    return ReadingEnd(closed, answer, ended)


@contextmanager
def _closing(
    workspace: Workspace, run: Run, *, of_several: bool
) -> Iterator[tuple[Transaction, AgentInterference | None]]:
    """Hold the store lock to save the end of a run; of one of several nothing else is compared."""
    if not of_several:
        with closing_run(workspace, run) as (transaction, check):
            transaction.renew_plan_backup()
            yield transaction, check
        return
    with workspace.transaction() as transaction:
        workspace.store.at_work.discard(run.id)
        yield transaction, None


def _checked_out(place: Opened, reading: Reading[T], scratch: Path) -> Opened:
    """Return where the agent works: the worktree if it can be kept from writing, else a copy of it."""
    workspace, tree = place.workspace, reading.run.base_tree
    if reading.start.agent.abilities.read_only or tree is None:
        return place
    checkout = scratch / _CHECKOUT
    checkout.mkdir()
    seconds = workspace.config.snapshot.timeout_seconds
    home = home_repository(workspace.repo) or workspace.repo
    check_out_whole(home, tree, checkout, timeout_seconds=seconds)
    for name in reading.records:
        with suppress(OSError):  # it is gone, or is none of this worktree
            data = load_bytes(workspace.paths.record_of(name))
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes(data)
    return replace(place, checkout=checkout)


def judged_answer(ended: Ended, parse: Callable[[Ended], T], role: Role = REVIEW) -> tuple[Ended, T | None]:
    """Return the end of such a run with what it means. Only an answer that ``parse`` can read counts as one.

    ``parse`` raises ValueError for any other.
    """
    # Stopped by a limit, a reviewer that had answered was only waiting for its own work.
    has_answered = ended.cause in _LIMITS and ended.succeeded
    if ended.cause is not ExitCause.EXITED and not has_answered:
        words = ended.last_error if ended.cause is ExitCause.IDLE_LIMIT else None
        cut_off = ": ".join(filter(None, (_CUT_OFF[ended.cause].format(role), words)))
        return ended.counting_as(RunStatus.FAILED, CUT_OFF[ended.cause], cut_off), None
    if ended.refusal is not None and not ended.refusal.is_of_task:
        by, refused = SUPERSEDED_BY_UNAVAILABLE, TerminalReason.AGENT_UNAVAILABLE
        return ended.counting_as(RunStatus.FAILED, refused, superseded_by=by), None
    if ended.error and not ended.worked and ended.refusal is None:
        return ended.counting_as(RunStatus.FAILED, TerminalReason.WITHOUT_WORK), None
    has_answer = ended.succeeded or (role.asks and bool(ended.questions))
    if has_answer and not ended.is_cut:
        try:
            answer = parse(ended)
        except ValueError as error:
            return ended.counting_as(RunStatus.FAILED, error=str(error)), None
        return ended.counting_as(RunStatus.SUCCESS), answer
    fault = f"the {role.who}'s answer is too long" if ended.succeeded else None
    if ended.questions:
        asked = ended.questions[0].prompt
        fault = f"the {role.who} asked a question instead of giving a {role.answer}: {asked}"
    return ended.counting_as(RunStatus.FAILED, error=fault), None


def _worktree_changed(role: Role) -> str:
    return f"the worktree changed during the {role.work}"


def _tell_edits(call: Call, closed: Run, role: Role) -> None:
    for note in closed.notes:
        if note != _worktree_changed(role):
            warn(call.ui, note, closed.task_id)
    for change in closed.config_edits:
        warn(call.ui, f"the configuration changed during the {role.work}: {change}", closed.task_id)
    warn_outside(call.ui, closed)


def changed_text(task_id: TaskId) -> str:
    """Return the warning that the reviewed files changed meanwhile."""
    return f"the worktree changed while {task_id} was reviewed"


async def read_worktree(
    call: Call, place: Opened, agent: Agent, task_id: TaskId, since: str | None
) -> str | None:
    """Return the tree of the worktree that an agent reads, which it is not to change.

    What the tree ``since`` had stays in. None for an agent that works elsewhere, and where it cannot be
    known, which is said.
    """
    if not agent.abilities.read_only:
        return None
    try:
        return (await run_in_thread(lambda: snapshot(place.workspace, since=since))).tree
    except SnapshotError as error:
        warn(call.ui, f"what the reviewer of {task_id} changed is not known: {error.message}", task_id)
        return None
