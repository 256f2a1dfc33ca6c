"""The configuration: a row for every key, in the order in which they are shown.

A field is a key (``Config.check.mode`` is ``check.mode``) with its type and default, and its ``Row`` says the
rest. Everything else follows from this table: what is accepted and from which layers, what ``config``, the
screen and completion show, the JSON Schema, and the lists of keys in the documents.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, cast

from git_blackbird.model.base.ids import NAME_OF_CHECK
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.config.keys import Key, Row, Value, keys_of
from git_blackbird.model.config.layers import DEFAULT_AGENT, AgentName, OnLimit, PlanStatuses, ReviewMode


class ClaudeConfig(NamedTuple):
    path: Annotated[str, Row("the Claude Code program", own="machine")] = "claude"
    permission_mode: Annotated[
        Literal["bypassPermissions", "acceptEdits", "auto", "default", "dontAsk", "manual", "plan"],
        Row("what Claude Code may do without asking", own="user", see="agents.md#claude-code"),
    ] = "bypassPermissions"
    model: Annotated[
        str | None, Row("the model for Claude Code; its own choice when unset", is_model=True)
    ] = None
    args: Annotated[tuple[str, ...], Row("more arguments for Claude Code", own="user")] = ()


class CodexConfig(NamedTuple):
    path: Annotated[str, Row("the Codex program", own="machine")] = "codex"
    sandbox: Annotated[
        Literal["read-only", "workspace-write", "danger-full-access"],
        Row("what Codex may do", own="user", see="agents.md#codex"),
    ] = "workspace-write"
    model: Annotated[str | None, Row("the model for Codex; its own choice when unset", is_model=True)] = None
    args: Annotated[tuple[str, ...], Row("more arguments for Codex", own="user")] = ()


class CommandConfig(NamedTuple):
    """The agent that is a command of the user's."""

    run: Annotated[
        str | None,
        Row(
            "the shell command of the agent `command`",
            own="user",
            environment="BLACKBIRD_AGENT_CMD",
            chooses="command",
            see="agents.md#a-command-of-your-own",
        ),
    ] = None
    schema: Annotated[
        bool,
        Row(
            "whether the command answers in the schema of BLACKBIRD_RESPONSE_SCHEMA, which reviews of "
            "parents need",
            own="user",
        ),
    ] = False


class PermittedConfig(NamedTuple):
    """An agent whose program is told by name which tools it may use."""

    path: Annotated[str, Row("the agent's program", own="machine")]
    permissions: Annotated[
        Literal["all", "edit"],
        Row("what the agent may do", own="user", see="agents.md#gemini-cli-and-opencode"),
    ] = "all"
    model: Annotated[str | None, Row("the model for the agent; its own choice when unset", is_model=True)] = (
        None
    )
    args: Annotated[tuple[str, ...], Row("more arguments for the agent", own="user")] = ()


class ExecutionConfig(NamedTuple):
    stop_after_each_task: Annotated[bool, Row("stop for a decision after each task", stricter="higher")] = (
        False
    )
    accept_no_change: Annotated[
        bool, Row("accept a run that changed nothing without a decision", stricter="lower")
    ] = False
    commit: Annotated[
        Literal["never", "approved", "checked"],
        Row(
            "which changes are committed: none, approved ones, or also those that passed the check and need "
            "no decision",
            stricter="lower",
            see="reviews.md#approving-with-a-commit",
        ),
    ] = "never"
    parent_review_enabled: Annotated[
        bool, Row("review a parent when all its children are done", stricter="higher")
    ] = True
    jobs: Annotated[
        int,
        Row(
            "how many tasks are worked on at once, each in a worktree of its own if there are several",
            limits=(1, 64),
            stricter="lower",
            see="parallel.md",
        ),
    ] = 1
    worktrees: Annotated[
        bool, Row("work on each task in a worktree of its own, as more than one job do", see="parallel.md")
    ] = False
    max_pending_decisions: Annotated[
        int,
        Row(
            "how many decisions may wait before no more tasks start; 0: two for each job",
            limits=(0, 1000),
            stricter="lower",
        ),
    ] = 0
    questions: Annotated[
        Literal["ask", "rule"],
        Row(
            "whether you are asked what an agent asks, or it decides itself what it says is not destructive",
            own="user",
            see="agents.md#rulings",
        ),
    ] = "ask"
    timeout_minutes: Annotated[int, Row("longest run", limits=(1, 1440), stricter="lower")] = 60
    idle_minutes: Annotated[
        int, Row("longest time an agent may print nothing", limits=(1, 1440), stricter="lower")
    ] = 20
    on_limit: Annotated[
        OnLimit | None,
        Row(
            "at a usage limit: wait until it is over, stop, or wait and start other tasks with "
            "execution.agents meanwhile; unset: wait on a terminal and with --until, else stop",
            own="user",
            see="away.md#usage-limits",
        ),
    ] = None
    agents: Annotated[
        tuple[AgentName, ...],
        Row(
            "the agents that start tasks while theirs is at a usage limit, the first that can",
            own="user",
            see="away.md#usage-limits",
        ),
    ] = ()
    stop_grace_seconds: Annotated[
        int, Row("how long an agent may take to stop when asked to", limits=(0, 120), stricter="lower")
    ] = 5
    wrapper: Annotated[
        tuple[str, ...],
        Row(
            "a command in front of that of an agent, such as one that makes a container",
            own="machine",
            fills=("run", "task", "worktree", "git", "session", "scratch", "environment", "tty"),
            see="containers.md",
        ),
    ] = ()
    wrapper_stop: Annotated[
        tuple[str, ...],
        Row(
            "a command that ends what the wrapper has started, when an agent is stopped",
            own="machine",
            fills=("run", "task", "worktree"),
            see="containers.md",
        ),
    ] = ()


class Amounts(NamedTuple):
    """What runs of agents may use up, until no more start; None without a limit."""

    usd: Annotated[
        float | None,
        Row(
            "the most US dollars that agents may cost, as far as they report it",
            limits=(0.01, 10**6),
            stricter="lower",
            see="#budgets",
        ),
    ] = None
    tokens: Annotated[
        int | None,
        Row(
            "the most tokens that agents may read and write, as far as they report them",
            limits=(1, 10**12),
            stricter="lower",
            see="#budgets",
        ),
    ] = None
    minutes: Annotated[
        int | None,
        Row(
            "the most minutes that agents may work, all added up",
            limits=(1, 10**6),
            stricter="lower",
            see="#budgets",
        ),
    ] = None


class BudgetConfig(NamedTuple):
    call: Amounts = Amounts()
    task: Amounts = Amounts()
    plan: Amounts = Amounts()


_CheckResults = Annotated[
    tuple[str, ...],
    Row(
        "where the check leaves the results of its tests, as JUnit XML: `report.xml`, `**/TEST-*.xml`",
        own="user",
        is_glob=True,
        see="reviews.md#checks",
    ),
]
_CheckCoverage = Annotated[
    tuple[str, ...],
    Row(
        "where the check leaves which lines its tests ran, as lcov, Cobertura or coverage.py's JSON",
        own="user",
        is_glob=True,
        see="reviews.md#checks",
    ),
]


class NamedCheck(NamedTuple):
    """A check with a name, which is part of its keys."""

    command: Annotated[
        str | None,
        Row(
            "a shell command that changes of certain paths must pass",
            own="user",
            see="reviews.md#checks-by-path",
        ),
    ] = None
    paths: Annotated[
        tuple[str, ...],
        Row(
            "the files and folders that the check depends on: `web package.json`; unset: all",
            own="user",
            is_glob=True,
            see="reviews.md#checks-by-path",
        ),
    ] = ()
    results: _CheckResults = ()
    coverage: _CheckCoverage = ()


_TESTS_BY_NAME = (
    *("**/test/**", "**/tests/**", "**/__tests__/**", "**/spec/**"),
    *("**/test_*", "**/*_test.*", "**/*.test.*", "**/*.spec.*", "**/*Test.*", "**/test.*"),
)


class CheckConfig(NamedTuple):
    """A command of the user's that judges a change, and others by name."""

    command: Annotated[
        str | None,
        Row(
            "a shell command that each change must pass; exit code 0 means it does",
            own="user",
            see="reviews.md#checks",
        ),
    ] = None
    results: _CheckResults = ()
    coverage: _CheckCoverage = ()
    timeout_seconds: Annotated[
        int,
        Row(
            "time limit of one check, and of the set-up of a worktree",
            limits=(1, 86_400),
            stricter="higher",
        ),
    ] = 600
    mode: Annotated[
        Literal["show", "gate"],
        Row("whether a failed check is only shown, or sent back to the agent", stricter="higher"),
    ] = "show"
    max_rounds: Annotated[
        int,
        Row("how often a failed check is sent back before you are asked", limits=(0, 20), stricter="lower"),
    ] = 2
    slots: Annotated[
        int,
        Row(
            "how many checks of yours run at once on this machine; 0: one for each four processors",
            limits=(0, 1000),
            own="user",
            see="reviews.md#checks",
        ),
    ] = 0
    criteria: Annotated[
        bool,
        Row(
            "run criteria that are commands, `$ make test`, as checks, once you have agreed to their texts",
            own="user",
            see="reviews.md#criteria-that-are-commands",
        ),
    ] = False
    tests: Annotated[
        tuple[str, ...],
        Row(
            "the files of tests; unset: in folders `test`, `tests`, `__tests__`, `spec`, or named `test_*`, "
            "`*_test.*`, `*.test.*`, `*.spec.*`, `*Test.*`, `test.*`",
            own="user",
            is_glob=True,
            see="reviews.md#tests-of-a-change",
        ),
    ] = ()
    red_green: Annotated[
        bool, Row("whether to look which tests of a change fail without it", stricter="higher")
    ] = False
    protect: Annotated[
        tuple[str, ...],
        Row(
            "files with which each check runs once more as they were before the change",
            own="user",
            is_glob=True,
        ),
    ] = ()
    prove: Annotated[
        bool,
        Row(
            "after a check that passed, whether to run it again without each hunk of the change",
            stricter="higher",
            see="proof.md",
        ),
    ] = False
    prove_seconds: Annotated[
        int,
        Row("how long that may take", limits=(1, 86_400), see="proof.md"),
    ] = 600
    named: Mapping[str, NamedCheck] = MappingProxyType({})

    @property
    def test_globs(self) -> tuple[str, ...]:
        return self.tests or _TESTS_BY_NAME

    @property
    def all(self) -> Mapping[str, NamedCheck]:
        """Every check that has a command, by its name; that of ``check.command`` has none."""
        unnamed = NamedCheck(self.command, (), self.results, self.coverage)
        checks = {"": unnamed, **dict(sorted(self.named.items()))}
        return {name: check for name, check in checks.items() if (check.command or "").strip()}


class WorktreeConfig(NamedTuple):
    """Worktrees of single tasks."""

    dir: Annotated[
        str | None,
        Row(
            "the folder for worktrees of tasks, outside of the repository; unset: REPOSITORY.worktrees "
            "beside it",
            own="machine",
        ),
    ] = None
    copy: Annotated[
        tuple[str, ...],
        Row(
            "patterns, as in .gitignore, of ignored files and folders to copy into each worktree of a task",
            own="user",
            see="parallel.md#set-up",
        ),
    ] = ()
    setup: Annotated[
        str | None,
        Row(
            "a shell command to prepare each worktree before its agent starts",
            own="user",
            see="parallel.md#set-up",
        ),
    ] = None


class LandingConfig(NamedTuple):
    """Bringing the change of a task from its worktree into yours."""

    max_rounds: Annotated[
        int,
        Row(
            "how often a conflict or a failed check is sent back before you are asked",
            limits=(0, 20),
            stricter="lower",
        ),
    ] = 2


class ClusterConfig(NamedTuple):
    address: Annotated[
        str | None,
        Row(
            "the Dask scheduler whose workers run agents, or local:N for N workers here; unset: agents run "
            "here",
            own="machine",
            see="cluster.md",
        ),
    ] = None
    remote: Annotated[
        str | None,
        Row("the git remote that the workers reach, a name or a URL; origin when unset", own="machine"),
    ] = None
    on_lost_worker: Annotated[
        Literal["pause", "restart"],
        Row("whether a run whose worker is gone stays paused, or its task starts again on another one"),
    ] = "pause"


class NotifyConfig(NamedTuple):
    command: Annotated[
        str | None, Row("a shell command to run when you are needed", own="machine", see="#notifications")
    ] = None


class ReviewerConfig(NamedTuple):
    """One of the two reviewers of a change."""

    agent: Annotated[AgentName | None, Row("who makes this review; the chosen agent when unset")] = None
    model: Annotated[
        str | None, Row("the model of that reviewer; that of its agent when unset", is_model=True)
    ] = None


class ReviewsConfig(NamedTuple):
    mode: Annotated[
        ReviewMode,
        Row("whether each change is reviewed, by two agents at once", stricter="higher", see="reviews.md"),
    ] = "off"
    max_iterations: Annotated[
        int,
        Row("how many rounds of reviews and fixes before you are asked", limits=(1, 20), stricter="lower"),
    ] = 3
    diff_threshold_lines: Annotated[
        int,
        Row(
            "the longest diff that reviewers are sent in full; for a longer one they are told how to read it",
            limits=(0, 10_000),
        ),
    ] = 500
    timeout_seconds: Annotated[
        int, Row("time limit of one review attempt", limits=(1, 3600), stricter="lower")
    ] = 180
    spec: ReviewerConfig = ReviewerConfig()
    code: ReviewerConfig = ReviewerConfig()


class SnapshotConfig(NamedTuple):
    timeout_seconds: Annotated[
        int, Row("time limit of one snapshot", limits=(1, 3600), stricter="higher")
    ] = 60
    max_untracked_bytes: Annotated[
        int,
        Row("the largest untracked file that snapshots keep", limits=(0, 2**40), stricter="higher"),
    ] = 50_000_000


class RecordsConfig(NamedTuple):
    """What is kept of runs."""

    redact: Annotated[
        bool,
        Row(
            "mask secrets in what agents and checks print",
            own="user",
            stricter="higher",
            see="#secrets-in-what-agents-print",
        ),
    ] = True


class TuiConfig(NamedTuple):
    """The screen."""

    theme: Annotated[
        Literal["auto", "dark", "light", "ansi"],
        Row(
            "the colours of the screen; auto follows COLORFGBG, or asks the terminal, ansi uses those of "
            "the terminal"
        ),
    ] = "auto"
    keymap: Annotated[
        str | None,
        Row(
            "other keys for actions of the screen: ACTION=KEY, separated by spaces",
            own="user",
            see="screen.md#your-own-keys",
        ),
    ] = None


class PlanConfig(NamedTuple):
    statuses: Annotated[
        PlanStatuses,
        Row(
            "which statuses are written into the plan: all, or lasting: those of tasks that are over",
            see="plans.md#a-plan-in-git",
        ),
    ] = "all"


class PlanningConfig(NamedTuple):
    max_plan_auto_refine_passes: Annotated[
        int, Row("how often an agent that plans is told what is wrong with its plan", limits=(0, 3))
    ] = 1


class Config(NamedTuple):
    """The whole configuration. The section of an agent has its name."""

    agent: Annotated[
        AgentName,
        Row(
            "the agent that works on tasks",
            environment="BLACKBIRD_AGENT_PROVIDER",
            see="agents.md#choosing-an-agent",
        ),
    ] = DEFAULT_AGENT
    claude: ClaudeConfig = ClaudeConfig()
    codex: CodexConfig = CodexConfig()
    command: CommandConfig = CommandConfig()
    gemini: PermittedConfig = PermittedConfig("gemini")
    opencode: PermittedConfig = PermittedConfig("opencode")
    execution: ExecutionConfig = ExecutionConfig()
    budget: BudgetConfig = BudgetConfig()
    check: CheckConfig = CheckConfig()
    worktree: WorktreeConfig = WorktreeConfig()
    landing: LandingConfig = LandingConfig()
    cluster: ClusterConfig = ClusterConfig()
    notify: NotifyConfig = NotifyConfig()
    reviews: ReviewsConfig = ReviewsConfig()
    snapshot: SnapshotConfig = SnapshotConfig()
    records: RecordsConfig = RecordsConfig()
    tui: TuiConfig = TuiConfig()
    plan: PlanConfig = PlanConfig()
    planning: PlanningConfig = PlanningConfig()


KEYS: Mapping[str, Key] = {key.name: key for key in keys_of(Config())}
_FOLDED = {name.lower(): key for name, key in KEYS.items()}
_SECTIONS = frozenset(name.rpartition(".")[0] for name in _FOLDED)
OF_GO = frozenset({"tui.rundatarefreshintervalseconds", "tui.plandatarefreshintervalseconds"})
"""Keys that only the Go program uses, in lower case."""


def find_key(name: str) -> Key | None:
    """Find a key by its name in any letter case, as git does."""
    section, _, last = name.lower().rpartition(".")
    if section in _SECTIONS or not is_section(section):
        return _FOLDED.get(name.lower())
    return next((key for key in keys_beside(section) if key.path[-1] == last), None)


def is_section(name: str) -> bool:
    """Whether keys may lie below a name."""
    folded = name.lower()
    is_named = re.fullmatch(rf"check\.{NAME_OF_CHECK}", folded) is not None
    return folded in _SECTIONS or (is_named and folded not in _FOLDED)


def keys_beside(name: str) -> Iterator[Key]:
    """Yield all keys of a section that its user has named, ``check.web``."""
    section, _, named = name.partition(".")
    yield from keys_of(NamedCheck(), f"{name}.", (section, "named", named))


def keys_with(named: Iterable[str]) -> Sequence[Key]:
    """Return all keys in the order in which they are shown, with those of these named sections."""
    keys = (*KEYS.values(), *(key for name in sorted(named) for key in keys_beside(name)))
    return sorted(keys, key=lambda key: Config._fields.index(key.path[0]))


def nearest_key(name: str) -> str:
    from difflib import get_close_matches  # only a misspelt key pays for it

    section = name.lower().rpartition(".")[0]
    is_named = is_section(section) and section not in _SECTIONS
    known = {key.name: key for key in keys_beside(section)} if is_named else _FOLDED
    close = get_close_matches(name.lower(), known, n=1, cutoff=0.55)
    if close:
        return f"did you mean {known[close[0]].name}?"
    return Sentence(TaskCommand("config"), " lists every key")


_Section = TypeVar("_Section")


def with_value(section: _Section, path: Sequence[str], value: Value | None) -> _Section:
    """Return a copy of the configuration with one validated value."""
    parts: Any = section
    attribute, *inner = path
    if isinstance(parts, Mapping):
        copy: Any = {**parts, attribute: with_value(parts.get(attribute, NamedCheck()), inner, value)}
    else:
        changed = with_value(getattr(parts, attribute), inner, value) if inner else value
        copy = parts._replace(**{attribute: changed})
    return cast("_Section", copy)
