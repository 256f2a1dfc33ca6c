"""Calling a person who is needed: ``notify.command``, run beside whatever face there is."""

from collections.abc import Mapping

from git_blackbird.agents.notify import Notification
from git_blackbird.controller.calling import Calling, call_person, calling_for_decision
from git_blackbird.controller.face import Face, LeftOpen
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.agent_rights import RightsQuestion
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.choices import Reply
from git_blackbird.model.conversation import Question
from git_blackbird.model.events import Event, Notice, Weight
from git_blackbird.model.owed import owed_by_person
from git_blackbird.model.plan import Task
from git_blackbird.model.stop import Stop, StopReason

_LAST_LOOK_SECONDS = 0.5
_TOLD_AT_ONCE = frozenset({StopReason.INTERRUPTED, StopReason.DECISION_REQUIRED, StopReason.WAITING_USER})
_HINT = "`git blackbird config notify.command` shows it"


class Summoning:
    """A face that runs ``notify.command`` before it asks; everything else is the face's own."""

    def __init__(self, workspace: Workspace, face: Face) -> None:
        self._workspace = workspace
        self._face = face
        self._command = workspace.settings.text("notify.command")
        self._started: list[Notification] = []
        self._told: set[str] = set()
        self._complained = False

    @property
    def wants_output(self) -> bool:
        """What the face wants."""
        return self._face.wants_output

    @wants_output.setter
    def wants_output(self, wanted: bool) -> None:
        self._face.wants_output = wanted

    def notify(self, event: Event) -> None:
        """Show what happens."""
        self._face.notify(event)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | LeftOpen | None:
        """Call for answers, and ask."""
        run = self._workspace.store.records.history(task.id).latest
        prompts = " / ".join(question.prompt for question in questions)
        self._call(Calling("question", f"{task.id} asks: {prompts}", task.id, run.id if run else ""))
        return await self._face.answer(task, questions)

    async def agree(self, question: RightsQuestion) -> bool | None:
        """Ask; whoever has just begun the call is there."""
        return await self._face.agree(question)

    async def decide(self, checkpoint: Checkpoint) -> Reply | LeftOpen | None:
        """Call for a decision, and ask."""
        self._call(calling_for_decision(checkpoint.task, checkpoint.run.id))
        return await self._face.decide(checkpoint)

    def end(self, stop: Stop) -> None:
        """Call for what a call of the program leaves behind, and say if a command failed."""
        if self._command and stop.reason not in _TOLD_AT_ONCE:
            if stop.reason is StopReason.COMPLETED:
                self._call_for_rest()
            else:
                self._call(Calling(stop.reason.value, stop.text, stop.task_id or ""))
        for one in self._started:
            one.wait(_LAST_LOOK_SECONDS)
        self._complain()

    def _call_for_rest(self) -> None:
        owed = [
            one.task.id
            for one in owed_by_person(self._workspace.standing())
            if one.run is None or one.run.id not in self._told
        ]
        if owed:
            verb = "waits" if len(owed) == 1 else "wait"
            self._call(Calling("waiting", f"{', '.join(owed)} {verb} for you"))

    def _call(self, calling: Calling) -> None:
        self._complain()
        if calling.run_id and calling.run_id in self._told:
            return
        self._told.add(calling.run_id)
        started = call_person(self._workspace, calling)
        if started is not None:
            self._started.append(started)

    def _complain(self) -> None:
        """Say once that the command does not work."""
        fault = next((one.fault for one in self._started if one.fault), None)
        self._started = [one for one in self._started if one.is_running]
        if fault is not None and not self._complained:
            self._complained = True
            self.notify(Notice(Weight.WARNING, f"notify.command failed: {fault}", _HINT))
