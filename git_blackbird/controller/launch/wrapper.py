"""A command of the user's in front of an agent's own, such as one that runs it in a container."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from git_blackbird.agents.process.outcome import ExitCause, ProcessResult
from git_blackbird.agents.protocol import LaunchSpec, RunRequest
from git_blackbird.agents.registry import declarations
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.run.run import Run

_TERMINAL, _VARIABLE = "{tty}", "{environment}"


def wrapped(
    workspace: Workspace,
    launch: LaunchSpec,
    request: RunRequest,
    agent: str,
    environ: Mapping[str, str],
    terminal: tuple[str, ...] = (),
) -> LaunchSpec:
    """Return a launch with ``execution.wrapper`` in front of its command, where that is set.

    ``environ`` is the environment that the agent of this name starts with, ``terminal`` are options for one
    that is opened at a terminal.
    """
    config = workspace.config.execution
    if not config.wrapper:
        return launch
    given = {**environ, **launch.environ}
    names = tuple(sorted(name for name in given if workspace.repo.environ.get(name) != given[name]))
    places = {
        **_places(request.run_id, request.task_id, request.folder),
        "{git}": str(workspace.repo.common_dir),
        "{scratch}": request.scratch,
        "{session}": _session_folder(agent, given) or request.scratch,
    }
    repeated = {_TERMINAL: terminal, _VARIABLE: names}
    words = [word for each in config.wrapper for word in _repeated(each, repeated)]
    return replace(
        launch,
        argv=(*_filled(words, places), *launch.argv),
        stop=_filled(config.wrapper_stop, places),
    )


def silence_texts(workspace: Workspace, ended: ProcessResult) -> Iterator[str]:
    """Yield a remark on an agent from which nothing came: its wrapper, if it has one, may be why."""
    reading, wrapper = ended.reading, workspace.config.execution.wrapper
    is_mute = not (ended.stdout_bytes or ended.stderr_bytes)
    is_unheard = not (reading.succeeded or reading.session or reading.worked or reading.refusal)
    if wrapper and ended.cause is ExitCause.EXITED and (is_mute or is_unheard):
        yield f"the agent said nothing: execution.wrapper ({wrapper[0]}) may have ended without starting it"


def stop_command(workspace: Workspace, run: Run) -> tuple[str, ...]:
    """Return the command that ends what a wrapper has started for a run; empty if there is none."""
    folder = run.worktree_path or str(workspace.repo.top)
    return _filled(workspace.config.execution.wrapper_stop, _places(run.id, run.task_id, folder))


def _places(run_id: str, task_id: str, folder: str) -> dict[str, str]:
    return {"{run}": run_id, "{task}": task_id, "{worktree}": folder}


def _session_folder(agent: str, environ: Mapping[str, str]) -> str | None:
    """Return the folder where an agent keeps its sessions, if that is known."""
    declared = declarations()[agent].sessions
    if declared is None:
        return None
    variable, name = declared
    return environ.get(variable) or str(Path(environ.get("HOME", ""), name))


def _repeated(word: str, texts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a word once for each text that is to stand in it."""
    place = next((place for place in texts if place in word), None)
    yield from (word,) if place is None else (word.replace(place, text) for text in texts[place])


def _filled(words: Sequence[str], places: Mapping[str, str]) -> tuple[str, ...]:
    """Put texts in their places, none of which is looked for in another text."""
    pattern = re.compile("|".join(map(re.escape, places)))
    return tuple(pattern.sub(lambda found: places[found[0]], word) for word in words)
