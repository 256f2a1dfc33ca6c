"""Which agent runs, and with which settings."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import assert_never

from git_blackbird.agents.protocol import Agent
from git_blackbird.agents.registry import load_agent
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import AgentUnavailableError, RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import (
    ANOTHER_AGENT,
    EXECUTE,
    ShellLine,
    TaskCommand,
    restart_command,
)
from git_blackbird.model.base.system import is_program_missing
from git_blackbird.model.change.stages import AgentOf
from git_blackbird.model.config.config import KEYS, Config, ReviewerConfig, with_value
from git_blackbird.model.config.layers import AGENT_NAMES, Layer
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.limits import AgentModel
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.reviews import TYPES
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.agent_io import agent_in_text
from git_blackbird.model.run.findings import Source
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType

SOURCES = {run_type: Source(source) for source, run_type in TYPES.items()}
"""The two reviews of a change, by the type of their runs."""

_NO_REVIEW = ShellLine("git config blackbird.execution.parentReviewEnabled false", "no parent is reviewed")


_OF_THE_CALL = frozenset({Layer.FLAG, Layer.ENVIRONMENT})


def chosen_agent(workspace: Workspace) -> Agent:
    """Return the agent that new runs start with, unless their task names another."""
    return load_agent(workspace.config.agent, workspace.config)


def agent_name_for(workspace: Workspace, task: Task | None) -> str:
    """Return the name of the agent that a task starts with: its own, unless the call names one.

    A task that names no agent may get a stand-in.
    """
    is_told = workspace.settings.applied["agent"].layer in _OF_THE_CALL
    own = None if task is None or is_told else task.agent
    name = own or workspace.config.agent
    if own is None and workspace.stand_ins:
        usual = model_of(load_agent(name, _config_for(workspace, task, name)))
        return workspace.stand_ins.get(usual, name)
    return name


def agent_for(workspace: Workspace, task: Task) -> Agent:
    """Return the agent that a task starts with. Raises RequestError for an unknown name."""
    name = agent_name_for(workspace, task)
    return load_agent(name, _config_for(workspace, task, name))


def _config_for(workspace: Workspace, task: Task | None, name: str) -> Config:
    """Return the configuration with a task's model, where that is one for the agent ``name``."""
    if task is None or task.model is None or not takes_model(name):
        return workspace.config
    is_for_it = name == (task.agent or workspace.config.agent)
    return with_value(workspace.config, (name, "model"), task.model) if is_for_it else workspace.config


def tasks_of_agents(workspace: Workspace, plan: Plan, models: Collection[AgentModel]) -> frozenset[TaskId]:
    """Return the unfinished leaves that start with one of these agents and models."""
    starts = starting_agents(workspace, plan.unfinished_leaves())
    return frozenset(task_id for task_id, agent in starts.items() if agent in models)


def starting_agents(workspace: Workspace, leaves: Iterable[Task]) -> Mapping[TaskId, AgentModel]:
    """Return the agents that leaves start with, and their models, where there are such agents."""
    known: dict[tuple[str | None, str | None], AgentModel | None] = {}
    found: dict[TaskId, AgentModel] = {}
    for leaf in leaves:
        named = leaf.agent, leaf.model
        if named not in known:
            known[named] = None
            with suppress(RequestError):  # its start says so
                known[named] = model_of(agent_for(workspace, leaf))
        if (agent := known[named]) is not None:
            found[leaf.id] = agent
    return found


def model_of(agent: Agent) -> AgentModel:
    """Return the agent with its model; refusals are counted for the pair."""
    return AgentModel(agent.name, agent.model)


def models_of(workspace: Workspace, item: Item) -> frozenset[AgentModel]:
    """Return the agents that an item starts, with their models, as far as known."""
    match item.due.agent:
        case AgentOf.TASK:
            find = [partial(agent_for, workspace, item.task)]
        case AgentOf.CALL:
            find = [partial(chosen_agent, workspace)]
        case AgentOf.RUN:
            find = [partial(find_agent_for_run, workspace, item.of_run, item.task)]
        case AgentOf.REVIEWERS:
            find = [partial(reviewer_of, workspace, source) for source in Source]
        case AgentOf.NOBODY | AgentOf.ANSWER:
            return frozenset()
        case _:
            assert_never(item.due.agent)
    try:
        return frozenset(model_of(each()) for each in find)
    except RequestError:  # its handler says so
        return frozenset()


def find_agent_for_run(workspace: Workspace, run: Run, task: Task | None = None) -> Agent:
    """Return the agent with a run's session, and the model that its task names. Raises RequestError."""
    try:
        return load_agent(run.provider, _config_for(workspace, task, run.provider))
    except RequestError as error:
        raise RequestError(
            f"run {run.id} of {run.task_id} is a conversation with {run.provider or 'an unnamed agent'}: "
            f"{error.message}",
            hint=restart_command(run.task_id),
        ) from error


def require_reviewer(workspace: Workspace) -> Agent:
    """Return the agent that reviews parents. Raises AgentUnavailableError as ``_held_to_schema``."""
    return _held_to_schema(workspace, "a parent review", EXECUTE, _NO_REVIEW)


def require_planner(workspace: Workspace, verb: str) -> Agent:
    """Return the agent that plans. Raises AgentUnavailableError as ``_held_to_schema``."""
    return _held_to_schema(workspace, "a plan", TaskCommand(verb))


def _held_to_schema(workspace: Workspace, form: str, command: TaskCommand, *ways_out: ShellLine) -> Agent:
    """Return the agent of the call for a form of answers.

    Raises AgentUnavailableError for one that cannot be held to it; the way out is a command with another.
    """
    agent = chosen_agent(workspace)
    if agent.abilities.schema:
        return agent
    ways = (agent.abilities.schema_command, *ways_out, _with_able_agent(workspace, command))
    message = f"{agent_in_text(agent.name)} cannot enforce the schema of {form}"
    raise AgentUnavailableError(message, hint=tuple(filter(None, ways)))


def planner_words(workspace: Workspace, verb: str) -> str:
    """Return who plans, with its set-up and model. Raises AgentUnavailableError as ``require_planner``."""
    planner = require_planner(workspace, verb)
    model = f", model {planner.model}" if planner.model else ""
    return f"{planner.summary}{model}"


def _with_able_agent(workspace: Workspace, command: TaskCommand) -> ShellLine:
    """Return a command with an agent that can be held to a schema, where one can start."""
    for name in (name for name in AGENT_NAMES if name != "demo"):  # which is no help
        if load_agent(name, workspace.config).abilities.schema and can_start(workspace, name):
            return command.with_agent(name, "another agent for this call").fixed()
    return ANOTHER_AGENT


def can_start(workspace: Workspace, name: str) -> bool:
    """Whether an agent is set up, and its program there."""
    try:
        _ = probe(workspace, load_agent(name, workspace.config))
    except (AgentUnavailableError, RequestError):
        return False
    return True


def require_reviewers(workspace: Workspace, state: PlanState, call: CallScope) -> None:
    """Refuse a plan whose parents could not be reviewed. Raises AgentUnavailableError."""
    asked = None if call.review is None else state.plan.tasks.get(call.review)
    parents = state.plan.parents() if state.is_gated else ()
    unfinished = (parent for parent in parents if parent.status is not Status.DONE)
    above = (call.covers_parent(state.plan, parent) for parent in unfinished)
    # A change that a person has looked at is no step towards the review of a parent.
    if asked.children if asked is not None else any(above):
        require_reviewer(workspace)


def reviewer_of(workspace: Workspace, source: Source) -> Agent:
    """Return the agent that makes this review of a change. Raises RequestError."""
    config = workspace.config
    own = reviewer_config(config, source)
    name = own.agent or config.agent
    if own.model and takes_model(name):
        config = with_value(config, (name, "model"), own.model)
    return load_agent(name, config)


def takes_model(name: str) -> bool:
    return f"{name}.model" in KEYS


def reviewer_config(config: Config, source: Source) -> ReviewerConfig:
    return config.reviews.spec if source is Source.SPEC else config.reviews.code


def probe(workspace: Workspace, agent: Agent) -> str:
    """Check that an agent can be started, and return its version. Raises AgentUnavailableError."""
    version = agent.probe(workspace.environment.environ)
    require_wrapper(workspace)
    if not agent.abilities.resume:
        raise AgentUnavailableError(
            f"{agent_in_text(agent.name)} cannot continue a session",
        )
    return version


class WrapperMissingError(AgentUnavailableError):
    """The wrapper program in front of every agent is missing, so another agent is no way out."""

    def __init__(self, program: str) -> None:
        super().__init__(
            f"execution.wrapper: cannot find the program '{program}'",
            hint=ShellLine("git blackbird config execution.wrapper", "shows where it is set"),
        )


def require_wrapper(workspace: Workspace) -> None:
    program = next(iter(workspace.config.execution.wrapper), "")
    if program and is_program_missing(program, workspace.environment.environ):
        raise WrapperMissingError(program)


@contextmanager
def adding_way_out(workspace: Workspace, way: ShellLine) -> Iterator[None]:
    """Add a command to the ways out of an AgentUnavailableError."""
    try:
        yield
    except WrapperMissingError:
        raise
    except AgentUnavailableError as error:
        command = way.with_options(workspace.call_options).fixed() if isinstance(way, TaskCommand) else way
        error.ways_out = (*error.ways_out, command)
        raise


def start_with_other_agent(
    workspace: Workspace, command: TaskCommand, agent: str, task: Task | None
) -> TaskCommand:
    """Return a command; if it would start a task with ``agent``, the one that says how to take another."""
    return command if agent_name_for(workspace, task) != agent else ANOTHER_AGENT


def continue_with_other_agent(workspace: Workspace, run: Run) -> str:
    if run.run_type in SOURCES:
        return review_with_other_agent(SOURCES[run.run_type])
    if run.run_type is RunType.REVIEW:
        return ANOTHER_AGENT
    is_begun = run.status is RunStatus.PAUSED or run.resumes is not None
    way = restart_command(run.task_id) if is_begun else EXECUTE
    task = workspace.store.plan().tasks.get(run.task_id)
    return start_with_other_agent(workspace, way, run.provider, task)


def review_with_other_agent(source: Source) -> ShellLine:
    return ShellLine(f"git blackbird config reviews.{source.value}.agent", "says who reviews, and why")


def require_session_name(agent: Agent, run: Run) -> None:
    """Refuse an invalid session name: a program may take it for a title, or begin a new session."""
    session = run.provider_session_ref or ""
    if not agent.accepts_session(session):
        raise AgentUnavailableError(
            f"{run.task_id}: {session!a} of run {run.id} is not a session of {agent_in_text(agent.name)}",
            hint=restart_command(run.task_id),
        )
