"""What becomes of questions that nobody answered, and of a message that was to go with the answers."""

from git_blackbird.controller.drafts import Drafts
from git_blackbird.controller.face import Face, LeftOpen
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.messages.questions import questions_of
from git_blackbird.model.commands import answer_options, task_command
from git_blackbird.model.due import Ask
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.plan import Task
from git_blackbird.model.run import Run
from git_blackbird.model.stop import Stop, StopReason


def only_answers(task: Task, hint: str) -> RequestError:
    """Say that a message alone does not answer what an agent asked."""
    return RequestError(f"{task.id} is waiting for answers; -m alone does not answer them", hint=hint)


def left_unanswered(workspace: Workspace, face: Face, due: Ask, reply: Run | LeftOpen | None) -> Stop | None:
    """Stop where questions were left open, or go on where they were answered elsewhere.

    A message that was to go with the answers is kept as the task's draft. Raises RequestError where it was
    given and nobody is here to answer, SaveError. Needs a running loop.
    """
    task, options = due.task, answer_options(questions_of(due.run))
    command = task_command("resume", task.id, options)
    if due.message is not None:
        _keep(workspace, task, due.message)
        command = task_command("resume", task.id, f"{options} -e", remark="-e continues what -m said")
        if isinstance(reply, Run):
            text = f"{task.id} was answered elsewhere meanwhile; what -m said is kept"
            face.notify(Notice(Weight.WARNING, text, task_command("resume", task.id, " -e"), task.id))
    if isinstance(reply, Run):
        return None
    if reply is None and due.message is not None:
        raise only_answers(task, command)
    reason = StopReason.WAITING_USER if reply is None else StopReason.INTERRUPTED
    return Stop(reason, f"{task.id} waits for answers", (command,), task.id)


def _keep(workspace: Workspace, task: Task, message: str) -> None:
    draft = Drafts(workspace).message(task.id)
    if message not in draft.text:
        draft.text = "\n\n".join(filter(None, [draft.text.rstrip("\n"), message]))
    draft.save()
    if draft.fault is not None:
        raise draft.fault
