"""One run on a worker: its clone and worktree, the agent, and its files and result sent home."""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from git_blackbird.agents.process.gate import Watcher
from git_blackbird.agents.process.launch import spawn_gated
from git_blackbird.agents.process.logs import read_saved
from git_blackbird.agents.process.reaper import Reaper
from git_blackbird.agents.registry import load_agent
from git_blackbird.cluster.orders import (
    FencedError,
    RunEnd,
    RunOrder,
    RunRefs,
    claim,
    write_step,
)
from git_blackbird.cluster.unsent import UnsentRun, end_commit, logs_of, send_end, unsent_run_file
from git_blackbird.controller.change.work.worktree_setup import SetUp, SetupError, set_up_worktree
from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.launch.launch import launch_here
from git_blackbird.controller.launch.run_files import scratch_dir
from git_blackbird.controller.place.slots import Slots
from git_blackbird.controller.place.snapshots import limits_of, snapshot
from git_blackbird.controller.place.worktrees import Opened
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import Repository, init_repository, without_git_env
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.submodules.edits import require_no_repository
from git_blackbird.git.worktree.base_commits import move_base
from git_blackbird.git.worktree.folders import remove_tree
from git_blackbird.git.worktree.linked import (
    add_task_worktree,
    begin_checkout,
    end_checkout,
    find_task_worktree,
    is_checkout_incomplete,
    remove_worktree,
)
from git_blackbird.git.worktree.log import commit_parts
from git_blackbird.git.worktree.remote_refs import fetch
from git_blackbird.git.worktree.saved_trees import keep_commit
from git_blackbird.git.writing.write_back import WriteBackError, take_signatures, write_all_paths
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.model.views.events import Event

T = TypeVar("T")
_RETRY_SECONDS = 5.0
_SELF = "blackbird-worker"


@dataclass
class RunState:
    """A run at work on this worker, and its means to stop."""

    order: RunOrder
    hurry: asyncio.Event
    publish: Callable[[str, bytes], None]
    follow: "asyncio.Task[Ended] | None" = None
    is_stopped: bool = False

    @property
    def id(self) -> str:
        return self.order.assignment.run_id

    async def ended(self, follow: Coroutine[Any, Any, Ended]) -> Ended:
        """Follow its agent to its end; one that was stopped before is stopped at once."""
        self.follow = asyncio.ensure_future(follow)
        if self.is_stopped:
            self.follow.cancel()
        return await self.follow

    def stop(self) -> None:
        self.is_stopped = True
        if self.follow is not None:
            self.follow.cancel()

    def kill(self) -> None:
        self.hurry.set()
        self.stop()


@dataclass(frozen=True)
class RunPlace:
    """Where a worker makes runs: ``folder`` has a clone for each remote, and worktrees beside it."""

    environment: Environment
    folder: Path
    worker: str
    slots: dict[Path, Slots]
    reaper: Reaper
    # Two runs that begin at the same time share a clone.
    cloning: threading.Lock = field(default_factory=threading.Lock)

    def clone(self, remote: str, settings: Iterable[tuple[str, Any]]) -> Workspace:
        """Return the clone of a remote, made if need be, with these settings above those of this machine.

        Raises BlackbirdError.
        """
        place = self.folder / hashlib.sha256(remote.encode()).hexdigest()[:12] / "clone"
        environ = without_git_env(self.environment.environ)
        with self.cloning:
            if not place.is_dir():
                # It gets its name once it is whole: a worker that is killed before makes it anew.
                new = place.with_name("clone.new")
                remove_tree(new)
                new.mkdir(mode=0o700, parents=True)
                init_repository(new, environ, {"user.name": _SELF, "user.email": f"{_SELF}@localhost"})
                new.rename(place)
        given = [RawSetting(name, raw, Layer.FLAG, "the home") for name, raw in settings]
        return open_workspace(self.environment._replace(cwd=place), given, no_input=True)


class _Notes(UserInterface):
    """Sends the notices home while a worktree is prepared."""

    wants_output = is_on_terminal = shows_checkpoints = False

    def __init__(self, publish: Callable[[str, bytes], None]) -> None:
        self._publish = publish

    def notify(self, event: Event) -> None:
        text = getattr(event, "text", None)
        if text:
            self._publish("note", str(text).encode(errors="replace"))


async def make_run(place: RunPlace, state: RunState) -> None:
    """Make a run, and push its end to the remote. Raises FencedError, BlackbirdError."""
    order, refs = state.order, RunRefs.of(state.id)
    workspace = await run_in_thread(lambda: place.clone(order.remote, order.settings))
    await run_in_thread(lambda: fetch(workspace.repo, order.remote, [refs.base]))
    fence = await _retry_until_sent(state, lambda: claim(workspace, order.remote, state.id, place.worker))
    state.publish("started", place.worker.encode())
    kept = UnsentRun(unsent_run_file(workspace, state.id), order, fence)
    kept.save()
    try:
        linked = await run_in_thread(lambda: _prepare(workspace, order))
        end = await _run_agent(place, workspace.in_worktree(linked), state)
    except SetupError as error:
        end = RunEnd(place.worker, None, error.message, is_set_up=False)
    except BlackbirdError as error:
        end = RunEnd(place.worker, None, error.message, hint=error.hint)
    kept.end = await run_in_thread(lambda: end_commit(workspace, order, end))
    kept.save()
    await _retry_until_sent(state, lambda: send_end(workspace, kept))
    kept.file.unlink()
    state.publish("ended", kept.end.encode())


def send_unsent_runs(place: RunPlace) -> Iterator[str]:
    """Send home the runs of a killed worker and those it could not send; return a line for each.

    The files are sent as the agents left them.
    """
    for file in sorted(place.folder.glob("*/runs/*.json")):
        try:
            kept = UnsentRun.load(file)
            workspace = place.clone(kept.order.remote, kept.order.settings)
            if kept.end is None:
                # Its agent was killed with the worker.
                assignment = kept.order.assignment
                reader = load_agent(assignment.agent, workspace.config).parser(assignment)
                reading = read_saved(reader, logs_of(workspace, kept.order), None)
                end = RunEnd(place.worker, reading._replace(cause=ExitCause.WORKER_LOST))
                kept.end = end_commit(workspace, kept.order, end)
                kept.save()
            send_end(workspace, kept)
            yield f"sent home what is left of run {kept.order.assignment.run_id}"
        except FencedError as error:
            keep_commit(workspace.repo, kept.order.assignment.run_id, kept.end or "")
            yield f"{error.message}; what it left is kept in {workspace.repo.top}"
        except (BlackbirdError, OSError, ValueError) as error:
            yield f"{file} stays: {error}"
            continue
        file.unlink()


async def _retry_until_sent(state: RunState, send: Callable[[], T]) -> T:
    """Push again until it succeeds: the remote may be unreachable. Raises FencedError."""
    said = ""
    while True:
        try:
            return await run_in_thread(send)
        except GitError as error:
            if (reason := fault_of_remote(error)) != said:
                state.publish("note", reason.encode())
            said = reason
            await asyncio.sleep(_RETRY_SECONDS)


def fault_of_remote(error: GitError) -> str:
    """Describe what is wrong with a remote, in the same words for the same fault."""
    what = "refuses what this run sends" if b"rejected]" in error.stderr else "does not answer"
    # The text that git adds to the remote's own names another commit each time.
    return f"the remote {what}, trying again: {error.message.partition('; To ')[0]}"


def _prepare(workspace: Workspace, order: RunOrder) -> Repository:
    """Bring the task's worktree to the files that the agent is to find. Raises BlackbirdError."""
    repo, task_id = workspace.repo, TaskId(order.assignment.task_id)
    folder = workspace.paths.state_root.parent / "worktrees" / task_id
    tree, parents = commit_parts(repo, order.base)
    found = find_task_worktree(repo, task_id)
    linked = None if found is None else found.repo
    # Files of an earlier run are on the remote; no other run works there.
    if linked is not None and (is_checkout_incomplete(linked) or not _try_update_to(workspace, linked, tree)):
        require_no_repository(linked, limits_of(workspace))
        remove_worktree(repo, linked)
        linked = None
    if linked is None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        linked = add_task_worktree(repo, task_id, folder)
        begin_checkout(linked, order.base)
        end_checkout(linked)
    move_base(linked, parents[0] if parents else order.base, ())
    return linked


def _try_update_to(workspace: Workspace, linked: Repository, tree: str) -> bool:
    """Write a tree into a worktree; return False if something, such as an ignored file, is in the way."""
    now = snapshot(workspace.in_worktree(linked)).tree
    expected = take_signatures(linked, TreeStore(linked).changed_paths(now, tree))
    try:
        seconds = float(workspace.config.snapshot.timeout_seconds)
        write_all_paths(linked, now, tree, expected, timeout_seconds=seconds)
    except WriteBackError:
        return False
    return True


async def _run_agent(place: RunPlace, workspace: Workspace, state: RunState) -> RunEnd:
    """Set the worktree up, run the agent by the same code as at home, and return how it ended."""
    order, linked = state.order, workspace.repo
    home = replace(workspace, repo=workspace.home)
    slots = place.slots.setdefault(home.repo.top, Slots(home))
    assignment, paths = order.assignment, workspace.paths
    task_id = TaskId(assignment.task_id)
    with slots.take(linked) as slot:
        setup = SetUp(
            home,
            _Notes(state.publish),
            task_id,
            f"the worktree of {task_id} on {place.worker}",
            linked.top,
            paths.setup_log(task_id),
            slot,
            is_stopped=lambda: state.is_stopped,
            hurry=state.hurry,
        )
        if state.is_stopped or not await set_up_worktree(setup, linked):
            raise RequestError("it was stopped before its agent started")
        with scratch_dir(paths, RunId(f"{assignment.run_id}-there")) as scratch:
            opened = Opened(workspace, variables=slot.variables)
            agent = load_agent(assignment.agent, workspace.config)
            launch = launch_here(agent, opened, assignment, scratch)
            child = spawn_gated(launch, logs_of(workspace, order))
            with place.reaper.guarding(child.pid, child.identity, assignment.run_id, launch.stop):
                child.open_gate()
                return RunEnd(place.worker, await state.ended(child.follow(_Sender(state))))


class _Sender(Watcher):
    wants_output = True

    def __init__(self, state: RunState) -> None:
        super().__init__(state.hurry)
        self._publish = state.publish

    def see_step(self, step: Progress) -> None:
        self._publish("step", write_step(step))

    def see_output(self, data: bytes, stream: str, skipped: int) -> None:  # noqa: ARG002  # the end has all output
        self._publish(stream, data)
