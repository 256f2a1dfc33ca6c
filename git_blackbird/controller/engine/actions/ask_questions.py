"""Ask what an agent asked, and send it the answers."""

from collections.abc import Mapping

from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.controller.core.ui import Unanswered, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.decisions.external_change import race_external_change
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.runs.instructions import order_answers
from git_blackbird.errors import RequestError
from git_blackbird.messages.incoming.questions import match_answers, questions_of, take_answer
from git_blackbird.model.entities.cli_hints import answer_options, task_command
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Run
from git_blackbird.model.rules.next_action import AskQuestions
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop, StopReason


async def ask_questions(engine: Engine, action: AskQuestions, state: PlanState) -> Stop | None:
    """Ask, and resume the session with the answers.

    Raises RequestError where a message was given and nobody is here to answer, SaveError.
    """
    task, run = action.task, action.run
    questions = questions_of(run)
    ask = race_external_change(engine.workspace, lambda: engine.ui.answer(task, questions), run)
    reply = await engine.interruptible(ask)
    if isinstance(reply, Mapping):
        answers = match_answers(questions, reply, take_answer)
        instruction = order_answers(run, task, state.pending_messages(task.id), answers)
        if action.message is not None:
            instruction = instruction.with_message(action.message)
        return await engine.run_task(instruction)
    return _without_answers(engine, action, Unanswered() if engine.is_interrupted else reply)


def only_answers(task: Task, hint: str) -> RequestError:
    """Return the error that a message alone does not answer an agent's questions."""
    return RequestError(f"{task.id} is waiting for answers; -m alone does not answer them", hint=hint)


def _without_answers(engine: Engine, action: AskQuestions, reply: Run | Unanswered | None) -> Stop | None:
    """Stop where the questions are open; go on where they were answered by another command.

    The message that was to go with the answers is saved as the task's draft.
    """
    task, options = action.task, answer_options(questions_of(action.run))
    command = task_command("resume", task.id, options)
    if action.message is not None:
        _save_draft(engine.workspace, task, action.message)
        command = task_command("resume", task.id, f"{options} -e", remark="-e continues the text of -m")
        if isinstance(reply, Run):
            text = f"{task.id} was answered elsewhere meanwhile; the text of -m is kept"
            warn(engine.ui, text, task.id, task_command("resume", task.id, " -e"))
    if isinstance(reply, Run):
        return None
    if reply is None and action.message is not None:
        raise only_answers(task, command)
    reason = StopReason.WAITING_USER if reply is None else StopReason.INTERRUPTED
    return Stop(reason, f"{task.id} waits for answers", (command,), task.id)


def _save_draft(workspace: Workspace, task: Task, message: str) -> None:
    draft = Drafts(workspace).message(task.id)
    if message not in draft.text:
        draft.text = "\n\n".join(filter(None, [draft.text.rstrip("\n"), message]))
    draft.save()
    if draft.fault is not None:
        raise draft.fault
