"""Sending a reviewer to look at work: it is to write nothing, and keeps no session (DESIGN.md 7 and 8)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from git_blackbird.agents.protocol import Assignment, JsonObject
from git_blackbird.agents.runner import EndCause, Ended
from git_blackbird.controller.blocking import run_in_thread
from git_blackbird.controller.closing import LIMIT_REASONS, Outcome
from git_blackbird.controller.conduct import Crew, Post, begin_recorded, follow_agent, hold_agent
from git_blackbird.controller.snapshots import snapshot
from git_blackbird.controller.work_folders import work_folder
from git_blackbird.git.checkout import checkout_tree
from git_blackbird.git.refs import save_run_ref
from git_blackbird.git.snapshot import SnapshotError
from git_blackbird.model.commands import task_command
from git_blackbird.model.conversation import Reading
from git_blackbird.model.events import Notice, RunStarted, Weight
from git_blackbird.model.run import (
    OVERTAKEN_BY_UNAVAILABLE,
    Run,
    RunStatus,
    TerminalReason,
)
from git_blackbird.storage.reading import load_inside

T = TypeVar("T")

_CHECKOUT = "review"
_CUT_OFF = {
    EndCause.WALL_LIMIT: "the review took too long",
    EndCause.IDLE_LIMIT: "the reviewer said nothing for too long",
    EndCause.INTERRUPTED: "the review was interrupted",
}


@dataclass(frozen=True)
class Errand:
    """What a reviewer is sent for: its record as it begins, and what it is told.

    ``records`` are files of the state folder that it is told of, for one that works in a copy.
    """

    opening: Run
    title: str
    prompt: str
    schema: JsonObject | None = None
    records: tuple[str, ...] = ()
    wall_seconds: float | None = None


async def send_reviewer(
    crew: Crew, errand: Errand, save: Callable[[Run], None], hurry: asyncio.Event
) -> tuple[Run, Ended]:
    """Let a reviewer work from the gate to its end; ``save`` keeps its record before it begins.

    Cancelling it stops the reviewer, and gives its end all the same. Raises what ``save`` does, SaveError,
    AgentUnavailableError or UnusableError with nothing left running.
    """
    with work_folder(crew.workspace.layout, errand.opening.id) as folder:
        cwd = await run_in_thread(lambda: _place(crew, errand, folder))
        post = Post(cwd, folder)
        assignment = _assign(errand, post)
        child = hold_agent(crew, assignment, post)
        run = errand.opening.with_fields(pid=child.pid, process_identity=child.identity)
        started = RunStarted(run.task_id, errand.title, run.id, run.provider, None, child.pid, run.run_type)
        begin_recorded(child, lambda: save(run), lambda: crew.face.notify(started))
        ended = await follow_agent(crew, assignment, child, hurry, wall_seconds=errand.wall_seconds)
        return run, _without_place(ended, cwd)


def _without_place(ended: Ended, cwd: Path) -> Ended:
    """Name files as they are named in the worktree, wherever the reviewer looked at them."""
    text = ended.reading.final_text.replace(f"{cwd}/", "")
    return replace(ended, reading=replace(ended.reading, final_text=text))


def _assign(errand: Errand, post: Post) -> Assignment:
    return Assignment(
        task_id=errand.opening.task_id,
        run_id=errand.opening.id,
        session=None,
        prompt=errand.prompt,
        context=errand.opening.context,
        folder=str(post.cwd),
        schema=errand.schema,
        read_only=True,
        scratch=str(post.folder),
    )


def _place(crew: Crew, errand: Errand, folder: Path) -> Path:
    """Give where the reviewer works: the worktree if it can be kept from writing, else a copy of it."""
    workspace, tree = crew.workspace, errand.opening.base_tree
    if crew.agent.abilities.read_only or tree is None:
        return workspace.repo.top
    checkout = folder / _CHECKOUT
    checkout.mkdir()
    seconds = workspace.settings.number("snapshot.timeoutSeconds")
    checkout_tree(workspace.repo, tree, checkout, timeout_seconds=seconds)
    for name in errand.records:
        with suppress(OSError):  # it is gone, or is none of this worktree
            data = load_inside(workspace.layout.state_root, workspace.layout.state_root / name)
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes(data)
    return checkout


def judge_answer(ended: Ended, parse: Callable[[str], T]) -> tuple[Outcome, T | None]:
    """Say what a reviewer's end means. Only an answer that ``parse`` can read is one; nothing else passes.

    ``parse`` raises ValueError for any other.
    """
    reading = ended.reading
    if ended.cause is not EndCause.EXITED:
        return Outcome(RunStatus.FAILED, LIMIT_REASONS[ended.cause], error=_CUT_OFF[ended.cause]), None
    if reading.refusal is not None:
        return Outcome(RunStatus.FAILED, TerminalReason.AGENT_UNAVAILABLE, OVERTAKEN_BY_UNAVAILABLE), None
    if not reading.succeeded or reading.is_cut:
        return Outcome(RunStatus.FAILED, error=_why_no_answer(reading)), None
    try:
        return Outcome(RunStatus.SUCCESS), parse(reading.final_text)
    except ValueError as error:
        return Outcome(RunStatus.FAILED, error=str(error)), None


def _why_no_answer(reading: Reading) -> str | None:
    """Say why there is no answer to be read, where the end of the agent does not say it."""
    if reading.questions:
        return f"the reviewer asked instead of judging: {reading.questions[0].prompt}"
    return "the reviewer's answer is too long to be read whole" if reading.succeeded else None


def look_again(crew: Crew, run: Run) -> str | None:
    """Give the tree that the worktree is after a review in it, and say so where it changed.

    None for a reviewer that worked elsewhere, and where it cannot be known.
    """
    if not crew.agent.abilities.read_only:
        return None
    try:
        tree = snapshot(crew.workspace, since=run.base_tree).tree
    except SnapshotError as error:
        text = f"what the reviewer of {run.task_id} changed is not known: {error.message}"
        crew.face.notify(Notice(Weight.WARNING, text, task_id=run.task_id))
        return None
    if tree != run.base_tree:
        save_run_ref(crew.workspace.repo, run.id, run.base_tree or tree, tree)
        text = f"the worktree changed while {run.task_id} was reviewed"
        hint = task_command("runs", run.task_id, f" {run.id} --diff")
        crew.face.notify(Notice(Weight.WARNING, text, hint, run.task_id))
    return tree
