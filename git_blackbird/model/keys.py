"""Every configuration key: its type, range, default and what it says (DESIGN.md 11)."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NamedTuple

Value = bool | int | str | tuple[str, ...]


class Kind(StrEnum):
    """The type of a key's value."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    TEXT = "text"
    WORDS = "list of texts"


class Stricter(StrEnum):
    """Which of two values of a key that protects its user is the stricter.

    ``HIGHER``: true over false, the larger number, the later choice; ``LOWER``: the other way round.
    """

    HIGHER = "higher"
    LOWER = "lower"


class Key(NamedTuple):
    """One configuration key.

    ``clone_safe`` is false for what a cloned repository must not choose: programs, flags, permissions.
    ``fault`` says why a text cannot be its value, None when it can.
    ``stricter`` is set for keys that protect: a project may tighten what its user set, and not loosen it.
    """

    name: str
    kind: Kind
    default: Value | None
    says: str
    low: int = 0
    high: int = 0
    environment: str | None = None
    clone_safe: bool = True
    choices: tuple[str, ...] = ()
    fault: Callable[[str], str | None] | None = None
    stricter: Stricter | None = None

    def is_stricter(self, value: Value, other: Value) -> bool:
        """Whether ``value`` protects more than ``other`` does; false where the key protects from nothing."""
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


_MODEL = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9_.:/@+\[\]-]{0,199})?")


def model_fault(text: str) -> str | None:
    """Say why ``text`` cannot name a model: an agent must not read it as an option."""
    return None if _MODEL.fullmatch(text) else "not the name of a model"


AGENT_NAMES = ("claude", "codex", "command", "demo")

CLAUDE_MODES = ("bypassPermissions", "acceptEdits", "auto", "default", "dontAsk", "manual", "plan")

KEYS: Mapping[str, Key] = {
    key.name: key
    for key in (
        Key(
            "agent",
            Kind.TEXT,
            "claude",
            "the agent that does the tasks",
            environment="BLACKBIRD_AGENT_PROVIDER",
            choices=AGENT_NAMES,
        ),
        Key("claude.path", Kind.TEXT, "claude", "the claude program", clone_safe=False),
        Key(
            "claude.permissionMode",
            Kind.TEXT,
            "bypassPermissions",
            "what claude may do without asking",
            clone_safe=False,
            choices=CLAUDE_MODES,
        ),
        Key(
            "claude.model",
            Kind.TEXT,
            None,
            "the model claude uses; its own choice when unset",
            fault=model_fault,
        ),
        Key("claude.args", Kind.WORDS, (), "more arguments for claude", clone_safe=False),
        Key("codex.path", Kind.TEXT, "codex", "the codex program", clone_safe=False),
        Key(
            "codex.sandbox",
            Kind.TEXT,
            "workspace-write",
            "what codex may do",
            clone_safe=False,
            choices=("read-only", "workspace-write", "danger-full-access"),
        ),
        Key(
            "codex.model",
            Kind.TEXT,
            None,
            "the model codex uses; its own choice when unset",
            fault=model_fault,
        ),
        Key("codex.args", Kind.WORDS, (), "more arguments for codex", clone_safe=False),
        Key(
            "command.run",
            Kind.TEXT,
            None,
            "the shell command of the agent `command`",
            environment="BLACKBIRD_AGENT_CMD",
            clone_safe=False,
        ),
        Key(
            "command.schema",
            Kind.BOOLEAN,
            default=False,
            says="the command honours BLACKBIRD_RESPONSE_SCHEMA",
            clone_safe=False,
        ),
        Key(
            "execution.stopAfterEachTask",
            Kind.BOOLEAN,
            default=False,
            says="stop for a decision after each task",
            stricter=Stricter.HIGHER,
        ),
        Key(
            "execution.acceptNoChange",
            Kind.BOOLEAN,
            default=False,
            says="a task may be done without a change and without a decision",
            stricter=Stricter.LOWER,
        ),
        Key(
            "execution.commit",
            Kind.TEXT,
            "never",
            "what is committed when a change is approved",
            choices=("never", "approved"),
            stricter=Stricter.LOWER,
        ),
        Key(
            "execution.parentReviewEnabled",
            Kind.BOOLEAN,
            default=True,
            says="review a parent when all its children are done",
            stricter=Stricter.HIGHER,
        ),
        Key("execution.timeoutMinutes", Kind.INTEGER, 60, "longest run", 1, 1440, stricter=Stricter.LOWER),
        Key(
            "execution.idleMinutes",
            Kind.INTEGER,
            20,
            "longest silence of an agent",
            1,
            1440,
            stricter=Stricter.LOWER,
        ),
        Key(
            "execution.logMegabytes",
            Kind.INTEGER,
            256,
            "kept of each output stream of a run",
            1,
            4096,
            stricter=Stricter.LOWER,
        ),
        Key(
            "execution.stopGraceSeconds",
            Kind.INTEGER,
            5,
            "an agent's time to stop by itself",
            0,
            120,
            stricter=Stricter.LOWER,
        ),
        Key(
            "notify.command",
            Kind.TEXT,
            None,
            "a shell command to run when you are needed",
            clone_safe=False,
        ),
        Key(
            "reviews.mode",
            Kind.TEXT,
            "off",
            "review what each task changed: spec and code side by side",
            choices=("off", "parallel"),
            stricter=Stricter.HIGHER,
        ),
        Key(
            "reviews.maxIterations",
            Kind.INTEGER,
            3,
            "most rounds of reviews and fixes",
            1,
            20,
            stricter=Stricter.LOWER,
        ),
        Key(
            "reviews.diffThresholdLines",
            Kind.INTEGER,
            500,
            "longest diff given to reviewers in full",
            0,
            10_000,
        ),
        Key(
            "reviews.timeoutSeconds",
            Kind.INTEGER,
            180,
            "time limit of one review attempt",
            1,
            3600,
            stricter=Stricter.LOWER,
        ),
        Key(
            "reviews.spec.agent",
            Kind.TEXT,
            None,
            "who reviews against the task; the agent when unset",
            choices=AGENT_NAMES,
        ),
        Key("reviews.spec.model", Kind.TEXT, None, "the model of that reviewer", fault=model_fault),
        Key(
            "reviews.code.agent",
            Kind.TEXT,
            None,
            "who reviews the code; the agent when unset",
            choices=AGENT_NAMES,
        ),
        Key("reviews.code.model", Kind.TEXT, None, "the model of that reviewer", fault=model_fault),
        Key(
            "snapshot.timeoutSeconds",
            Kind.INTEGER,
            60,
            "longest time for one snapshot",
            1,
            3600,
            stricter=Stricter.HIGHER,
        ),
        Key(
            "snapshot.maxUntrackedBytes",
            Kind.INTEGER,
            50_000_000,
            "largest untracked file a snapshot keeps",
            0,
            2**40,
            stricter=Stricter.HIGHER,
        ),
        Key(
            "tui.theme",
            Kind.TEXT,
            "auto",
            "the screen's colours; auto goes by COLORFGBG",
            choices=("auto", "dark", "light", "ansi"),
        ),
        Key("tui.runDataRefreshIntervalSeconds", Kind.INTEGER, 5, "kept for the Go program", 1, 300),
        Key("tui.planDataRefreshIntervalSeconds", Kind.INTEGER, 5, "kept for the Go program", 1, 300),
        Key("planning.maxPlanAutoRefinePasses", Kind.INTEGER, 1, "kept for the Go program", 0, 3),
    )
}
