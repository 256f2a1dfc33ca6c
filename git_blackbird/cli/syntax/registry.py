"""The commands: one group, each loaded when it is named."""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

from git_blackbird import __version__
from git_blackbird.cli.syntax.command_spec import CommandSpec
from git_blackbird.errors import ExitCode

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class CommandEntry(NamedTuple):
    """One command: the module and name it is loaded from, and its line in the list of commands."""

    place: str
    help: str


COMMANDS = {
    "add": CommandEntry("plan:add", "Add a task to the plan."),
    "agent": CommandEntry("setup:agent", "Show which agents there are, and which is chosen."),
    "completion": CommandEntry("setup:completion", "Print the completion script of a shell."),
    "config": CommandEntry("setup:config", "Show every key, or read or write one."),
    "decide": CommandEntry("run:decide", "Record a decision on a task's run."),
    "deinit": CommandEntry("setup:deinit", "Remove git-blackbird from a repository."),
    "delete": CommandEntry("plan:delete", "Remove a task from the plan."),
    "demo": CommandEntry("setup:demo", "Try everything in a new repository."),
    "deps": CommandEntry("plan:deps", "Change which tasks must be done before another."),
    "edit": CommandEntry("plan:edit", "Edit a task, with options or in your editor."),
    "execute": CommandEntry("run:execute", "Run what is ready; stop where someone must decide."),
    "hooks": CommandEntry("setup:hooks", "Install, remove or show the post-commit hook."),
    "init": CommandEntry("plan:init", "Create an empty plan."),
    "list": CommandEntry("show:list_tasks", "List tasks."),
    "move": CommandEntry("plan:move", "Move a task to another parent or position."),
    "restart": CommandEntry("run:restart", "Start a task again in a new session."),
    "resume": CommandEntry("run:resume", "Continue a task in the same session."),
    "retry": CommandEntry("run:retry", "Set a task back to todo; start nothing."),
    "review": CommandEntry("run:review", "Show, run or dismiss the reviews of a task."),
    "runs": CommandEntry("show:runs", "Show what happened, what it cost, what it changed."),
    "schema": CommandEntry("setup:schema", "Print the JSON Schema of a file or an output."),
    "set-status": CommandEntry("plan:set_status", "Set a task's status by hand."),
    "show": CommandEntry("show:show", "Show one task and why it is or is not ready."),
    "status": CommandEntry("show:status", "Show where the plan stands and what is due."),
    "tui": CommandEntry("show:tui", "Open the plan in a full-screen application."),
    "validate": CommandEntry("plan:validate", "Check the plan file and report every error."),
}
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """Commands whose syntax is imported when one is named: ``--help`` and completion need no other."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> CommandSpec | None:
        """Import one command's syntax."""
        del ctx
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, name = entry.place.split(":")
        command = getattr(import_module(f"git_blackbird.cli.syntax.{module}"), name)
        if not isinstance(command, CommandSpec):
            raise TypeError(f"{entry.place} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in sorted(COMMANDS)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        """Complete a command's name, or an option of the program itself, without importing commands."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        from click.shell_completion import CompletionItem  # noqa: PLC0415  # only completion pays for it

        return [
            CompletionItem(name, help=COMMANDS[name].help)
            for name in sorted(COMMANDS)
            if name.startswith(incomplete)
        ]


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="git blackbird", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> ExitCode | None:
    """Run coding agents over a dependency-aware plan in this git repository.

    Without a command it opens the screen, as `tui` does; without a terminal it prints the status.
    """
    if context.invoked_subcommand:
        return None
    command = cli.get_command(context, "tui")
    if command is None:
        return None
    code: ExitCode = context.invoke(command, as_json=False, no_input=False)
    return code
