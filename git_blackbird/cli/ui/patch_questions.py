"""Asking about the hunks of a change, as ``git add -p`` does."""

import click

from git_blackbird.cli.output import CommandContext, ask, confirm
from git_blackbird.cli.render.transcript import painted_diff
from git_blackbird.controller.queries.diff import colors_of_diffs, full_diff
from git_blackbird.errors import InterruptedByUserError
from git_blackbird.messages.patch.parse import Patch
from git_blackbird.messages.patch.selection import Selection
from git_blackbird.model.run.summary import ChangePart, Trees


def choose_parts(call: CommandContext, pair: Trees) -> tuple[ChangePart, ...] | None:
    """Ask which hunks of a change are approved; None for all. Raises InterruptedByUserError."""
    workspace = call.workspace
    selection = Selection(Patch(full_diff(workspace, pair)))
    colors = colors_of_diffs(workspace) if call.colored else {}
    shown = None
    try:
        while not selection.is_complete:
            if shown is not (shown := selection.question):
                for line in painted_diff(iter(["\n".join(selection.lines()).encode()]), colors):
                    click.echo(line, nl=False)
            for remark in selection.take(ask(selection.prompt)):
                click.echo(remark)
        kept, count = selection.answers.count(True), len(selection.answers)
        if kept == count:
            return None
        is_meant = kept and confirm(f"Approve {kept} of {count} and leave out the rest?", default=True)
    except (click.Abort, KeyboardInterrupt):
        click.echo()
        raise InterruptedByUserError("nothing is decided") from None
    return selection.parts() if is_meant else ()
