"""The layers of the configuration, what stands in them, and the names and choices that options share."""

import re
from enum import IntEnum
from typing import Annotated, Literal, NamedTuple, get_args

from git_blackbird.model.base.sanitize import short_json
from git_blackbird.model.base.shown import Shown


class Layer(IntEnum):
    """The source of a value; the smaller wins."""

    FLAG = 0
    ENVIRONMENT = 1
    GIT_LOCAL = 2
    PROJECT = 3
    GIT_GLOBAL = 4
    GLOBAL = 5
    AGENT_CHOICE = 6
    DEFAULT = 7


class RawSetting(NamedTuple):
    """One value of a layer; ``origin`` names the file or variable."""

    name: str
    raw: object
    layer: Layer
    origin: str


class ConfigProblem(NamedTuple):
    """Something wrong in the configuration."""

    origin: Annotated[str, Shown("The file or variable.")]
    key: Annotated[str, Shown("The key.")]
    what: Annotated[str, Shown("What is wrong.")]
    hint: Annotated[str, Shown("What to do.")]
    fatal: Annotated[bool, Shown("Whether it stops commands that start or decide.")] = True

    def __str__(self) -> str:
        return f"{self.origin}: {self.key}: {self.what}"


AgentName = Literal["claude", "codex", "command", "demo", "gemini", "opencode"]
"""The agents there are, each in the folder of its name in ``git_blackbird/agents``.

The names are here because options and completion are made from them without an agent or a key being loaded.
"""
AGENT_NAMES: tuple[str, ...] = get_args(AgentName)
DEFAULT_AGENT: AgentName = "claude"
PlanStatuses = Literal["all", "lasting"]
PLAN_STATUSES: tuple[str, ...] = get_args(PlanStatuses)
OnLimit = Literal["wait", "stop", "other-agent"]
ReviewMode = Literal["off", "parallel"]
REVIEW_MODES: tuple[str, ...] = get_args(ReviewMode)


_GIT_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False, "": False}
_GIT_INTEGER = r"([+-]?)(0[xX][0-9a-fA-F]+|[0-9]{1,40})([kKmMgG]?)"
_NUMBER = r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?"
_SCALES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def parse_boolean(raw: str) -> bool:
    """Return the truth value that git takes a text for. Raises ValueError."""
    word = _GIT_BOOLEANS.get(raw.lower())
    if word is not None:
        return word
    try:
        return parse_integer(raw) != 0
    except ValueError:
        raise ValueError(f"{short_json(raw)} is not a boolean") from None


def parse_integer(raw: str) -> int:
    """Return the number that git takes a text for: it may have a unit. Raises ValueError."""
    match = re.fullmatch(_GIT_INTEGER, raw.strip())
    if match is None:
        raise ValueError(f"{short_json(raw)} is not an integer")
    sign, digits, unit = match.groups()
    base = 16 if digits[:2] in {"0x", "0X"} else 8 if digits.startswith("0") and len(digits) > 1 else 10
    try:
        return int(sign + digits, base) * _SCALES[unit.lower()]
    except ValueError:
        raise ValueError(f"{short_json(raw)} is not an integer") from None


def parse_number(raw: str) -> float:
    """Return the number of a text, which may have a fraction, unlike git's. Raises ValueError."""
    if re.fullmatch(_NUMBER, raw.strip()) is None:
        raise ValueError(f"{short_json(raw)} is not a number")
    return float(raw)
