"""What the user interfaces of commands share: a thread that writes, and the steps of a decision."""

import asyncio
import errno
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager

from git_blackbird.cli.render.transcript import ProgressLog
from git_blackbird.cli.stdio import OutputError, write_some
from git_blackbird.controller.core.drafts import Draft, Drafts
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.dialogue import (
    Confirm,
    Say,
    ShowDiff,
    Step,
    Unsent,
    WriteRequest,
    confirm_unknown,
    next_step,
    no_diff_text,
)
from git_blackbird.messages.display.plan_dialogue import REVISION, PlanChoice, PlanPanel, PlanReply
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.sanitize import StreamSanitizer
from git_blackbird.model.change.decision import Choice, Reply
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.agent_io import Progress, RightsQuestion
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, RunEnded, RunOutput, RunProgress

STDOUT = 1
STDERR = 2
MAX_BACKLOG = 256 * 1024
_LONGEST_LINE = 8192
# How a pipe without a reader and a terminal that is gone refuse: nobody misses what is not printed there.
_LEFT = frozenset({errno.EPIPE, errno.EIO})

Job = Callable[[], None]
OpenDraft = Callable[[], Draft]


class Writer:
    """Writes what it is given, in order, in a thread of its own.

    Giving never blocks. What may be dropped is dropped while more than ``MAX_BACKLOG`` characters wait,
    and how many bytes were is reported in their place. Once a reader has gone away, the rest is forgotten.
    """

    def __init__(self) -> None:
        self._jobs: deque[tuple[Job, int]] = deque()
        self._wake = threading.Condition()
        self._waiting = 0
        self._dropped = 0
        self._closed = False
        self._held = False
        self._failure: Exception | None = None
        # A stream that was closed from the start is written to no more than one whose reader went away: its
        # number may belong to any other file by now.
        streams = {STDOUT: sys.stdout, STDERR: sys.stderr}
        self._gone = {number for number, stream in streams.items() if stream is None}
        self._encodings: dict[int, str] = {}
        for number in streams.keys() - self._gone:
            streams[number].flush()
            self._encodings[number] = streams[number].encoding or "utf-8"
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def put(self, text: str, stream: int = STDOUT) -> None:
        """Write one piece of text; it is never dropped."""
        self.perform(lambda: self.write(text, stream), len(text))

    def put_droppable(self, text: str, where: int = STDOUT) -> None:
        """Write one piece of text if whoever reads keeps up, else count what is lost."""
        if self.is_behind:
            self.drop(len(text.encode(errors="replace")))
        else:
            self.report_dropped()
            self.put(text, where)

    def drop(self, size: int) -> None:
        """Count ``size`` bytes as lost; the total is reported with the next write."""
        self._dropped += size

    @property
    def is_behind(self) -> bool:
        """Whether more waits than may."""
        return self._waiting > MAX_BACKLOG

    @property
    def has_kept(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._jobs)

    def perform(self, job: Job, size: int = 0) -> None:
        """Do something in the thread once all before it is done; ``size`` counts as what waits."""
        with self._wake:
            self._jobs.append((job, size))
            self._waiting += size
            self._wake.notify()

    def write(self, text: str, stream: int = STDOUT) -> None:
        """Write at once; only for jobs, since it may block."""
        data = memoryview(text.encode(self._encodings.get(stream, "utf-8"), errors="replace"))
        while data and stream not in self._gone:
            try:
                data = data[write_some(stream, data) :]
            except OSError as error:
                # The pipe has no reader or the terminal hung up; the work goes on without being shown.
                self._gone.add(stream)
                if stream == STDOUT and error.errno not in _LEFT:
                    self._failure = OutputError(error)

    async def drained(self) -> None:
        """Wait until everything given so far is written; nothing else is held up meanwhile."""
        done: Future[None] = Future()
        self.perform(lambda: _resolve(done))
        await asyncio.wrap_future(done)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Write all that was given before the block, and keep what comes until its end.

        For a question: what others do must not be written into it.
        """
        try:
            await self._hold()
            yield
        finally:
            self._release()

    async def let_through(self) -> None:
        """Write, in a block of ``held``, what was kept so far."""
        self._release()
        await self._hold()

    async def _hold(self) -> None:
        done: Future[None] = Future()
        self.perform(lambda: self._shut(done))
        await asyncio.wrap_future(done)

    def _shut(self, done: Future[None]) -> None:
        self.make_way()
        self._held = True
        # A wait that was given up is followed by nothing that would open it.
        if done.set_running_or_notify_cancel():
            done.set_result(None)
        else:
            self._held = False

    def _release(self) -> None:
        with self._wake:
            self._held = False
            self._wake.notify()

    def make_way(self) -> None:
        """Take away what is not to stay, in the thread."""

    def close(self) -> None:
        """Write what is left and end the thread; raises what went wrong in it."""
        self.report_dropped()
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def report_dropped(self) -> None:
        """Say how many bytes were dropped since the last report."""
        if self._dropped:
            self.put(f"\n[{self._dropped} bytes are not shown: the screen could not keep up]\n")
            self._dropped = 0

    def _run(self) -> None:
        while (entry := self._next()) is not None:
            job, size = entry
            try:
                job()
            except Exception as error:  # noqa: BLE001  # raised by close; until then the rest is shown
                self._failure = error
            with self._wake:
                self._waiting -= size

    def _next(self) -> tuple[Job, int] | None:
        with self._wake:
            while self._held and not self._closed:
                self._wake.wait()
            if not self._jobs and not self._closed:
                self._wake.wait(self.pause_seconds())
            if self._jobs:
                return self._jobs.popleft()
            return None if self._closed else (self.idle, 0)

    def pause_seconds(self) -> float | None:
        """Return how long to wait for something to write before ``idle`` is called; None is for ever."""
        return None

    def idle(self) -> None:
        """Do what is to be done while nothing is to be written."""


def _resolve(future: Future[None]) -> None:
    # A wait that was given up has cancelled it.
    if future.set_running_or_notify_cancel():
        future.set_result(None)


class BaseUI:
    """Ask nothing, as long as no subclass does, and remember which reviews were shown to have ended."""

    def __init__(self, *, wants_output: bool) -> None:
        self.wants_output = wants_output
        self.shown_reviews: set[RunId] = set()

    def notify(self, event: Event) -> None:
        if isinstance(event, RunEnded) and event.run.run_type is RunType.REVIEW:
            self.shown_reviews.add(event.run.id)
        self.show(event)

    def show(self, event: Event) -> None:
        """Show what happens; must not block."""
        raise NotImplementedError

    async def run_apart(self, program: Callable[[], object]) -> None:
        """Leave the terminal to a program of the user's until its end."""
        raise NotImplementedError

    async def answer(
        self,
        task: Task,  # noqa: ARG002  # the Protocol's, here and below
        questions: tuple[Question, ...],  # noqa: ARG002
    ) -> Mapping[str, str] | Unanswered | None:
        return None

    async def agree(self, question: RightsQuestion) -> bool | None:  # noqa: ARG002
        return None

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:  # noqa: ARG002
        return None

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:  # noqa: ARG002
        return None


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

    def _printer(self, event: RunOutput | RunProgress) -> "AgentPrinter":
        """Return what prints the output of a run, each line with its task where there may be others."""
        if event.run_id not in self._printers:
            prefix = f"{event.task_id} | " if self._is_parallel else ""
            self._printers[event.run_id] = AgentPrinter(self._writer, colored=self._colored, prefix=prefix)
        return self._printers[event.run_id]

    def _finish_printing(self, run: Run) -> None:
        if (printer := self._printers.pop(run.id, None)) is not None:
            printer.finish(run)

    async def _choose(self, checkpoint: Checkpoint) -> Choice:
        """Ask for one of the choices that are possible."""
        raise NotImplementedError

    async def _request(self, about: str, draft: OpenDraft, step: WriteRequest) -> str | None:
        """Ask for a change request, for which there is a draft; None goes back to the choices."""
        raise NotImplementedError

    async def _confirms(self, step: Confirm) -> bool:
        """Ask what its remarks, which are shown, are about."""
        raise NotImplementedError

    async def _show_diff(self, pair: Trees) -> None:
        """Show a diff. Raises BlackbirdError."""
        raise NotImplementedError

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
                    await self._show_diff(step.trees)
                except BlackbirdError as error:
                    self._print(no_diff_text(error.message))
            case WriteRequest():
                self._print(*filter(None, [step.remark]))
                run = checkpoint.run
                text = await self._request(
                    self._about(run.task_id), lambda: self._drafts.request(run, step.suggestion), step
                )
                return None if text is None else step.reply(text)
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

    async def _choose_for_plan(self, panel: PlanPanel) -> PlanChoice:
        """Ask for one of the choices that are possible."""
        raise NotImplementedError

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

    def _print(self, *lines: str) -> None:
        self._writer.put("".join(f"{line}\n" for line in lines))


class AgentPrinter:
    """Print plain output as it comes, an event stream as its steps, standard error to ours (``--stream``).

    Nothing of it steers a terminal. What a screen cannot keep up with is dropped and counted. With a prefix
    whole lines are printed, each behind it.
    """

    def __init__(self, writer: Writer, *, colored: bool, prefix: str = "") -> None:
        self._writer = writer
        self._prefix = prefix
        self._begun = {STDOUT: "", STDERR: ""}
        self._streams = {"stdout": (StreamSanitizer(), STDOUT), "stderr": (StreamSanitizer(), STDERR)}
        self._transcript = ProgressLog(colored=colored)

    def show(self, event: RunOutput) -> None:
        """Show the next piece of plain output, and of standard error; of an event stream nothing."""
        if not event.is_plain and event.stream == "stdout":
            return
        stream, where = self._streams[event.stream]
        self._writer.drop(event.skipped)
        if self._writer.is_behind:
            self._writer.drop(len(event.data))
        else:
            self._writer.put_droppable(self._lines(stream.feed(event.data), where), where)

    def follow(self, step: Progress, columns: int | None = None) -> None:
        block = self._transcript.render(step, None if columns is None else columns - len(self._prefix))
        if block:
            self._writer.put_droppable(self._lines(block, STDOUT))

    def _lines(self, text: str, where: int) -> str:
        if not self._prefix:
            return text
        *lines, self._begun[where] = (self._begun[where] + text).split("\n")
        if len(self._begun[where]) > _LONGEST_LINE:
            lines.append(self._begun[where])
            self._begun[where] = ""
        return "".join(f"{self._prefix}{line}\n" for line in lines)

    def finish(self, run: Run) -> None:
        """Show what was held back, and what the run has spent."""
        for stream, where in self._streams.values():
            self._writer.put(self._lines(stream.finish(), where), where)
        self._writer.put(
            self._lines(self._transcript.finish(run.own.agent.usage, run.own.agent.cost_usd), STDOUT)
        )
