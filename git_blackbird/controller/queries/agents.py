"""The state of every agent, found by starting its program, without asking a model."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from git_blackbird.agents.protocol import Capabilities, ProbeResult
from git_blackbird.agents.registry import load_agent
from git_blackbird.controller.core.agents import (
    WrapperMissingError,
    require_wrapper,
    reviewer_config,
    reviewer_of,
    takes_model,
)
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.model.config.layers import AGENT_NAMES
from git_blackbird.model.config.settings import Setting
from git_blackbird.model.run.findings import Source


@dataclass(frozen=True)
class Reviewer:
    """One of the two reviewers of a change; ``choice`` is the setting that chose it."""

    source: Source
    agent: str
    choice: Setting
    model: str | None
    read_only: bool


@dataclass(frozen=True)
class AgentView:
    """One agent: its state, its capabilities, and its configuration keys.

    ``reviews`` are those of changes that it makes as configured.
    """

    name: str
    is_chosen: bool
    abilities: Capabilities
    inspection: ProbeResult
    settings: tuple[Setting, ...]
    reviews: tuple[Reviewer, ...]

    @property
    def can_start(self) -> bool:
        return self.inspection.blocked_reason is None

    @property
    def enforced(self) -> tuple[str, ...]:
        """What its program was found to enforce in reviews."""
        held = {"read-only": self.abilities.read_only, "schema": self.abilities.schema}
        is_held = self.can_start and self.inspection.holds_reviews
        return tuple(name for name, holds in held.items() if holds and is_held)


@dataclass(frozen=True)
class AgentList:
    """Every agent; ``choice`` is the setting that chooses the one for new runs."""

    agents: tuple[AgentView, ...]
    choice: Setting
    reviewers: tuple[Reviewer, ...]


def view_agents(workspace: Workspace) -> AgentList:
    """Look at every agent, all at the same time: each starts programs and waits for them."""
    with ThreadPoolExecutor(max_workers=len(AGENT_NAMES)) as pool:
        views = tuple(pool.map(lambda name: _view(workspace, name), AGENT_NAMES))
    return AgentList(views, workspace.settings.applied["agent"], reviewers(workspace))


def reviewers(workspace: Workspace) -> tuple[Reviewer, ...]:
    """Return the reviewers of changes, spec before code; none if reviews are off.

    Raises RequestError when there is no agent of a configured name.
    """
    if not workspace.reviews_changes:
        return ()
    found, applied = [], workspace.settings.applied
    for source in Source:
        choice, agent = applied[f"reviews.{source}.agent"], reviewer_of(workspace, source)
        model = reviewer_config(workspace.config, source).model if takes_model(agent.name) else None
        choice = applied["agent"] if choice.value is None else choice
        found.append(Reviewer(source, agent.name, choice, model, agent.abilities.read_only))
    return tuple(found)


def view_agent(workspace: Workspace, name: str) -> AgentView:
    """Look at one agent. Raises RequestError naming the nearest when there is none of that name."""
    if name not in AGENT_NAMES:
        from difflib import get_close_matches  # only a misspelt name pays for it

        close = get_close_matches(name.lower(), AGENT_NAMES, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"agents: {', '.join(AGENT_NAMES)}"
        raise RequestError(f"there is no agent '{name}'", hint=hint)
    return _view(workspace, name)


def _view(workspace: Workspace, name: str) -> AgentView:
    agent = load_agent(name, workspace.config)
    found = agent.inspect(workspace.environment.environ)
    try:
        # It stands in front of its program.
        require_wrapper(workspace)
    except WrapperMissingError as error:
        if found.blocked_reason is None:
            found = found._replace(blocked_reason=error.message, hint=error.hint)
    return AgentView(
        name=name,
        is_chosen=workspace.settings.applied["agent"].value == name,
        abilities=agent.abilities,
        inspection=found,
        settings=tuple(
            setting for key, setting in workspace.settings.applied.items() if key.startswith(f"{name}.")
        ),
        reviews=tuple(one for one in reviewers(workspace) if one.agent == name),
    )
