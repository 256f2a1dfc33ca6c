"""Commands that bring the plan into other forms."""

import sys

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.plan.export import export_plan
from git_blackbird.errors import ExitCode


def export(call: CommandContext, *, form: str) -> ExitCode:
    text = export_plan(call.workspace.plan_state().plan, form)
    _print_whole(call, text)
    call.data("plan:ExportOutput", form=form, text=text)
    return ExitCode.OK


def _print_whole(call: CommandContext, text: str) -> None:
    """Print a document: for people on a terminal without what they cannot see, else every character of it."""
    if sys.stdout.isatty():
        call.print(text.removesuffix("\n"))
    elif not call.as_json:
        call.write(text)
