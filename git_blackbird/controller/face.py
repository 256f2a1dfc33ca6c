"""The Protocol a person's side implements; None means that nobody is here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from git_blackbird.model.agent_rights import RightsQuestion
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.choices import Reply
from git_blackbird.model.conversation import Question
from git_blackbird.model.events import Event
from git_blackbird.model.plan import Task


@dataclass(frozen=True)
class LeftOpen:
    """A person was here and left the question open."""


class Face(Protocol):
    """A terminal, an application, a script: it shows and asks, and has no logic of its own.

    A question may be cancelled because someone answered elsewhere; the face must survive that with its
    terminal restored.
    """

    wants_output: bool

    def notify(self, event: Event) -> None:
        """Show what happens; must not block."""
        ...

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | LeftOpen | None:
        """Ask an agent's questions; gives answers by question id."""
        ...

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask whether an agent may start that may do more than edit the worktree."""
        ...

    async def decide(self, checkpoint: Checkpoint) -> Reply | LeftOpen | None:
        """Ask for a decision."""
        ...
