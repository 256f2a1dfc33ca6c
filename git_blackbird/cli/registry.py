"""The commands: one group, each loaded when it is called."""

from importlib import import_module
from typing import NamedTuple

import click

from git_blackbird import __version__
from git_blackbird.errors import ExitCode
from git_blackbird.model.collector import collector_paused


class Entry(NamedTuple):
    """One command: the module and name it is loaded from, and its line in the list of commands."""

    place: str
    says: str


COMMANDS = {
    "add": Entry("plan_commands:add", "Add a task to the plan."),
    "agent": Entry("agent_command:agent", "Show which agents there are, and which is chosen."),
    "completion": Entry("completion_command:completion", "Print the completion script of a shell."),
    "config": Entry("config_command:config", "Show every key, or read or write one."),
    "decide": Entry("run_commands:decide", "Record a decision on a task's run."),
    "deinit": Entry("deinit_command:deinit", "Remove git-blackbird from a repository."),
    "delete": Entry("edit_commands:delete", "Take a task out of the plan."),
    "demo": Entry("demo_command:demo", "Try everything in a repository made for it."),
    "deps": Entry("edit_commands:deps", "Change which tasks must be done before another."),
    "edit": Entry("edit_commands:edit", "Edit a task, with options or in your editor."),
    "execute": Entry("run_commands:execute", "Run what is ready; stop where someone must decide."),
    "hooks": Entry("hooks_command:hooks", "Install, remove or show the post-commit hook."),
    "init": Entry("plan_commands:init", "Make a plan to start from."),
    "list": Entry("read_commands:list_command", "List tasks."),
    "move": Entry("edit_commands:move", "Put a task below another parent or at another place."),
    "restart": Entry("run_commands:restart", "Start a task again in a new session."),
    "resume": Entry("run_commands:resume", "Go on in the same agent session."),
    "retry": Entry("run_commands:retry", "Make a task todo again; start nothing."),
    "review": Entry("review_command:review", "Show the reviews of a task, run or dismiss them."),
    "runs": Entry("runs_command:runs", "Show what happened, what it cost, what it changed."),
    "set-status": Entry("plan_commands:set_status_command", "Set a task's status by hand."),
    "show": Entry("show_command:show", "Show one task and why it is or is not ready."),
    "status": Entry("read_commands:status", "Show where the plan stands and what is due."),
    "tui": Entry("tui_command:tui", "Open the plan in a full-screen application."),
    "validate": Entry("plan_commands:validate", "Check the plan file; every fault in one go."),
}
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """Commands whose modules are imported when they are called: ``--help`` must not pay for them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, name = entry.place.split(":")
        with collector_paused():
            command = getattr(import_module(f"git_blackbird.cli.{module}"), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.place} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].says) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="git blackbird", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> ExitCode | None:
    """Run coding agents over a dependency-aware plan in this git repository.

    Without a command it opens what `tui` opens, and prints what `status` prints where there is no terminal.
    """
    if context.invoked_subcommand:
        return None
    command = cli.get_command(context, "tui")
    if command is None:
        return None
    code: ExitCode = context.invoke(command, as_json=False, no_input=False)
    return code
