"""What an agent may do beyond editing the worktree, and whether a person was told (DESIGN.md 11)."""

from typing import NamedTuple


class Rights(NamedTuple):
    """What an agent may do as configured, in words, and the settings that say so."""

    says: str
    terms: tuple[str, ...] = ()


class RightsQuestion(NamedTuple):
    """What a person agrees to: an agent with these rights, and whether the call stops after each task."""

    agent: str
    rights: Rights
    stops_after_each: bool
