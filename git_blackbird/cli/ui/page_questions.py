"""What a person is asked about a page of tasks, between commands and the editor."""

import sys

import click

from git_blackbird.cli.output import CommandContext, confirm
from git_blackbird.controller.plan.outcomes import tree_lines
from git_blackbird.controller.plan.page import PageResult, RemovedError
from git_blackbird.errors import InterruptedByUserError, RequestError
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import block, plain


class AskAboutPage:
    """Asks on standard error; where nobody can be asked, only adding is agreed to."""

    def __init__(self, call: CommandContext) -> None:
        self.is_possible = call.can_confirm(sys.stderr)

    def wants_again(self, fault: RequestError) -> bool:
        """Whether to edit a page again, given what is wrong with it."""
        return self.is_possible and _confirm(f"error: {fault.message}", "edit it again?", is_likely=True)

    def agrees_to_delete(self, removed: RemovedError) -> bool:
        """Whether to delete tasks that a page has no longer."""
        return self.is_possible and _confirm(removed.message, "delete them?", is_likely=False)

    def agrees_to_add(self, planned: PageResult) -> bool:
        """Whether to add these tasks."""
        text = "\n".join(plain(tree_lines(planned)))
        count = counted(len(planned.added), "task")
        return not self.is_possible or _confirm(text, f"add {count}?", is_likely=True)


def _confirm(text: str, question: str, *, is_likely: bool) -> bool:
    try:
        click.echo("\n".join(plain(block(text))), err=True)
        return confirm(question, default=is_likely, err=True)
    except (click.Abort, KeyboardInterrupt):
        click.echo(err=True)
        raise InterruptedByUserError("interrupted") from None
