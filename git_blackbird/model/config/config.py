"""The configuration: every key with its type, default, limits and help text, but for the keys of agents.

The model is the one definition: the keys, their validation, the output of ``git blackbird config`` and the
JSON Schema follow from it and from what each agent declares (``agents/configuration.py``).
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, FiniteFloat

from git_blackbird.model.config.agent_names import DEFAULT_AGENT, AgentName
from git_blackbird.model.config.keys import Key, ModelName, Section, filling_in, key, keys_of
from git_blackbird.model.config.layers import OnLimit, PlanStatuses, ReviewMode

_WRAPPER = filling_in("run", "task", "worktree", "git", "session", "scratch", "environment", "tty")
_WRAPPER_STOP = filling_in("run", "task", "worktree")


class ExecutionConfig(Section):
    """Runs of agents, and what becomes of their changes."""

    stop_after_each_task: bool = key(False, "stop for a decision after each task", stricter="higher")
    accept_no_change: bool = key(
        False, "accept a run that changed nothing without a decision", stricter="lower"
    )
    commit: Literal["never", "approved", "checked"] = key(
        "never",
        "which changes are committed: none, approved ones, or also those that passed the check and need no "
        "decision",
        stricter="lower",
    )
    parent_review_enabled: bool = key(
        True, "review a parent when all its children are done", stricter="higher"
    )
    jobs: int = key(1, "how many tasks are worked on at once", limits=(1, 64), stricter="lower")
    worktrees: bool = key(False, "work on each task in a worktree of its own, as more than one job do")
    max_pending_decisions: int = key(
        0,
        "how many decisions may wait before no more tasks start; 0: two for each job",
        limits=(0, 1000),
        stricter="lower",
    )
    questions: Literal["ask", "rule"] = key(
        "ask",
        "whether you are asked what an agent asks, or it decides itself what it says is not destructive",
        own="user",
    )
    timeout_minutes: int = key(60, "longest run", limits=(1, 1440), stricter="lower")
    idle_minutes: int = key(20, "longest time an agent may print nothing", limits=(1, 1440), stricter="lower")
    log_megabytes: int = key(
        256, "how much of each output stream of a run is kept", limits=(1, 4096), stricter="lower"
    )
    on_limit: OnLimit | None = key(
        None,
        "at a usage limit: wait until it is over, stop, or wait and start other tasks with execution.agents "
        "meanwhile; unset: wait on a terminal and with --until, else stop",
        own="user",
    )
    agents: tuple[AgentName, ...] = key(
        (), "the agents that start tasks while theirs is at a usage limit, the first that can", own="user"
    )
    stop_grace_seconds: int = key(
        5, "how long an agent may take to stop when asked to", limits=(0, 120), stricter="lower"
    )
    wrapper: tuple[Annotated[str, _WRAPPER], ...] = key(
        (), "a command in front of that of an agent, such as one that makes a container", own="machine"
    )
    wrapper_stop: tuple[Annotated[str, _WRAPPER_STOP], ...] = key(
        (), "a command that ends what the wrapper has started, when an agent is stopped", own="machine"
    )


class Amounts(Section):
    """What runs of agents may use up, until no more start; None without a limit."""

    usd: FiniteFloat | None = key(
        None,
        "the most US dollars that agents may cost, as far as they report it",
        limits=(0.01, 10**6),
        stricter="lower",
    )
    tokens: int | None = key(
        None,
        "the most tokens that agents may read and write, as far as they report them",
        limits=(1, 10**12),
        stricter="lower",
    )
    minutes: int | None = key(
        None, "the most minutes that agents may work, all added up", limits=(1, 10**6), stricter="lower"
    )


class BudgetConfig(Section):
    """Budgets of one call, of each task, and of all runs of the plan."""

    call: Amounts = Field(default_factory=Amounts.model_construct)
    task: Amounts = Field(default_factory=Amounts.model_construct)
    plan: Amounts = Field(default_factory=Amounts.model_construct)


class CheckConfig(Section):
    """A command of the user's that says whether a change is good."""

    command: str | None = key(
        None, "a shell command that each change must pass; exit code 0 means it does", own="user"
    )
    timeout_seconds: int = key(600, "time limit of one check", limits=(1, 86_400), stricter="higher")
    mode: Literal["show", "gate"] = key(
        "show", "whether a failed check is only shown, or sent back to the agent", stricter="higher"
    )
    max_rounds: int = key(
        2,
        "how often a failed check is sent back before you are asked",
        limits=(0, 20),
        stricter="lower",
    )
    slots: int = key(
        0,
        "how many checks of yours run at once on this machine; 0: one for each four processors",
        limits=(0, 1000),
        own="user",
    )


class WorktreeConfig(Section):
    """Worktrees in which one task each is worked on."""

    dir: str | None = key(
        None,
        "the folder for worktrees of tasks; REPOSITORY.worktrees beside the repository when unset",
        own="machine",
    )
    copy_files: Annotated[tuple[str, ...], Field(alias="copy")] = key(
        (), "patterns of ignored files and folders to copy into each worktree", own="user"
    )
    setup: str | None = key(
        None, "a shell command to prepare each worktree before its agent starts", own="user"
    )
    setup_seconds: int = key(600, "time limit of that command", limits=(1, 86_400), stricter="lower")


class LandingConfig(Section):
    """Bringing the change of a task from its worktree into yours."""

    max_rounds: int = key(
        2,
        "how often a conflict or a failed check is sent back before you are asked",
        limits=(0, 20),
        stricter="lower",
    )
    additions: Literal["keep", "ask"] = key(
        "keep",
        "whether lines that you and a task both added in one place land once the check passes, or you are "
        "asked",
        stricter="higher",
    )


class ClusterConfig(Section):
    """Agents on other machines."""

    address: str | None = key(
        None,
        "the Dask scheduler whose workers run agents, or local:N for N workers here; unset: agents run here",
        own="machine",
    )
    remote: str | None = key(
        None,
        "the git remote that the workers reach, a name or a URL; origin when unset",
        own="machine",
    )
    on_lost_worker: Literal["pause", "restart"] = key(
        "pause", "whether a run whose worker is gone stays paused, or its task starts again on another one"
    )


class NotifyConfig(Section):
    """Calling a person."""

    command: str | None = key(None, "a shell command to run when you are needed", own="machine")


class ReviewerConfig(Section):
    """One of the two reviewers of a change."""

    agent: AgentName | None = None
    model: ModelName | None = key(None, "the model of that reviewer")


class SpecReviewerConfig(ReviewerConfig):
    """The reviewer of changes against their task."""

    agent: AgentName | None = key(None, "who compares changes with their task; the chosen agent when unset")


class CodeReviewerConfig(ReviewerConfig):
    """The reviewer of the code of changes."""

    agent: AgentName | None = key(None, "who reviews the code of changes; the chosen agent when unset")


class ReviewsConfig(Section):
    """Reviews of changes."""

    mode: ReviewMode = key("off", "whether each change is reviewed, by two agents at once", stricter="higher")
    max_iterations: int = key(
        3, "how many rounds of reviews and fixes before you are asked", limits=(1, 20), stricter="lower"
    )
    diff_threshold_lines: int = key(
        500, "the longest diff that reviewers are sent in full", limits=(0, 10_000)
    )
    timeout_seconds: int = key(180, "time limit of one review attempt", limits=(1, 3600), stricter="lower")
    spec: SpecReviewerConfig = Field(default_factory=SpecReviewerConfig.model_construct)
    code: CodeReviewerConfig = Field(default_factory=CodeReviewerConfig.model_construct)


class SnapshotConfig(Section):
    """Snapshots of the worktree."""

    timeout_seconds: int = key(60, "time limit of one snapshot", limits=(1, 3600), stricter="higher")
    max_untracked_bytes: int = key(
        50_000_000, "the largest untracked file that snapshots keep", limits=(0, 2**40), stricter="higher"
    )


class RecordsConfig(Section):
    """What is kept of runs."""

    redact: bool = key(True, "mask secrets in what agents and checks print", own="user", stricter="higher")


class TuiConfig(Section):
    """The screen."""

    # Keys of the Go program may stand beside it.
    model_config = ConfigDict(extra="ignore")

    theme: Literal["auto", "dark", "light", "ansi"] = key(
        "auto", "the colours of the screen; auto follows COLORFGBG, or asks the terminal"
    )
    keymap: str | None = key(
        None, "other keys for actions of the screen: ACTION=KEY, separated by spaces", own="user"
    )


class PlanConfig(Section):
    """The plan file."""

    statuses: PlanStatuses = key(
        "all", "which statuses are written into the plan: all, or lasting: those of tasks that are over"
    )


class PlanningConfig(Section):
    """Plans that agents make."""

    max_plan_auto_refine_passes: int = key(
        1, "how often an agent that plans is told what is wrong with its plan", limits=(0, 3)
    )


class AgentChoice(Section):
    """The keys that come before those of each agent."""

    schema_version: int = 1
    agent: AgentName = key(
        DEFAULT_AGENT, "the agent that works on tasks", environment="BLACKBIRD_AGENT_PROVIDER"
    )


class Config(AgentChoice):
    """The configuration without the sections of the agents, which each declares itself."""

    execution: ExecutionConfig = Field(default_factory=ExecutionConfig.model_construct)
    budget: BudgetConfig = Field(default_factory=BudgetConfig.model_construct)
    check: CheckConfig = Field(default_factory=CheckConfig.model_construct)
    worktree: WorktreeConfig = Field(default_factory=WorktreeConfig.model_construct)
    landing: LandingConfig = Field(default_factory=LandingConfig.model_construct)
    cluster: ClusterConfig = Field(default_factory=ClusterConfig.model_construct)
    notify: NotifyConfig = Field(default_factory=NotifyConfig.model_construct)
    reviews: ReviewsConfig = Field(default_factory=ReviewsConfig.model_construct)
    snapshot: SnapshotConfig = Field(default_factory=SnapshotConfig.model_construct)
    records: RecordsConfig = Field(default_factory=RecordsConfig.model_construct)
    tui: TuiConfig = Field(default_factory=TuiConfig.model_construct)
    plan: PlanConfig = Field(default_factory=PlanConfig.model_construct)
    planning: PlanningConfig = Field(default_factory=PlanningConfig.model_construct)


_OF_GO = frozenset({"tui.rundatarefreshintervalseconds", "tui.plandatarefreshintervalseconds"})


def is_ignored(name: str) -> bool:
    """Whether this is a key that only the Go program uses, in any letter case."""
    return name.lower() in _OF_GO


class Keys(dict[str, Key]):
    """Every key of a configuration by its name, in the order in which they are shown."""

    def __init__(self, model: type[Config]) -> None:
        super().__init__((key.name, key) for key in keys_of(model))
        self.model = model
        self._folded = {name.lower(): key for name, key in self.items()}

    def find(self, name: str) -> Key | None:
        """Find a key by its name in any letter case, as git does."""
        return self._folded.get(name.lower())

    def nearest(self, name: str) -> str:
        """Suggest the key that was probably meant."""
        from difflib import get_close_matches  # only a misspelt key pays for it

        close = get_close_matches(name.lower(), self._folded, n=1, cutoff=0.55)
        return (
            f"did you mean {self._folded[close[0]].name}?"
            if close
            else "`git blackbird config` lists every key"
        )
