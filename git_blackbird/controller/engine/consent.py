"""Ask once before an agent starts that may do more than edit the worktree (DESIGN.md 6)."""

import hashlib
import json

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import InterruptedByUserError
from git_blackbird.messages.display.events import render_rights_line
from git_blackbird.model.entities.agent_io import RightsQuestion
from git_blackbird.model.views.events import Level, Notice
from git_blackbird.storage.notes import Answer, load_agreements, save_agreement

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
            save_agreement(self._workspace.paths, Answer.AGREED, _digest(question))
        else:
            raise NotAgreedError(f"{agent.name} was not started", hint=_CALMER.get(agent.name))

    def _question(self, agent: Agent, *, as_reviewer: bool) -> RightsQuestion | None:
        rights = None if as_reviewer and agent.abilities.read_only else agent.rights
        stops = self._workspace.settings.flag("execution.stopAfterEachTask")
        return None if rights is None else RightsQuestion(agent.name, rights, stops)

    def _is_agreed(self, question: RightsQuestion) -> bool:
        """Whether a person agreed to this, or to the same without a stop after each task."""
        agreed = load_agreements(self._workspace.paths, Answer.AGREED)
        return bool(agreed & {_digest(question), _digest(question._replace(stops_after_each=False))})

    def _warn(self, question: RightsQuestion) -> None:
        paths, digest = self._workspace.paths, _digest(question)
        if digest in load_agreements(paths, Answer.TOLD):
            return
        self._ui.notify(Notice(Level.WARNING, render_rights_line(question)))
        save_agreement(paths, Answer.TOLD, digest)


def _digest(question: RightsQuestion) -> str:
    """Digest the question: an agent command may hold secrets, so it is not stored."""
    asked = [question.agent, question.rights.terms, question.stops_after_each]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()
