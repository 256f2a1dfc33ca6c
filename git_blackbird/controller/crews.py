"""Putting together who takes part in each run of a call, once it is known that the agent can start."""

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.agents import agent_of, chosen_agent, probe, require_session_name, reviewer_of
from git_blackbird.controller.conduct import Crew
from git_blackbird.controller.face import Face
from git_blackbird.controller.orders import Order
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.findings import Source


class Crews:
    """The crews of one call: each agent is checked once, each path left out of snapshots is named once."""

    def __init__(self, workspace: Workspace, face: Face) -> None:
        self._workspace = workspace
        self._face = face
        self._versions: dict[str, str] = {}
        self._left_out: set[str] = set()

    def of(self, agent: Agent) -> Crew:
        """Return the crew of a run by this agent. Raises AgentUnavailableError where it cannot start."""
        if agent.name not in self._versions:
            self._versions[agent.name] = probe(self._workspace, agent)
        return Crew(
            self._workspace,
            agent,
            self._versions[agent.name],
            self._face,
            self._workspace.settings.flag("execution.stopAfterEachTask"),
            self._left_out,
        )

    def of_new_run(self) -> Crew:
        """Return the crew of a run in a new session. Raises AgentUnavailableError."""
        return self.of(chosen_agent(self._workspace))

    def of_order(self, order: Order) -> Crew:
        """Return the crew that carries out an order, in its session if it has one.

        Raises AgentUnavailableError, and RequestError where there is no such agent.
        """
        if order.resumes is None:
            return self.of_new_run()
        agent = agent_of(self._workspace, order.resumes)
        require_session_name(agent, order.resumes)
        return self.of(agent)

    def of_reviewers(self) -> dict[Source, Crew]:
        """Return the crews of both reviews of a change. Raises AgentUnavailableError, RequestError."""
        return {source: self.of(reviewer_of(self._workspace, source)) for source in Source}
