"""The protocol of user interfaces; a reply of None means that nobody is there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from git_blackbird.messages.display.dialogue import Confirm, PlanPanel, PlanReply
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.decision import Reply
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.parts import Question
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, Level, Notice


@dataclass(frozen=True)
class Unanswered:
    """A person was here and left the question open."""


class UserInterface(Protocol):
    """A terminal, an application or a script: it shows and asks, and has no logic of its own.

    What it does not ask itself, nobody is asked. Where it shows no checkpoints, none is put together for it.

    A question may be cancelled because someone answered elsewhere; it must survive that with its
    terminal restored.
    """

    wants_output: bool
    shows_checkpoints: bool

    @property
    def is_on_terminal(self) -> bool:
        """Whether a person sees it, and can end what takes too long."""
        ...

    def notify(self, event: Event) -> None:
        """Show what happens; must not block."""
        ...

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Ask an agent's questions; return the answers by question id."""
        return None

    async def agree(self, step: Confirm) -> bool | Unanswered | None:
        """Ask before anything starts, with the cursor on no."""
        return None

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        return None

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:
        return None


Hint = str | tuple[str, ...] | None
"""A way out or several: commands or prose."""


def warn(ui: UserInterface, text: str, task_id: TaskId | None = None, hint: Hint = None) -> None:
    ui.notify(Notice(Level.WARNING, text, hint, task_id))


def inform(ui: UserInterface, text: str, task_id: TaskId | None = None, hint: Hint = None) -> None:
    ui.notify(Notice(Level.INFO, text, hint, task_id))
