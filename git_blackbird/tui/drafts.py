"""What was written and has not gone anywhere yet: however its screen is left, it is here."""

from dataclasses import dataclass

from git_blackbird.controller.requests import is_kept
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.ids import TaskId


@dataclass
class Draft:
    """One text, as it is by now."""

    text: str = ""


class Drafts:
    """All of them, for as long as the application is open."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[str, str], Draft] = {}

    def of(self, what: str, about: str) -> Draft:
        """Give what was written of this before."""
        return self._drafts.setdefault((what, about), Draft())

    def to_agent(self, workspace: Workspace, task_id: TaskId) -> Draft:
        """Give what is written to a task's agent, as a change request or as a message; not what a record has.

        A request for which it is too late goes on as a message.
        """
        draft = self.of("told", task_id)
        if draft.text and is_kept(workspace, task_id, draft.text):
            draft.text = ""
        return draft
