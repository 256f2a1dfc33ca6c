"""Every configuration key with its type, range, default and help text (DESIGN.md 11).

``model.settings`` validates values with pydantic by these definitions; this module does without it, because
completion lists keys.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple, get_args, get_origin

Value = bool | int | str | tuple[str, ...]
Agent = Literal["claude", "codex", "command", "demo"]
AGENT_NAMES: tuple[str, ...] = get_args(Agent)
_MODEL = r"^([A-Za-z0-9][A-Za-z0-9_.:/@+\[\]-]{0,199})?$"
"""A valid model name, which no agent can take for an option."""


class ValueType(StrEnum):
    """The type of a key's value."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    TEXT = "text"
    WORDS = "list of texts"


_KINDS = {bool: ValueType.BOOLEAN, int: ValueType.INTEGER, tuple[str, ...]: ValueType.WORDS}


class Stricter(StrEnum):
    """Which of two values of a protective key is the stricter.

    ``HIGHER``: true over false, the larger number, the later choice; ``LOWER``: the other way round.
    """

    HIGHER = "higher"
    LOWER = "lower"


class ConfigKey(NamedTuple):
    """One configuration key; ``type``, ``pattern`` and number range are as in pydantic.

    ``clone_safe`` is false for values that a cloned repository must not set: programs, flags, permissions.
    ``stricter`` is set for protective keys: a project may tighten the user's value, but not loosen it.
    """

    name: str
    type: Any
    default: Value | None
    help: str
    min: int = 0
    max: int = 0
    pattern: str | None = None
    environment: str | None = None
    clone_safe: bool = True
    stricter: Stricter | None = None

    @property
    def kind(self) -> ValueType:
        """The type in words."""
        return _KINDS.get(self.type, ValueType.TEXT)

    @property
    def choices(self) -> tuple[str, ...]:
        """The accepted texts, if only some are."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    def is_stricter(self, value: Value, other: Value) -> bool:
        """Whether ``value`` protects more than ``other``; false for a key that is not protective."""
        ranks = self._rank(value), self._rank(other)
        match self.stricter:
            case Stricter.HIGHER:
                return ranks[0] > ranks[1]
            case Stricter.LOWER:
                return ranks[0] < ranks[1]
            case None:
                return False

    def _rank(self, value: Value) -> int:
        if self.choices:
            return self.choices.index(str(value))
        return int(value) if isinstance(value, int) else 0


HIGHER, LOWER = Stricter
_KEYS = (
    ConfigKey(
        "agent", Agent, "claude", "the agent that works on tasks", environment="BLACKBIRD_AGENT_PROVIDER"
    ),
    ConfigKey("claude.path", str, "claude", "the Claude Code program", clone_safe=False),
    ConfigKey(
        "claude.permissionMode",
        Literal["bypassPermissions", "acceptEdits", "auto", "default", "dontAsk", "manual", "plan"],
        "bypassPermissions",
        "what Claude Code may do without asking",
        clone_safe=False,
    ),
    ConfigKey(
        "claude.model", str, None, "the model for Claude Code; its own choice when unset", pattern=_MODEL
    ),
    ConfigKey("claude.args", tuple[str, ...], (), "more arguments for Claude Code", clone_safe=False),
    ConfigKey("codex.path", str, "codex", "the Codex program", clone_safe=False),
    ConfigKey(
        "codex.sandbox",
        Literal["read-only", "workspace-write", "danger-full-access"],
        "workspace-write",
        "what Codex may do",
        clone_safe=False,
    ),
    ConfigKey("codex.model", str, None, "the model for Codex; its own choice when unset", pattern=_MODEL),
    ConfigKey("codex.args", tuple[str, ...], (), "more arguments for Codex", clone_safe=False),
    ConfigKey(
        "command.run",
        str,
        None,
        "the shell command of the agent `command`",
        environment="BLACKBIRD_AGENT_CMD",
        clone_safe=False,
    ),
    ConfigKey(
        "command.schema",
        bool,
        False,
        "whether the command answers in the schema of BLACKBIRD_RESPONSE_SCHEMA",
        clone_safe=False,
    ),
    ConfigKey(
        "execution.stopAfterEachTask", bool, False, "stop for a decision after each task", stricter=HIGHER
    ),
    ConfigKey(
        "execution.acceptNoChange",
        bool,
        False,
        "accept a run that changed nothing without a decision",
        stricter=LOWER,
    ),
    ConfigKey(
        "execution.commit",
        Literal["never", "approved"],
        "never",
        "what an approval commits",
        stricter=LOWER,
    ),
    ConfigKey(
        "execution.parentReviewEnabled",
        bool,
        True,
        "review a parent when all its children are done",
        stricter=HIGHER,
    ),
    ConfigKey("execution.timeoutMinutes", int, 60, "longest run", 1, 1440, stricter=LOWER),
    ConfigKey(
        "execution.idleMinutes", int, 20, "longest time an agent may print nothing", 1, 1440, stricter=LOWER
    ),
    ConfigKey(
        "execution.logMegabytes",
        int,
        256,
        "how much of each output stream of a run is kept",
        1,
        4096,
        stricter=LOWER,
    ),
    ConfigKey(
        "execution.stopGraceSeconds",
        int,
        5,
        "how long an agent may take to stop when asked to",
        0,
        120,
        stricter=LOWER,
    ),
    ConfigKey("notify.command", str, None, "a shell command to run when you are needed", clone_safe=False),
    ConfigKey(
        "reviews.mode",
        Literal["off", "parallel"],
        "off",
        "whether each change is reviewed, by two agents at once",
        stricter=HIGHER,
    ),
    ConfigKey(
        "reviews.maxIterations",
        int,
        3,
        "how many rounds of reviews and fixes before you are asked",
        1,
        20,
        stricter=LOWER,
    ),
    ConfigKey(
        "reviews.diffThresholdLines", int, 500, "the longest diff that reviewers are sent in full", 0, 10_000
    ),
    ConfigKey(
        "reviews.timeoutSeconds", int, 180, "time limit of one review attempt", 1, 3600, stricter=LOWER
    ),
    ConfigKey(
        "reviews.spec.agent", Agent, None, "who compares changes with their task; the chosen agent when unset"
    ),
    ConfigKey("reviews.spec.model", str, None, "the model of that reviewer", pattern=_MODEL),
    ConfigKey(
        "reviews.code.agent", Agent, None, "who reviews the code of changes; the chosen agent when unset"
    ),
    ConfigKey("reviews.code.model", str, None, "the model of that reviewer", pattern=_MODEL),
    ConfigKey("snapshot.timeoutSeconds", int, 60, "time limit of one snapshot", 1, 3600, stricter=HIGHER),
    ConfigKey(
        "snapshot.maxUntrackedBytes",
        int,
        50_000_000,
        "the largest untracked file that snapshots keep",
        0,
        2**40,
        stricter=HIGHER,
    ),
    ConfigKey(
        "tui.theme",
        Literal["auto", "dark", "light", "ansi"],
        "auto",
        "the colours of the screen; auto follows COLORFGBG",
    ),
    ConfigKey("tui.runDataRefreshIntervalSeconds", int, 5, "not used; kept for the Go program", 1, 300),
    ConfigKey("tui.planDataRefreshIntervalSeconds", int, 5, "not used; kept for the Go program", 1, 300),
    ConfigKey("planning.maxPlanAutoRefinePasses", int, 1, "not used; kept for the Go program", 0, 3),
)
KEYS: Mapping[str, ConfigKey] = {key.name: key for key in _KEYS}
