"""Complete an undo or a redo that was interrupted, or begun by a rejection."""

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.undo.undo import complete_undo
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.controller.core.waiting import finish_in_thread
from git_blackbird.errors import RequestError
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.run.states import VERBS


async def finish_undo(call: Call, item: Item) -> None:
    """Complete an undo or redo that has begun, and name the paths left as they are.

    Raises RequestError where something still cannot be written, and as ``undo_task`` does.
    """
    workspace, task_id = call.workspace, item.task.id
    result = await finish_in_thread(lambda: complete_undo(workspace, item.of_run), call.force_stop)
    words = VERBS[result.verb]
    was_interrupted = task_id not in call.rejected
    if result.is_whole:
        ending = ", which had been interrupted" if was_interrupted else ""
        inform(call.ui, f"the change of {task_id} is {words.done}{ending}", task_id)
    for remark in result.remarks:
        warn(call.ui, remark, task_id)
    if not result.is_whole:
        raise RequestError(
            f"the {words.noun} of {task_id} is half done",
            hint=(
                TaskCommand(words.command, task_id, remark="completes it, once nothing is in the way"),
                TaskCommand(VERBS[words.back].command, task_id, remark="turns it round"),
            ),
        )
