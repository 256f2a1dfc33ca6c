"""Tell a task's agent something while it works."""

from git_blackbird.cli.commands.run import MessageOptions
from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.change.work.tell import require_tellable, tell
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.events import render_told


def tell_task(
    call: CommandContext,
    task_id: str,
    *,
    message: str | None,
    message_file: str | None,
    in_editor: bool,
) -> ExitCode:
    options = MessageOptions.checked(call, message, message_file, in_editor=in_editor)
    if not options.is_given:
        raise UsageError("there is nothing to tell", hint="-m TEXT, -F FILE, or -e for your editor")
    workspace = call.workspace
    if in_editor:
        require_tellable(workspace, task_id)
    told = tell(workspace, task_id, options.read(workspace, task_id) or "")
    call.print(render_told(told.run, is_watched=told.is_watched))
    call.data("events:TellOutput", told)
    return ExitCode.OK
