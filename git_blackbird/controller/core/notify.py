"""Asking a person, and starting ``notify.command`` when one is needed."""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple

from git_blackbird.agents.notify import NotifyProcess, start_notification
from git_blackbird.agents.protocol import RUN_ID_VARIABLE, TASK_ID_VARIABLE
from git_blackbird.clean import one_line
from git_blackbird.controller.core.ui import Unanswered, UserInterface, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.dialogue import Confirm, PlanPanel, PlanReply
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.change.decision import Reply
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import PENDING, queue
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import Question
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.stop import Stop, StopReason

_LIMIT_SECONDS = 30.0


class Notification(NamedTuple):
    """Why a person is needed: ``event`` is one word, ``text`` one line."""

    event: str
    text: str
    task_id: str = ""
    run_id: str = ""


def calling_for_decision(task: Task, run_id: str) -> Notification:
    return Notification("decision", f"a decision is due on {task.id}: {task.title}", task.id, run_id)


def send_notification(workspace: Workspace, calling: Notification) -> NotifyProcess | None:
    """Start the command in the background; None if none is configured."""
    command = workspace.config.notify.command
    if not command:
        return None
    repo = workspace.repo
    environ = {name: value for name, value in repo.environ.items() if name != RUN_ID_VARIABLE}
    variables = {
        "BLACKBIRD_EVENT": calling.event,
        "BLACKBIRD_TEXT": one_line(calling.text),
        TASK_ID_VARIABLE: calling.task_id,
        "BLACKBIRD_NOTIFY_RUN": calling.run_id,
    }
    return start_notification(command, cwd=repo.top, environ=environ | variables, seconds=_LIMIT_SECONDS)


_FINAL_WAIT_SECONDS = 0.5
_ALREADY_NOTIFIED = frozenset({StopReason.INTERRUPTED, StopReason.DECISION_REQUIRED, StopReason.WAITING_USER})
_HINT = Sentence(TaskCommand("config", rest=" notify.command"), " shows it")


class Prompter:
    """Asks a person, one question at a time, and starts ``notify.command`` when one is needed."""

    def __init__(self, workspace: Workspace, ui: UserInterface) -> None:
        self._workspace = workspace
        self._ui = ui
        self._started: list[NotifyProcess] = []
        self._notified: set[str] = set()
        self._is_failure_reported = False
        self._asking = asyncio.Lock()

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        run = self._workspace.store.records.history(task.id).latest
        prompts = " / ".join(question.prompt for question in questions)
        self._send(Notification("question", f"{task.id} asks: {prompts}", task.id, run.id if run else ""))
        async with self._asking:
            return await self._ui.answer(task, questions)

    async def agree(self, step: Confirm) -> bool | Unanswered | None:
        """Ask without notifying: the person has just started the call."""
        async with self._asking:
            return await self._ui.agree(step)

    async def decide(self, checkpoint: Checkpoint) -> Reply | Unanswered | None:
        self.call_for_decision(checkpoint.task, checkpoint.run.id)
        async with self._asking:
            return await self._ui.decide(checkpoint)

    def call_for_decision(self, task: Task, run_id: str) -> None:
        self._send(calling_for_decision(task, run_id))

    async def review_plan(self, panel: PlanPanel) -> PlanReply | Unanswered | None:
        self._send(Notification("decision", "a plan is proposed", PLANNING))
        async with self._asking:
            return await self._ui.review_plan(panel)

    def end(self, stop: Stop, state: PlanState) -> None:
        """Notify of what the call left open, and report a failed command."""
        if self._workspace.config.notify.command and stop.reason not in _ALREADY_NOTIFIED:
            if stop.reason is StopReason.COMPLETED:
                self._notify_waiting(state)
            else:
                self._send(Notification(stop.reason.value, stop.text, stop.task_id or ""))
        for process in self._started:
            process.wait(_FINAL_WAIT_SECONDS)
        self._report_failure()

    def _notify_waiting(self, state: PlanState) -> None:
        waiting = [
            item.task.id for item in queue(state) if item.due in PENDING and item.run_id not in self._notified
        ]
        if waiting:
            verb = "waits" if len(waiting) == 1 else "wait"
            self._send(Notification("waiting", f"{', '.join(waiting)} {verb} for you"))

    def _send(self, notification: Notification) -> None:
        self._report_failure()
        if notification.run_id and notification.run_id in self._notified:
            return
        self._notified.add(notification.run_id)
        started = send_notification(self._workspace, notification)
        if started is not None:
            self._started.append(started)

    def _report_failure(self) -> None:
        fault = next((process.fault for process in self._started if process.fault), None)
        self._started = [process for process in self._started if process.is_running]
        if fault is not None and not self._is_failure_reported:
            self._is_failure_reported = True
            warn(self._ui, f"notify.command failed: {fault}", hint=_HINT)
