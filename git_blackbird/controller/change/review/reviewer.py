"""Running a reviewer: it writes nothing and keeps no session."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from git_blackbird.agents.process.outcome import ExitCause, ProcessResult
from git_blackbird.agents.protocol import JsonObject, RunRequest
from git_blackbird.controller.change.work.guard import WorkCheck
from git_blackbird.controller.change.work.outcome import LIMIT_REASONS, RunOutcome
from git_blackbird.controller.change.work.outside import warn_outside
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.launch.launch import AgentStart, RunContext, run_agent
from git_blackbird.controller.launch.scratch import scratch_dir
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.git.submodules.checkout import check_out_whole
from git_blackbird.git.worktree.linked import home_repository
from git_blackbird.git.worktree.snapshot import SnapshotError
from git_blackbird.messages.display.format import masked_text
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.redaction import masked_kinds
from git_blackbird.model.run.agent_io import AgentResult
from git_blackbird.model.run.run import Ending, Run
from git_blackbird.model.run.states import SUPERSEDED_BY_UNAVAILABLE, RunStatus, RunType, TerminalReason
from git_blackbird.storage.files import load_bytes

T = TypeVar("T")

_CHECKOUT = "review"
_LIMITS = frozenset({ExitCause.WALL_LIMIT, ExitCause.IDLE_LIMIT, ExitCause.BUDGET})
_CUT_OFF = {
    ExitCause.WALL_LIMIT: "the {0.work} took too long",
    ExitCause.IDLE_LIMIT: "the {0.who} printed nothing for too long",
    ExitCause.BUDGET: "the {0.work} was stopped, since its budget is spent",
    ExitCause.INTERRUPTED: "the {0.work} was interrupted",
}


class Role(NamedTuple):
    """How people call an agent that only looks, what it does, and what it answers with.

    ``asks``: questions may be part of its answer.
    """

    who: str
    work: str
    answer: str
    asks: bool = False


REVIEW = Role("reviewer", "review", "verdict")


@dataclass(frozen=True)
class ReviewerRequest:
    """What a reviewer gets; ``records`` are the state files it is told of, for one that works in a copy."""

    initial_run: Run
    title: str
    prompt: str
    schema: JsonObject | None = None
    records: tuple[str, ...] = ()
    wall_seconds: float | None = None


async def run_reviewer(
    context: RunContext, request: ReviewerRequest, save: Callable[[Run], None], force_stop: asyncio.Event
) -> tuple[Run, ProcessResult]:
    """Run a reviewer to its end; ``save`` saves its record before it begins.

    Cancelling it stops the reviewer, and gives its end all the same. Raises what ``save`` does, SaveError,
    AgentUnavailableError or UnusableError with nothing left running.
    """
    run = request.initial_run
    with scratch_dir(context.workspace.paths, run.id) as folder:
        cwd = await run_in_thread(lambda: _place(context, request, folder))
        assignment = RunRequest(
            run.task_id,
            run.id,
            None,
            request.prompt,
            run.context,
            schema=request.schema,
            read_only=True,
            folder=str(cwd),
            scratch=str(folder),
        )
        start = AgentStart(run, request.title, assignment, wall_seconds=request.wall_seconds)
        run, ended = await run_agent(context, start, save, force_stop)
        # Files are named as they are in the worktree, wherever the reviewer looked at them.
        reading = ended.reading
        text, *woken = (text.replace(f"{cwd}/", "") for text in (reading.final_text, *reading.woken_texts))
        notes = reading.notes
        if kinds := masked_kinds(reading.whole_text, ended.marks):
            who = "planner" if run.run_type is RunType.PLANNING else "reviewer"
            notes = (*notes, masked_text(f"the {who}'s answer", kinds))
            warn(context.ui, notes[-1], run.task_id)
        answer = replace(reading, final_text=text, woken_texts=tuple(woken), notes=notes)
        return run, replace(ended, reading=answer)


def _place(context: RunContext, request: ReviewerRequest, folder: Path) -> Path:
    """Return where the reviewer works: the worktree if it can be kept from writing, else a copy of it."""
    workspace, tree = context.workspace, request.initial_run.base_tree
    if context.agent.abilities.read_only or tree is None:
        return workspace.repo.top
    checkout = folder / _CHECKOUT
    checkout.mkdir()
    seconds = workspace.config.snapshot.timeout_seconds
    home = home_repository(workspace.repo) or workspace.repo
    check_out_whole(home, tree, checkout, timeout_seconds=seconds)
    for name in request.records:
        with suppress(OSError):  # it is gone, or is none of this worktree
            data = load_bytes(workspace.paths.record_of(name))
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes(data)
    return checkout


def classify_answer(
    ended: ProcessResult, parse: Callable[[AgentResult], T], role: Role = REVIEW
) -> tuple[RunOutcome, T | None]:
    """Classify how a reviewer ended. Only an answer that ``parse`` can read counts as one.

    ``parse`` raises ValueError for any other.
    """
    reading = ended.reading
    # Stopped by a limit, a reviewer that had answered was only waiting for its own work.
    has_answered = ended.cause in _LIMITS and reading.succeeded
    if ended.cause is not ExitCause.EXITED and not has_answered:
        words = reading.last_error if ended.cause is ExitCause.IDLE_LIMIT else None
        cut_off = ": ".join(filter(None, (_CUT_OFF[ended.cause].format(role), words)))
        return RunOutcome(RunStatus.FAILED, LIMIT_REASONS[ended.cause], error=cut_off), None
    if reading.refusal is not None and not reading.refusal.is_of_task:
        return RunOutcome(RunStatus.FAILED, TerminalReason.AGENT_UNAVAILABLE, SUPERSEDED_BY_UNAVAILABLE), None
    if reading.error and not reading.worked and reading.refusal is None:
        return RunOutcome(RunStatus.FAILED, TerminalReason.WITHOUT_WORK), None
    has_answer = reading.succeeded or (role.asks and bool(reading.questions))
    if has_answer and not reading.is_cut:
        try:
            return RunOutcome(RunStatus.SUCCESS), parse(reading)
        except ValueError as error:
            return RunOutcome(RunStatus.FAILED, error=str(error)), None
    fault = f"the {role.who}'s answer is too long" if reading.succeeded else None
    if reading.questions:
        asked = reading.questions[0].prompt
        fault = f"the {role.who} asked a question instead of giving a {role.answer}: {asked}"
    return RunOutcome(RunStatus.FAILED, error=fault), None


def closed_reading(
    run: Run, ending: Ending, head_tree: str | None, check: WorkCheck, role: Role = REVIEW
) -> Run:
    """Return the record of an agent that only looks as it is at its end.

    ``head_tree`` is the worktree after it, where it should have written nothing.
    """
    closed = run.ended(ending).updated(head_tree=head_tree or run.base_tree)
    if closed.has_changed_files:
        closed = closed.noting(_worktree_changed(role))
    return check.add_notes_to(closed)


def _worktree_changed(role: Role) -> str:
    return f"the worktree changed during the {role.work}"


def tell_edits(context: RunContext, closed: Run, role: Role = REVIEW) -> None:
    """Say what became of plan and configuration while an agent looked that changes nothing."""
    for note in closed.notes:
        if note != _worktree_changed(role):
            warn(context.ui, note, closed.task_id)
    for change in closed.config_edits:
        warn(context.ui, f"the configuration changed during the {role.work}: {change}", closed.task_id)
    warn_outside(context.ui, closed)


def reviewed_worktree(context: RunContext, task_id: TaskId, since: str | None) -> str | None:
    """Return the tree of the worktree that a reviewer works in, which it is not to change.

    What the tree ``since`` had stays in. None for a reviewer that works elsewhere, and where it cannot be
    known, which is said.
    """
    if not context.agent.abilities.read_only:
        return None
    try:
        return snapshot(context.workspace, since=since).tree
    except SnapshotError as error:
        warn(context.ui, f"what the reviewer of {task_id} changed is not known: {error.message}", task_id)
        return None


def changed_text(task_id: TaskId) -> str:
    """Return the warning that the reviewed files changed meanwhile."""
    return f"the worktree changed while {task_id} was reviewed"
