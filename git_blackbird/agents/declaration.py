"""The properties of an agent that are known before it is loaded, declared in its folder."""

from dataclasses import dataclass
from typing import Literal

from git_blackbird.model.config.keys import ModelName, Section, key


@dataclass(frozen=True)
class Declaration:
    """An agent, its section of the configuration, and what others have to know of it.

    ``adapter`` is its class in ``agent.py`` beside the declaration, made with its section. ``settings`` is
    the class of that section, which has no sections inside; with a key ``model``, a reviewer of changes can
    be given a model of its own. ``chosen_by`` is an environment variable that chooses this agent.
    ``session_variables`` are those that it sets for the tools of its session, which no other session gets;
    its user's settings are not among them. A ``*`` at the end stands for any. ``on_workers`` is what a worker
    of a cluster says of it instead of inspecting it, where whoever orders a run sends its program along.
    ``sessions`` is where it keeps sessions: a variable with the folder, and its name in HOME without that.
    ``attach`` are the words between its program, which its section names, and a session that a person opens.
    """

    adapter: str
    settings: type[Section] | None = None
    chosen_by: str | None = None
    session_variables: tuple[str, ...] = ()
    on_workers: str | None = None
    sessions: tuple[str, str] | None = None
    attach: tuple[str, ...] = ()


class PermissionConfig(Section):
    """The keys of an agent whose program is told by name which tools it may use."""

    path: str
    permissions: Literal["all", "edit"] = key("all", "what it may do", own="user")
    model: ModelName | None = key(None, "the model for it; its own choice when unset")
    args: tuple[str, ...] = key((), "more arguments for it", own="user")
