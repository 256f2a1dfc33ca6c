"""Which face a call wears: nobody here, plain lines, a terminal, or a program's events."""

import contextlib
import sys
from collections.abc import Iterator, Mapping

from git_blackbird.cli.context import Invocation
from git_blackbird.cli.streams import is_capable_terminal
from git_blackbird.cli.writer import running_writer
from git_blackbird.controller.face import Face, LeftOpen
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.agent_rights import RightsQuestion
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.choices import Reply
from git_blackbird.model.conversation import Question
from git_blackbird.model.events import Event, RunEnded
from git_blackbird.model.ids import RunId
from git_blackbird.model.plan import Task
from git_blackbird.model.run import RunType


class ToldReviews:
    """A face that remembers which reviews it told the end of: at the stop they are not told again."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._runs: set[RunId] = set()

    @property
    def runs(self) -> frozenset[RunId]:
        """The reviews whose end was told."""
        return frozenset(self._runs)

    @property
    def wants_output(self) -> bool:
        """What the face wants."""
        return self._face.wants_output

    @wants_output.setter
    def wants_output(self, wanted: bool) -> None:
        self._face.wants_output = wanted

    def notify(self, event: Event) -> None:
        """Show what happens."""
        if isinstance(event, RunEnded) and event.run.run_type is RunType.REVIEW:
            self._runs.add(event.run.id)
        self._face.notify(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | LeftOpen | None:
        """Ask."""
        return await self._face.answer(task, questions)

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask."""
        return await self._face.agree(question)

    async def decide(self, checkpoint: Checkpoint) -> Reply | LeftOpen | None:
        """Ask."""
        return await self._face.decide(checkpoint)


@contextlib.contextmanager
def build_face(call: Invocation, workspace: Workspace, *, stream: bool) -> Iterator[Face]:
    """Give the face that fits how the program was called, and leave the terminal as it was."""
    if call.output.as_json:
        from git_blackbird.cli.json_face import JsonFace  # noqa: PLC0415  # one of three is needed

        with running_writer() as writer:
            yield JsonFace(call.output, writer, wants_output=stream)
    elif not call.no_input and is_capable_terminal(call.world.environ):
        from git_blackbird.cli.terminal_face import TerminalFace  # noqa: PLC0415  # questionary is for terminals

        with TerminalFace(call.output, workspace, wants_output=stream) as face:
            yield face
    else:
        from git_blackbird.cli.line_face import LineFace  # noqa: PLC0415  # one of three is needed

        asks = not call.no_input and not _keys_go_to_pager(call)
        with running_writer() as writer:
            yield LineFace(workspace, writer, asks=asks, wants_output=stream)


def _keys_go_to_pager(call: Invocation) -> bool:
    """Whether a pager that git started reads the keys that would be an answer; says so once."""
    is_paged = bool(call.world.environ.get("GIT_PAGER_IN_USE")) and not sys.stdout.isatty()
    if not is_paged or not sys.stdin.isatty():
        return False
    call.output.warn(
        "git's pager reads the keyboard, so no questions are asked",
        f"`git --no-pager blackbird {call.output.command}` asks",
    )
    return True
