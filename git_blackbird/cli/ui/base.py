"""What the user interfaces of commands share: what nobody is asked, and the steps of a decision."""

from abc import abstractmethod
from collections.abc import Callable

from git_blackbird.cli.paint import painted_lines
from git_blackbird.cli.ui.agent_printer import AgentPrinter
from git_blackbird.cli.ui.writer import STDOUT, Writer
from git_blackbird.controller.core.drafts import Draft, Drafts
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.dialogue import (
    REVISION,
    Confirm,
    PlanChoice,
    PlanPanel,
    PlanReply,
    Say,
    ShowDiff,
    Step,
    Unsent,
    WriteReason,
    WriteRequest,
    confirm_unknown,
    next_step,
    no_diff_text,
)
from git_blackbird.messages.document import Line, line
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.decision import Reply
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Choice, RunType
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, RunEnded, RunOutput, RunProgress

OpenDraft = Callable[[], Draft]


class BaseUI(UserInterface):
    """Ask nothing, as long as no subclass does, and remember which reviews were shown to have ended."""

    is_on_terminal = shows_checkpoints = False

    def __init__(self, *, wants_output: bool) -> None:
        self.wants_output = wants_output
        self.shown_reviews: set[RunId] = set()

    def notify(self, event: Event) -> None:
        if isinstance(event, RunEnded) and event.run.run_type is RunType.REVIEW:
            self.shown_reviews.add(event.run.id)
        self.show(event)

    @abstractmethod
    def show(self, event: Event) -> None:
        """Show what happens; must not block."""

    async def run_apart(self, program: Callable[[], object]) -> None:
        """Run a program of the user's, which has the terminal to itself until its end."""
        program()


class SilentUI(BaseUI):
    """Show nothing, and ask nobody."""

    def __init__(self) -> None:
        super().__init__(wants_output=False)

    def show(self, event: Event) -> None:
        """Ignore what happens."""


class AskingUI(BaseUI):
    """Ask a person for a decision, in steps that a subclass puts on its screen."""

    def __init__(self, workspace: Workspace, writer: Writer, *, colored: bool, wants_output: bool) -> None:
        super().__init__(wants_output=wants_output)
        self._workspace = workspace
        self._writer = writer
        self._drafts = Drafts(workspace)
        self._colored = colored
        self._printers: dict[RunId, AgentPrinter] = {}
        self._is_parallel = workspace.is_parallel

    def _about(self, task_id: TaskId) -> str:
        """Return how a question begins where others may be about other tasks."""
        return f"{task_id}: " if self._is_parallel else ""

    def _printer(self, event: RunOutput | RunProgress) -> AgentPrinter:
        """Return what prints the output of a run, each line with its task where there may be others."""
        if event.run_id not in self._printers:
            prefix = f"{event.task_id} | " if self._is_parallel else ""
            self._printers[event.run_id] = AgentPrinter(self._writer, colored=self._colored, prefix=prefix)
        return self._printers[event.run_id]

    def _finish_printing(self, run: Run) -> None:
        if (printer := self._printers.pop(run.id, None)) is not None:
            printer.finish(run)

    @abstractmethod
    async def _choose(self, checkpoint: Checkpoint) -> Choice:
        """Ask for one of the choices that are possible."""

    @abstractmethod
    async def _request(self, about: str, draft: OpenDraft, step: WriteRequest) -> str | None:
        """Ask for a change request, for which there is a draft; None goes back to the choices."""

    @abstractmethod
    async def _reason(self, title: str) -> str | None:
        """Ask for a line that may be empty; None goes back to the choices."""

    @abstractmethod
    async def _confirms(self, step: Confirm) -> bool:
        """Ask what its remarks, which are shown, are about."""

    @abstractmethod
    async def _show_diff(self, pair: Trees, run: Run) -> None:
        """Show a diff of the change of a run. Raises BlackbirdError."""

    def _unsent(self, run: Run) -> Unsent:
        """Return what was written about the change of a run and is not sent."""
        return self._drafts.unsent(run)

    async def _decide(self, checkpoint: Checkpoint) -> Reply:
        """Take one step after another until something is decided."""
        while True:
            choice = await self._choose(checkpoint)
            step = next_step(checkpoint, choice, self._unsent(checkpoint.run))
            if (reply := await self._take(checkpoint, step)) is not None:
                return reply

    async def _take(self, checkpoint: Checkpoint, step: Step) -> Reply | None:
        """Take a step; None goes back to the choices."""
        match step:
            case Say():
                self._print(step.text)
            case ShowDiff():
                try:
                    await self._show_diff(step.trees, checkpoint.run)
                except BlackbirdError as error:
                    self._print(no_diff_text(error.message))
            case WriteRequest():
                self._print(*filter(None, [step.remark]))
                run = checkpoint.run
                about, draft = self._about(run.task_id), lambda: self._drafts.request(run, step.suggestion)
                while (text := await self._request(about, draft, step)) is not None:
                    if (obstacle := step.obstacle(text)) is None:
                        return step.reply(text)
                    self._print(obstacle)
            case WriteReason():
                if (text := await self._reason(f"{self._about(checkpoint.task.id)}{step.title}")) is not None:
                    return step.reply(text)
            case Confirm():
                self._print(*step.remarks)
                if step.then is not None and await self._confirms(step):
                    return await self._take(checkpoint, step.then)
            case _:
                return step
        return None

    async def _is_meant(self, draft: Draft, step: WriteRequest) -> bool:
        """Ask once about a request that names paths which neither the user's nor the task's worktree has."""
        names = draft.unknown_paths(self._workspace.paths.state_root, step.worktree)
        if not names:
            return True
        question = confirm_unknown(names)
        self._print(*question.remarks)
        return await self._confirms(question)

    @abstractmethod
    async def _choose_for_plan(self, panel: PlanPanel) -> PlanChoice:
        """Ask for one of the choices that are possible."""

    async def _review_plan(self, panel: PlanPanel) -> PlanReply:
        """Ask until something is decided about a plan."""
        while True:
            choice = await self._choose_for_plan(panel)
            if choice is not PlanChoice.REVISE:
                return PlanReply(choice)
            text = await self._request("", self._drafts.revision, REVISION)
            if text is not None:
                self._drafts.revision().drop()
                return PlanReply(choice, text)

    def _save(self, draft: Draft, stream: int = STDOUT) -> None:
        """Save a change request that is left; say so on ``stream`` if that is not possible."""
        draft.save()
        if draft.fault is not None:
            text = f"warning: what you wrote could not be saved: {draft.fault.message}\n"
            self._writer.put(text, stream)

    def _print(self, *parts: str | Line) -> None:
        lines = (line(part) if isinstance(part, str) else part for part in parts)
        painted = painted_lines(lines, None, colored=self._colored)
        self._writer.put("".join(f"{text}\n" for text in painted))
