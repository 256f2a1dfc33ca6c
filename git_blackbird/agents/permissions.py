"""Agents whose programs are told by name which tools they may use: all of them, or only those for files."""

from collections.abc import Mapping
from dataclasses import replace

from git_blackbird.agents.declaration import PermissionConfig
from git_blackbird.agents.failures import ProviderHelp
from git_blackbird.agents.probe import Requirements, find_program, inspect_program, with_args
from git_blackbird.agents.protocol import TMP_FOLDER, ProbeResult, RunRequest
from git_blackbird.messages.outgoing.reviewer_prompts import located
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.run.agent_io import Rights

# What lies in the folder where a program starts may configure it, and so start other programs.
_BESIDE = ("/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "beside")
_POWERS = {
    "all": "do anything you can do yourself, without asking; nothing confines it to the worktree",
    "edit": "read and edit files in the worktree, but run no commands and no tests",
}


class PermittedAgent:
    """What follows from the keys of such an agent; a subclass says how it is started.

    ``needs`` is what its program must support. ``query_environ`` is added to its environment while it is
    only asked about itself.
    """

    name: str
    provider: ProviderHelp
    needs: Requirements
    query_environ: Mapping[str, str]
    reviews: str
    remarks: tuple[str, ...]
    leftover_dirs: tuple[str, ...] = ()

    def __init__(self, settings: PermissionConfig) -> None:
        self._settings = settings
        self._model_args = ("--model", settings.model) if settings.model else ()
        self._powers = with_args(_POWERS[settings.permissions], f"{self.name}.args", settings.args)

    @property
    def model(self) -> str | None:
        """The configured model."""
        return self._settings.model or None

    @property
    def summary(self) -> str:
        """Its permissions."""
        return f"{self.name}, permissions {self._settings.permissions}"

    @property
    def rights(self) -> Rights | None:
        """More than editing, unless it runs no commands and no argument changes that."""
        settings = self._settings
        if settings.permissions == "edit" and not settings.args:
            return None
        calmer = ShellLine(f"git config blackbird.{self.name}.permissions edit")
        return Rights(self._powers, (settings.path, settings.permissions, *settings.args), calmer)

    def probe(self, environ: Mapping[str, str]) -> str:
        """Find the program and return its version. Raises AgentUnavailableError."""
        return find_program(self._settings.path, {**environ, **self.query_environ}, self.provider).version

    def inspect(self, environ: Mapping[str, str]) -> ProbeResult:
        """Find the program, its options and its login."""
        environ = {**environ, **self.query_environ}
        result = inspect_program(self._settings.path, environ, self.provider, self.needs)
        remarks = (*self.remarks, *result.remarks)
        return replace(result, powers=self._powers, reviews=self.reviews, remarks=remarks)

    def _review(self, request: RunRequest) -> tuple[tuple[str, ...], bytes]:
        """Return the beginning of a reviewer's command, which leaves the worktree, and its prompt."""
        prompt = located(request.prompt, request.folder)
        return (*_BESIDE, f"{request.scratch}/{TMP_FOLDER}"), prompt.encode(errors="replace")
