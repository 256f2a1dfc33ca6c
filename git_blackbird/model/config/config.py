"""The configuration: every key with its type, default, limits and help text, and by its name.

This model is the one definition: the keys, their validation, the output of ``git blackbird config`` and the
JSON Schema follow from it.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from git_blackbird.model.config.layers import AgentName, ReviewMode

Stricter = Literal["higher", "lower"]
"""Which of two values protects more: true, the larger number, the later choice; or the other way round."""


class KeyRules(NamedTuple):
    """The part of a key's definition that pydantic has no words for."""

    limits: tuple[int, int] | None
    environment: str | None
    clone_safe: bool
    stricter: Stricter | None


def key(
    default: Any,
    help: str,  # noqa: A002  # as in click
    *,
    limits: tuple[int, int] | None = None,
    environment: str | None = None,
    clone_safe: bool = True,
    stricter: Stricter | None = None,
) -> Any:
    """Define a key; ``limits`` are the smallest and the largest number.

    ``environment`` is a variable that sets it. ``clone_safe`` is false for what a cloned repository must not
    set: programs, flags, permissions. ``stricter`` is set for protective keys: a project may tighten the
    user's value, but not loosen it.
    """
    low, high = limits or (None, None)
    field: FieldInfo = Field(default, description=help, ge=low, le=high)
    field.metadata.append(KeyRules(limits, environment, clone_safe, stricter))
    return field


class Section(BaseModel):
    """Keys that belong together; ``Config.claude.path`` is the key ``claude.path``.

    The models are built for the JSON Schema only: values are validated one by one, as layers have them.
    """

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        defer_build=True,
    )


_ModelName = Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9_.:/@+\[\]-]{0,199})?$")]
"""A valid model name, which no agent can take for an option."""


class ClaudeConfig(Section):
    """The agent Claude Code."""

    path: str = key("claude", "the Claude Code program", clone_safe=False)
    permission_mode: Literal[
        "bypassPermissions", "acceptEdits", "auto", "default", "dontAsk", "manual", "plan"
    ] = key("bypassPermissions", "what Claude Code may do without asking", clone_safe=False)
    model: _ModelName | None = key(None, "the model for Claude Code; its own choice when unset")
    args: tuple[str, ...] = key((), "more arguments for Claude Code", clone_safe=False)


class CodexConfig(Section):
    """The agent Codex."""

    path: str = key("codex", "the Codex program", clone_safe=False)
    sandbox: Literal["read-only", "workspace-write", "danger-full-access"] = key(
        "workspace-write", "what Codex may do", clone_safe=False
    )
    model: _ModelName | None = key(None, "the model for Codex; its own choice when unset")
    args: tuple[str, ...] = key((), "more arguments for Codex", clone_safe=False)


class CommandConfig(Section):
    """The agent that is a command of the user's."""

    run: str | None = key(
        None,
        "the shell command of the agent `command`",
        environment="BLACKBIRD_AGENT_CMD",
        clone_safe=False,
    )
    honors_schema: Annotated[bool, Field(alias="schema")] = key(
        False, "whether the command answers in the schema of BLACKBIRD_RESPONSE_SCHEMA", clone_safe=False
    )


class ExecutionConfig(Section):
    """Runs of agents, and what becomes of their changes."""

    stop_after_each_task: bool = key(False, "stop for a decision after each task", stricter="higher")
    accept_no_change: bool = key(
        False, "accept a run that changed nothing without a decision", stricter="lower"
    )
    commit: Literal["never", "approved"] = key("never", "what an approval commits", stricter="lower")
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
    timeout_minutes: int = key(60, "longest run", limits=(1, 1440), stricter="lower")
    idle_minutes: int = key(20, "longest time an agent may print nothing", limits=(1, 1440), stricter="lower")
    log_megabytes: int = key(
        256, "how much of each output stream of a run is kept", limits=(1, 4096), stricter="lower"
    )
    stop_grace_seconds: int = key(
        5, "how long an agent may take to stop when asked to", limits=(0, 120), stricter="lower"
    )


class CheckConfig(Section):
    """A command of the user's that says whether a change is good."""

    command: str | None = key(
        None, "a shell command that each change must pass; exit code 0 means it does", clone_safe=False
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
        clone_safe=False,
    )


class WorktreeConfig(Section):
    """Worktrees in which one task each is worked on."""

    dir: str | None = key(
        None,
        "the folder for worktrees of tasks; REPOSITORY.worktrees beside the repository when unset",
        clone_safe=False,
    )
    copy_files: Annotated[tuple[str, ...], Field(alias="copy")] = key(
        (), "patterns of ignored files and folders to copy into each worktree", clone_safe=False
    )
    setup: str | None = key(
        None, "a shell command to prepare each worktree before its agent starts", clone_safe=False
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
        clone_safe=False,
    )
    remote: str | None = key(
        None, "the git remote that the workers reach, a name or a URL; origin when unset", clone_safe=False
    )
    on_lost_worker: Literal["pause", "restart"] = key(
        "pause", "whether a run whose worker is gone stays paused, or its task starts again on another one"
    )


class NotifyConfig(Section):
    """Calling a person."""

    command: str | None = key(None, "a shell command to run when you are needed", clone_safe=False)


class ReviewerConfig(Section):
    """One of the two reviewers of a change."""

    agent: AgentName | None = None
    model: _ModelName | None = key(None, "the model of that reviewer")


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


class TuiConfig(Section):
    """The screen."""

    theme: Literal["auto", "dark", "light", "ansi"] = key(
        "auto", "the colours of the screen; auto follows COLORFGBG"
    )
    run_data_refresh_interval_seconds: int = key(5, "not used; kept for the Go program", limits=(1, 300))
    plan_data_refresh_interval_seconds: int = key(5, "not used; kept for the Go program", limits=(1, 300))


class PlanningConfig(Section):
    """Planning, which only the Go program does."""

    max_plan_auto_refine_passes: int = key(1, "not used; kept for the Go program", limits=(0, 3))


class Config(Section):
    """The whole configuration, and a configuration file."""

    schema_version: int = 1
    agent: AgentName = key("claude", "the agent that works on tasks", environment="BLACKBIRD_AGENT_PROVIDER")
    claude: ClaudeConfig = Field(default_factory=ClaudeConfig.model_construct)
    codex: CodexConfig = Field(default_factory=CodexConfig.model_construct)
    command: CommandConfig = Field(default_factory=CommandConfig.model_construct)
    execution: ExecutionConfig = Field(default_factory=ExecutionConfig.model_construct)
    check: CheckConfig = Field(default_factory=CheckConfig.model_construct)
    worktree: WorktreeConfig = Field(default_factory=WorktreeConfig.model_construct)
    landing: LandingConfig = Field(default_factory=LandingConfig.model_construct)
    cluster: ClusterConfig = Field(default_factory=ClusterConfig.model_construct)
    notify: NotifyConfig = Field(default_factory=NotifyConfig.model_construct)
    reviews: ReviewsConfig = Field(default_factory=ReviewsConfig.model_construct)
    snapshot: SnapshotConfig = Field(default_factory=SnapshotConfig.model_construct)
    tui: TuiConfig = Field(default_factory=TuiConfig.model_construct)
    planning: PlanningConfig = Field(default_factory=PlanningConfig.model_construct)


Value = bool | int | str | tuple[str, ...]
_Model = TypeVar("_Model", bound=BaseModel)


class ValueType(StrEnum):
    """The type of a key's value."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    TEXT = "text"
    WORDS = "list of texts"


_VALUE_TYPES = {bool: ValueType.BOOLEAN, int: ValueType.INTEGER, tuple[str, ...]: ValueType.WORDS}


class Key(NamedTuple):
    """One key: its name, the attributes of ``Config`` that lead to it, and how its field defines it.

    ``default`` is None for a key that is unset, which is no value that can be given.
    """

    name: str
    path: tuple[str, ...]
    annotation: Any
    default: Value | None
    help: str
    rules: KeyRules

    @property
    def type(self) -> ValueType:
        """The type in words."""
        return _VALUE_TYPES.get(self.annotation, ValueType.TEXT)

    @property
    def choices(self) -> tuple[str, ...]:
        """The accepted texts, if only some are."""
        return get_args(self.annotation) if get_origin(self.annotation) is Literal else ()

    def is_stricter(self, value: Value | None, other: Value | None) -> bool:
        """Whether ``value`` protects more than ``other``; false for a key that is not protective."""
        if self.rules.stricter is None or value is None or other is None:
            return False
        rank, other_rank = self._rank(value), self._rank(other)
        return rank > other_rank if self.rules.stricter == "higher" else rank < other_rank

    def _rank(self, value: Value) -> int:
        """Rank the values of a protective key: truth values, numbers, or choices in their order."""
        return value if isinstance(value, int) else self.choices.index(str(value))


def _keys_of(section: type[Section], name: str = "", path: tuple[str, ...] = ()) -> Iterator[Key]:
    for attribute, field in section.model_fields.items():
        annotation, default = field.annotation, field.default
        inner_name, inner_path = name + (field.alias or to_camel(attribute)), (*path, attribute)
        if isinstance(annotation, type) and issubclass(annotation, Section):
            yield from _keys_of(annotation, f"{inner_name}.", inner_path)
        for rules in field.metadata:
            if isinstance(rules, KeyRules):
                given = annotation if default is not None else get_args(annotation)[0]
                yield Key(inner_name, inner_path, given, default, field.description or "", rules)


KEYS: Mapping[str, Key] = {key.name: key for key in _keys_of(Config)}
_FOLDED = {name.lower(): key for name, key in KEYS.items()}


def find_key(name: str) -> Key | None:
    """Find a key by its name in any letter case, as git does."""
    return _FOLDED.get(name.lower())


def nearest_key(name: str) -> str:
    """Suggest the key that was probably meant."""
    from difflib import get_close_matches  # only a misspelt key pays for it

    close = get_close_matches(name.lower(), _FOLDED, n=1, cutoff=0.5)
    return f"did you mean {_FOLDED[close[0]].name}?" if close else "`git blackbird config` lists every key"


def with_value(model: _Model, path: Sequence[str], value: Value | None) -> _Model:
    """Return a copy of the configuration with one validated value."""
    attribute, *inner = path
    changed = with_value(getattr(model, attribute), inner, value) if inner else value
    return model.model_copy(update={attribute: changed})
