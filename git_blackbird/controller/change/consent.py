"""A person's consent to agents that may do more than edit the worktree."""

import asyncio
import hashlib
import json

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.change.stops import NotAgreedError
from git_blackbird.controller.core.notify import Prompter
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.dialogue import confirm_rights
from git_blackbird.messages.display.events import rights_lines
from git_blackbird.messages.document import plain
from git_blackbird.model.run.agent_io import RightsQuestion, agent_in_text
from git_blackbird.storage.notes import AgreementKind, load_agreements, save_agreement


def _digest(question: RightsQuestion) -> str:
    """Digest the question: an agent command may hold secrets, so it is not stored."""
    asked = [question.agent, question.rights.terms, question.stops_after_each]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


class Consent:
    """The consent to the agents of one call. Where several start at once, the first answer is for all."""

    def __init__(self, workspace: Workspace, ui: UserInterface, prompter: Prompter) -> None:
        self._workspace = workspace
        self._ui = ui
        self._prompter = prompter
        self._lock = asyncio.Lock()
        self._settled: set[RightsQuestion] = set()

    async def require(self, agent: Agent) -> None:
        """Return once the agent may start with its rights, and with a stop after each task or without.

        Where nobody can be asked, its rights are shown instead, the first time. Raises NotAgreedError.
        """
        if agent.rights is None:
            return
        paths, stops = self._workspace.paths, self._workspace.config.execution.stop_after_each_task
        question = RightsQuestion(agent.name, agent.rights, stops)
        async with self._lock:
            if question in self._settled:
                return
            agreed = load_agreements(paths, AgreementKind.AGREED)
            # Also who agreed to it without a stop after each task.
            if not agreed & {_digest(question), _digest(question._replace(stops_after_each=False))}:
                answer = await self._prompter.agree(confirm_rights(question))
                if answer is True:
                    save_agreement(paths, AgreementKind.AGREED, _digest(question))
                elif answer is not None:
                    text = f"{agent_in_text(question.agent)} was not started"
                    raise NotAgreedError(text, hint=question.rights.calmer)
                elif _digest(question) not in load_agreements(paths, AgreementKind.TOLD):
                    warn(self._ui, " ".join(plain(rights_lines(question))))
                    save_agreement(paths, AgreementKind.TOLD, _digest(question))
            self._settled.add(question)
