"""What an undo or a redo has done or would do, for people."""

from collections.abc import Iterator

from git_blackbird.messages.display.dialogue import Confirm
from git_blackbird.messages.display.format import render_path
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, Style, block, command, line, styled
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.states import VERBS
from git_blackbird.model.views.undo import UndoResult


def undo_result_lines(result: UndoResult) -> Iterator[Line]:
    """Yield what was taken back or brought back, what stays, and how to turn that round."""
    yield from _what(result)
    words = VERBS[result.verb]
    if result.commit is not None:
        yield line(f"committed as {result.commit[:12]}")
    if not result.is_whole:
        again = command(TaskCommand(words.command, result.task.id))
        yield line("this is half done; once nothing is in the way, this completes it: ", again)
    if not result.is_dry_run:
        back = command(TaskCommand(VERBS[words.back].command, result.task.id))
        yield line("to turn that round: ", back)


def _what(result: UndoResult) -> Iterator[Line]:
    task_id = result.task.id
    for other in result.dependents:
        yield line(f"{other} depends on {task_id} and has run since")
    words = VERBS[result.verb]
    did = f"would {words.base}" if result.is_dry_run else words.past
    yield line(f"{did} the change of {task_id}: {counted(result.summary.totals.files, 'file')}")
    yield from block(result.summary.diffstat)
    for kept in result.kept:
        yield styled(f"  left as it is: {render_path(kept.path)}: {clean_line(kept.reason)}", Style.WARNING)
    yield from (line(f"with it goes what `{clean_line(other)}` had to leave") for other in result.completes)


def confirm_rejection(preview: UndoResult) -> Confirm:
    """Ask whether to reject a change, and to take it back as a dry run has found."""
    question = f"Reject {clean_line(preview.task.id)}, and take its change out of your files?"
    return Confirm(tuple(_what(preview)), question, "Reject it, and take it back")


def confirm_undo(preview: UndoResult) -> Confirm:
    """Ask whether to do what a dry run has found."""
    words = VERBS[preview.verb]
    question = words.question.format(task=clean_line(preview.task.id))
    return Confirm(tuple(_what(preview)), question, words.yes, "Leave it")
