"""Agents whose programs are told by name which tools they may use: all of them, or only those for files."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace

from git_blackbird.agents.declaration import PermissionConfig
from git_blackbird.agents.program import ProgramAgent
from git_blackbird.agents.protocol import TMP_FOLDER, LaunchSpec, RunRequest
from git_blackbird.messages.outgoing.reviewer_prompts import located

# What lies in the folder where a program starts may configure it, and so start other programs.
_BESIDE = ("/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "beside")


class PermittedAgent(ProgramAgent[PermissionConfig]):
    """An agent that may use all of its program's tools, or those for files."""

    mode_key = "permissions"
    powers: Mapping[str, str] = {
        "all": "do anything you can do yourself, without asking; nothing confines it to the worktree",
        "edit": "read and edit files in the worktree, but run no commands and no tests",
    }
    confining = frozenset({"edit"})
    calmer = "edit"

    def launch(self, request: RunRequest) -> LaunchSpec:
        """Return the launch with all options: a resume remembers only the session."""
        if not request.read_only:
            launch = self._start(request)
            return replace(launch, argv=(*launch.argv, *self._settings.args))
        launch = self._start(replace(request, prompt=located(request.prompt, request.folder)))
        return replace(launch, argv=(*_BESIDE, f"{request.scratch}/{TMP_FOLDER}", *launch.argv))

    @abstractmethod
    def _start(self, request: RunRequest) -> LaunchSpec:
        """Return the launch without the user's arguments; a reviewer does not start in the worktree."""
