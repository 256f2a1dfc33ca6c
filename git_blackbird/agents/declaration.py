"""The properties of an agent that are known before it is loaded, declared in its folder."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Declaration:
    """An agent, and what others have to know of it.

    ``adapter`` is its class in ``agent.py`` beside the declaration, made with its section of the
    configuration, if it has one. With a key ``model`` there, a task can have a model of its own.
    ``session_variables`` are those that it sets for the tools of its session, which no other session gets;
    its user's settings are not among them. A ``*`` at the end stands for any. ``on_workers`` is what a worker
    of a cluster says of it instead of inspecting it, where whoever orders a run sends its program along.
    ``sessions`` is where it keeps sessions: a variable with the folder, and its name in HOME without that.
    ``attach`` are the words between its program, which its section names, and a session that a person opens.
    """

    adapter: str
    session_variables: tuple[str, ...] = ()
    on_workers: str | None = None
    sessions: tuple[str, str] | None = None
    attach: tuple[str, ...] = ()
