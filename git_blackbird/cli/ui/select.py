"""Which face a call wears: nobody here, plain lines, a terminal, or a program's events."""

import contextlib
import sys
from collections.abc import Iterator, Mapping

from git_blackbird.cli.context import CommandContext
from git_blackbird.cli.stdio import is_capable_terminal
from git_blackbird.cli.ui.writer import running_writer
from git_blackbird.controller.core.ui import Unanswered, UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.entities.agent_io import Question, RightsQuestion
from git_blackbird.model.entities.decision import Reply
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import RunType
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, RunEnded


class ReviewTracker:
    """A face that remembers which reviews it told the end of: at the stop they are not told again."""

    def __init__(self, ui: UserInterface) -> None:
        self._ui = ui
        self._runs: set[RunId] = set()

    @property
    def runs(self) -> frozenset[RunId]:
        """The reviews whose end was told."""
        return frozenset(self._runs)

    @property
    def wants_output(self) -> bool:
        """What the face wants."""
        return self._ui.wants_output

    @wants_output.setter
    def wants_output(self, wanted: bool) -> None:
        self._ui.wants_output = wanted

    def notify(self, event: Event) -> None:
        """Show what happens."""
        if isinstance(event, RunEnded) and event.run.run_type is RunType.REVIEW:
            self._runs.add(event.run.id)
        self._ui.notify(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        """Ask."""
        return await self._ui.answer(task, questions)

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask."""
        return await self._ui.agree(question)

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        """Ask."""
        return await self._ui.decide(checkpoint)


@contextlib.contextmanager
def build_ui(call: CommandContext, workspace: Workspace, *, stream: bool) -> Iterator[UserInterface]:
    """Return the face that fits how the program was called, and leave the terminal as it was."""
    if call.output.as_json:
        from git_blackbird.cli.ui.json import JsonUI  # noqa: PLC0415  # one of three is needed

        with running_writer() as writer:
            yield JsonUI(writer, wants_output=stream)
    elif not call.no_input and is_capable_terminal(call.environment.environ):
        from git_blackbird.cli.ui.terminal import TerminalUI  # noqa: PLC0415  # questionary is for terminals

        with TerminalUI(call.output, workspace, wants_output=stream) as ui:
            yield ui
    else:
        from git_blackbird.cli.ui.plain import PlainUI  # noqa: PLC0415  # one of three is needed

        asks = not call.no_input and not _keys_go_to_pager(call)
        with running_writer() as writer:
            yield PlainUI(workspace, writer, asks=asks, wants_output=stream)


def _keys_go_to_pager(call: CommandContext) -> bool:
    """Whether a pager that git started reads the keys that would be an answer; says so once."""
    is_paged = bool(call.environment.environ.get("GIT_PAGER_IN_USE")) and not sys.stdout.isatty()
    if not is_paged or not sys.stdin.isatty():
        return False
    call.output.warn(
        "git's pager reads the keyboard, so no questions are asked",
        f"`git --no-pager blackbird {call.output.command}` asks",
    )
    return True
