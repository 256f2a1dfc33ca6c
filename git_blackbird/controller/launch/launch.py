"""Starting an agent's process on this machine, or where another launcher starts it."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from git_blackbird.agents.process.gate import Watcher
from git_blackbird.agents.process.launch import spawn_gated
from git_blackbird.agents.protocol import TMP_FOLDER, Agent, Assignment, Launch, Limits
from git_blackbird.agents.registry import DECLARATIONS, child_environ
from git_blackbird.controller.core.agents import probe
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import log_files, log_paths
from git_blackbird.controller.place.worktrees import Opened
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.model.run.parts import LocalProcess, RemoteProcess
from git_blackbird.model.run.run import Run

if TYPE_CHECKING:
    from git_blackbird.agents.process.foreground import Lend

_TERMINAL, _VARIABLE = "{tty}", "{environment}"


class Child(Protocol):
    """An agent that was started and waits for its record to be saved, here or on another machine.

    ``process`` says in the record where it is; it may be another once it has ended.
    """

    @property
    def pid(self) -> int | None:
        """Its process, if that is on this machine."""
        ...

    @property
    def process(self) -> LocalProcess | RemoteProcess: ...

    def open_gate(self) -> None: ...

    def abandon(self) -> None:
        """End it before the agent has begun."""
        ...

    async def follow(self, watcher: Watcher) -> Ended: ...


class Launcher(Protocol):
    """Who starts the processes of agents: this machine, or a cluster."""

    @property
    def is_here(self) -> bool:
        """Whether agents work in the worktrees on this machine."""
        ...

    async def version_of(self, agent: Agent) -> str:
        """Return the version of an agent. Raises AgentUnavailableError where it cannot start."""
        ...

    def start(self, agent: Agent, place: Opened, run: Run, assignment: Assignment, scratch: Path) -> Child:
        """Start an agent at its gate; ``scratch`` is a private folder. Raises AgentUnavailableError."""
        ...

    def is_machine_lost(self, run: Run) -> bool:
        """Whether the machine of a run was lost and is not back."""
        ...


class ThisMachine:
    """Starts agents here; each is probed once."""

    is_here = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._versions: dict[str, str] = {}
        self._one_at_a_time = asyncio.Lock()

    async def version_of(self, agent: Agent) -> str:
        async with self._one_at_a_time:
            if agent.name not in self._versions:
                self._versions[agent.name] = await run_in_thread(partial(probe, self._workspace, agent))
            return self._versions[agent.name]

    def start(self, agent: Agent, place: Opened, run: Run, assignment: Assignment, scratch: Path) -> Child:
        """Start an agent's process at its gate: it must not work before its record is saved."""
        launch = launch_here(agent, place, assignment, scratch)
        return spawn_gated(launch, log_files(place.workspace, *log_paths(place.workspace.paths, run)))

    def is_machine_lost(self, run: Run) -> bool:  # noqa: ARG002  # the same answer for every run
        return False


class AtTerminal(ThisMachine):
    """Opens a session by hand, at the terminal that ``lend`` leaves to a program."""

    def __init__(self, workspace: Workspace, lend: "Lend") -> None:
        super().__init__(workspace)
        self._lend = lend

    def start(self, agent: Agent, place: Opened, run: Run, assignment: Assignment, scratch: Path) -> Child:
        # Few sessions are opened by hand, and not every agent is such a program.
        from git_blackbird.agents.process.foreground import ByHandReader, spawn_in_foreground
        from git_blackbird.agents.program import ProgramAgent

        if not isinstance(agent, ProgramAgent):
            raise AgentUnavailableError(f"{agent_in_text(agent.name)} opens no session by hand")
        launch = agent.launch_by_hand(assignment.session or "")
        launch = launch._replace(reader=ByHandReader(assignment))
        launch = _completed(launch, place, assignment, scratch, ("--tty",))
        return spawn_in_foreground(launch, run.id, self._lend)


def launch_here(agent: Agent, place: Opened, assignment: Assignment, scratch: Path) -> Launch:
    """Return how an agent is started on this machine, with its environment and configuration."""
    launch = agent.launch(assignment, str(place.folder), str(scratch))
    launch = launch._replace(reader=agent.parser(assignment, str(place.folder)))
    return _completed(launch, place, assignment, scratch)


def _completed(
    launch: Launch, place: Opened, assignment: Assignment, scratch: Path, terminal: tuple[str, ...] = ()
) -> Launch:
    """Return a launch with ``execution.wrapper`` in front of its command, where that is set, and all else.

    ``terminal`` are options of the wrapper for one that is opened at a terminal.
    """
    workspace = place.workspace
    environ = child_environ(
        workspace.repo.environ,
        task_id=assignment.task_id,
        run_id=assignment.run_id,
        tmp_dir=scratch / TMP_FOLDER,
        extra={**place.variables, **launch.environ},
    )
    folder = str(place.folder)
    launch = launch._replace(environ=environ, folder=folder, scratch=str(scratch), limits=assignment.limits)
    config = workspace.config.execution
    if not config.wrapper:
        return launch
    names = tuple(sorted(name for name in environ if workspace.repo.environ.get(name) != environ[name]))
    places = {
        **_places(assignment.run_id, assignment.task_id, folder),
        "{git}": str(workspace.repo.common_dir),
        "{scratch}": str(scratch),
        "{session}": _session_folder(assignment.agent, environ) or str(scratch),
    }
    repeated = {_TERMINAL: terminal, _VARIABLE: names}
    words = [word for each in config.wrapper for word in _repeated(each, repeated)]
    return launch._replace(
        argv=(*_filled(words, places), *launch.argv), stop=_filled(config.wrapper_stop, places)
    )


def stop_command(workspace: Workspace, run: Run) -> tuple[str, ...]:
    """Return the command that ends what a wrapper has started for a run; empty if there is none."""
    folder = run.worktree_path or str(workspace.repo.top)
    return _filled(workspace.config.execution.wrapper_stop, _places(run.id, run.task_id, folder))


def silence_texts(workspace: Workspace, ended: Ended) -> Iterator[str]:
    """Yield a remark on an agent that said nothing, if its wrapper may be the reason."""
    wrapper = workspace.config.execution.wrapper
    is_mute = not (ended.stdout_bytes or ended.stderr_bytes)
    is_unheard = not (ended.succeeded or ended.session or ended.worked or ended.refusal)
    if wrapper and ended.cause is ExitCause.EXITED and (is_mute or is_unheard):
        yield f"the agent said nothing: execution.wrapper ({wrapper[0]}) may have ended without starting it"


def limits_of(workspace: Workspace, wall_seconds: float | None = None) -> Limits:
    """Return the time limits of a run, ``wall_seconds`` instead of the configured one."""
    config = workspace.config.execution
    return Limits(
        wall_seconds=wall_seconds or 60.0 * config.timeout_minutes,
        idle_seconds=60.0 * config.idle_minutes,
        grace_seconds=config.stop_grace_seconds,
    )


def _places(run_id: str, task_id: str, folder: str) -> dict[str, str]:
    return {"{run}": run_id, "{task}": task_id, "{worktree}": folder}


def _session_folder(agent: str, environ: Mapping[str, str]) -> str | None:
    declared = DECLARATIONS[agent].sessions
    if declared is None:
        return None
    variable, name = declared
    return environ.get(variable) or str(Path(environ.get("HOME", ""), name))


def _repeated(word: str, texts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a word once for each text that is to stand in it."""
    place = next((place for place in texts if place in word), None)
    yield from (word,) if place is None else (word.replace(place, text) for text in texts[place])


def _filled(words: Sequence[str], places: Mapping[str, str]) -> tuple[str, ...]:
    """Replace placeholders; those within an inserted text stay."""
    pattern = re.compile("|".join(map(re.escape, places)))
    return tuple(pattern.sub(lambda found: places[found[0]], word) for word in words)
