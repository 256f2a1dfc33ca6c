"""The context of each run of a call, made once its agent is known to start."""

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.core.agents import (
    chosen_agent,
    find_agent_for_run,
    probe,
    require_session_name,
    reviewer_of,
)
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.agent_process import RunContext
from git_blackbird.controller.runs.instructions import Instruction
from git_blackbird.model.entities.findings import Source


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
            self._workspace.settings.flag("execution.stopAfterEachTask"),
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
