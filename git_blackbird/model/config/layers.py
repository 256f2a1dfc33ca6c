"""The layers of the configuration, what stands in them, and names that commands share; without pydantic."""

from enum import IntEnum
from typing import Literal, NamedTuple, get_args


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
    """A problem in a configuration layer.

    A ``fatal`` one stops commands that start or decide; the others are reported, and the value is ignored.
    """

    origin: str
    key: str
    what: str
    hint: str
    fatal: bool = True

    def __str__(self) -> str:
        return f"{self.origin}: {self.key}: {self.what}"


AgentName = Literal["claude", "codex", "command", "demo"]
ReviewMode = Literal["off", "parallel"]
AGENT_NAMES: tuple[str, ...] = get_args(AgentName)
REVIEW_MODES: tuple[str, ...] = get_args(ReviewMode)
