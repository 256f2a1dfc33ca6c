"""The context of each run of a call, made once its agent is known to start."""

import hashlib
import json

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.core.agents import (
    chosen_agent,
    find_agent_for_run,
    probe,
    require_session_name,
    reviewer_of,
)
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.agent_process import RunContext
from git_blackbird.controller.runs.instructions import Instruction
from git_blackbird.errors import InterruptedByUserError
from git_blackbird.messages.display.events import render_rights
from git_blackbird.model.entities.agent_io import RightsQuestion
from git_blackbird.model.entities.findings import Source
from git_blackbird.storage.notes import AgreementKind, load_agreements, save_agreement


class RunContexts:
    """Contexts of one call: each agent is probed once, each path left out of snapshots is named once."""

    def __init__(self, workspace: Workspace, ui: UserInterface) -> None:
        self._workspace = workspace
        self._ui = ui
        self._versions: dict[str, str] = {}
        self._left_out: set[str] = set()

    def of(self, agent: Agent) -> RunContext:
        """Return the context of a run by this agent. Raises AgentUnavailableError where it cannot start."""
        if agent.name not in self._versions:
            self._versions[agent.name] = probe(self._workspace, agent)
        return RunContext(
            self._workspace,
            agent,
            self._versions[agent.name],
            self._ui,
            self._workspace.config.execution.stop_after_each_task,
            self._left_out,
        )

    def of_new_run(self) -> RunContext:
        """Return the context of a run in a new session. Raises AgentUnavailableError."""
        return self.of(chosen_agent(self._workspace))

    def of_instruction(self, instruction: Instruction) -> RunContext:
        """Return the context of the run that an instruction starts or resumes.

        Raises AgentUnavailableError, and RequestError where there is no such agent.
        """
        if instruction.resumes is None:
            return self.of_new_run()
        agent = find_agent_for_run(self._workspace, instruction.resumes)
        require_session_name(agent, instruction.resumes)
        return self.of(agent)

    def of_reviewers(self) -> dict[Source, RunContext]:
        """Return the contexts of both reviews of a change. Raises AgentUnavailableError, RequestError."""
        return {source: self.of(reviewer_of(self._workspace, source)) for source in Source}


_CALMER = {
    "claude": "git config blackbird.claude.permissionMode acceptEdits",
    "codex": "git config blackbird.codex.sandbox workspace-write",
}


class NotAgreedError(InterruptedByUserError):
    """A person refused the start of an agent; nothing was started."""


class Consent:
    """Ask at most once for each agent, its rights, and whether the call stops after each task."""

    def __init__(self, workspace: Workspace, ui: UserInterface) -> None:
        self._workspace = workspace
        self._ui = ui

    async def require(self, agent: Agent, *, as_reviewer: bool = False) -> None:
        """Return once the agent may start.

        Where nobody can be asked, its rights are shown instead, the first time. Raises NotAgreedError.
        """
        question = self._question(agent, as_reviewer=as_reviewer)
        if question is None or self._is_agreed(question):
            return
        answer = await self._ui.agree(question)
        if answer is None:
            self._warn(question)
        elif answer:
            save_agreement(self._workspace.paths, AgreementKind.AGREED, _digest(question))
        else:
            raise NotAgreedError(f"{agent.name} was not started", hint=_CALMER.get(agent.name))

    def _question(self, agent: Agent, *, as_reviewer: bool) -> RightsQuestion | None:
        rights = None if as_reviewer and agent.abilities.read_only else agent.rights
        stops = self._workspace.config.execution.stop_after_each_task
        return None if rights is None else RightsQuestion(agent.name, rights, stops)

    def _is_agreed(self, question: RightsQuestion) -> bool:
        """Whether a person agreed to this, or to the same without a stop after each task."""
        agreed = load_agreements(self._workspace.paths, AgreementKind.AGREED)
        return bool(agreed & {_digest(question), _digest(question._replace(stops_after_each=False))})

    def _warn(self, question: RightsQuestion) -> None:
        paths, digest = self._workspace.paths, _digest(question)
        if digest in load_agreements(paths, AgreementKind.TOLD):
            return
        warn(self._ui, " ".join(render_rights(question)))
        save_agreement(paths, AgreementKind.TOLD, digest)


def _digest(question: RightsQuestion) -> str:
    """Digest the question: an agent command may hold secrets, so it is not stored."""
    asked = [question.agent, question.rights.terms, question.stops_after_each]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
