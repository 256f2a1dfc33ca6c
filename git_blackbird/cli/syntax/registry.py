"""The commands: what may be typed, apart from the code that carries it out.

``--help`` and completion load the modules of this folder, which need click alone; the code is imported when
a command is called.
"""

import gc
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

from git_blackbird import __version__, trace
from git_blackbird.cli.stdio import AppState
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.base.sanitize import shell_word

_WORD_FOR_VALUE = re.compile(r"[A-Z]{2,}")
# What a command asks a person for where it is left out.
_ASKED = {"message", "answers", "reason", "words"}


class CommandSpec(click.Command):
    """A command: its name, arguments, options and help, and where its code is (``module:function``).

    The function is given a CommandContext and the values of the parameters. ``--json`` and ``--no-input`` are
    parameters of every command.
    """

    def __init__(
        self, name: str, code: str, help_text: str, *params: click.Parameter, **settings: Any
    ) -> None:
        common = (
            flag("Print JSON for programs.", "--json", "as_json"),
            flag("Never ask; stop where someone must decide.", "--no-input"),
        )
        super().__init__(name, params=[*params, *common], help=help_text, callback=self._call, **settings)
        self.code = code

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse options of which only the last would count. Raises click.UsageError."""
        options = args[: args.index("--")] if "--" in args else args
        # Options that store different values under one name.
        choices = {
            param.opts[0]: param.name
            for param in self.params
            if isinstance(param, click.Option) and isinstance(param.flag_value, str)
        }
        given: dict[str | None, str] = {}
        for option in filter(choices.__contains__, options):
            first = given.setdefault(choices[option], option)
            if first != option:
                raise click.UsageError(f"{first} and {option} do not go together", ctx)
        rest = super().parse_args(ctx, args)
        for param in () if ctx.resilient_parsing else self.params:
            value = ctx.params.get(param.name or "")
            for one in value if isinstance(value, tuple) else (value,):
                if isinstance(one, str):
                    self._refuse_word_for_value(ctx, param, one)
        return rest

    def _refuse_word_for_value(self, ctx: click.Context, param: click.Parameter, given: str) -> None:
        """Refuse the word that help and hints have in the place of a value. Raises UsageError."""
        shown = param.make_metavar(ctx)
        parts = given.split("=", 1) if "=" in shown else [given]
        words = [part for part in parts if part in _WORD_FOR_VALUE.findall(shown)]
        if not words:
            return
        typed = what = ""
        if isinstance(param, click.Option):
            help_text = (param.help or "").removesuffix(".")
            typed = f"{param.opts[0]} {given}: "
            what = f" ({help_text[:1].lower()}{help_text[1:]})"
        hint = " ".join(self._asking(ctx, param)) if param.name in _ASKED else f"{ctx.command_path} -h"
        raise UsageError(f"{typed}{words[-1]} stands for what you fill in there{what}", hint=hint)

    def _asking(self, ctx: click.Context, left_out: click.Parameter) -> Iterator[str]:
        """Yield the words of the command that asks for what is left out: with all else but texts."""
        yield ctx.command_path
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if isinstance(param, click.Argument) and param is not left_out and value:
                yield from map(shell_word, value if isinstance(value, tuple) else (value,))
            elif param.opts[0] == "-e" and left_out.name == "message":
                yield "-e"
            elif isinstance(param, click.Option) and param.is_flag and value is True:
                yield param.opts[0]

    def _call(self, *, as_json: bool, no_input: bool, **values: Any) -> ExitCode:
        from git_blackbird.cli.output import CommandContext  # loads what commands share

        trace.event("command", self.name)
        module, function = self.code.split(":")
        body = getattr(import_module(f"git_blackbird.cli.commands.{module}"), function)
        context = click.get_current_context()
        name = context.command_path.removeprefix("git blackbird ")
        state: AppState = context.obj
        state.as_json = as_json
        if state.begin is not None:
            state.begin()
        call = CommandContext(name, state.environment, as_json=as_json, no_input=no_input)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        named = [param.name for param in self.params if param.type is TASK and param.name is not None]
        full = {name: call.full_ids(values[name]) for name in named}
        code: ExitCode = body(call, **{**values, **full})
        call.warn_copies()
        return code


def flag(help_text: str, *names: str) -> click.Option:
    """Make an option without a value."""
    return click.Option(names, is_flag=True, help=help_text)


def texts(help_text: str, metavar: str | None, *names: str) -> click.Option:
    """Make an option with a text that may be given several times."""
    return click.Option(names, type=text, multiple=True, metavar=metavar, help=help_text)


def text(value: str) -> str:
    """Return an option's text unchanged. Help shows this function's name as its type.

    Raises click.BadParameter for what is not UTF-8: it would be saved as another text.
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise click.BadParameter("it is not UTF-8") from error
    return value


class _TaskName(click.types.StringParamType):
    """The type of what names a task: its id, or a unique beginning of it."""


TASK = _TaskName()


class NumberRange(click.IntRange):
    """A whole number of a range; what is none is said to be no integer."""

    name = "integer"


# Where the syntax of each command is, and its line in the list of commands.
COMMANDS = {
    "add": ("plan:add", "Add tasks to the plan: one, or those of a page."),
    "adopt": ("run:adopt", "Let count what another program or clone did."),
    "agent": ("setup:agent", "Show which agents there are, and which is chosen."),
    "branch": ("run:branch", "Commit the change of a task on a new branch."),
    "completion": ("setup:completion", "Print the completion script of a shell."),
    "config": ("setup:config", "Show every key, or read or write one."),
    "decide": ("run:decide", "Decide on what waits for a decision."),
    "deinit": ("setup:deinit", "Remove git-blackbird from a repository."),
    "delete": ("plan:delete", "Remove a task from the plan."),
    "demo": ("setup:demo", "Try everything in a new repository."),
    "deps": ("plan:deps", "Change which tasks must be done before another."),
    "doctor": ("setup:doctor", "Find what is broken here, and mend it."),
    "edit": ("plan:edit", "Edit a task or the plan, with options or as a page."),
    "estimate": ("look:estimate", "Estimate the time and cost of what is left."),
    "execute": ("run:execute", "Run what is ready; stop where someone must decide."),
    "graph": ("plan_files:graph", "Print or open a picture of the plan."),
    "hooks": ("setup:hooks", "Install, remove or show the post-commit hook."),
    "init": ("plan:init", "Create an empty plan."),
    "list": ("look:list_tasks", "List tasks."),
    "move": ("plan:move", "Move a task to another parent or position."),
    "pick": ("look:pick", "Find a task by typing, then run, show or edit it."),
    "plan": ("plan_files:plan", "Let an agent plan; import, judge and export the plan."),
    "prove": ("run:prove", "Find which hunks of a change no check notices."),
    "prune": ("setup:prune", "Remove old records and logs that nothing needs."),
    "records": ("proof:records", "Publish decisions, so that any clone can be verified."),
    "redo": ("run:redo", "Bring back what undo took out."),
    "rename": ("plan:rename", "Give a task without runs another id."),
    "report": ("look:report", "Report what was done, checked and spent, and what waits."),
    "restart": ("run:restart", "Start a task again in a new session."),
    "restore": ("run:restore", "Get the files of a run, as a worktree or branch."),
    "resume": ("run:resume", "Continue a task in the same session."),
    "retry": ("run:retry", "Set a task back to todo; start nothing."),
    "review": ("run:review", "Show, run or dismiss the reviews of a task."),
    "runs": ("look:runs", "Show what happened, what it cost, what it changed."),
    "schema": ("setup:schema", "Print the JSON Schema of a file or an output."),
    "set-status": ("plan:set_status", "Set a task's status by hand."),
    "show": ("look:show", "Show one task and why it is or is not ready."),
    "status": ("look:status", "Show where the plan stands and what is due."),
    "tell": ("run:tell", "Tell a task's agent something while it works."),
    "tui": ("look:tui", "Open the plan in a full-screen application."),
    "undo": ("run:undo", "Take the change of a task back out."),
    "validate": ("plan:validate", "Check the plan file and report every error."),
    "verify": ("proof:verify", "Verify commits by decisions, and that done stays done."),
    "worker": ("run:worker", "Work for calls on other machines."),
    "worktrees": ("run:worktrees", "List or remove the worktrees of tasks."),
}


GROUPS = {
    "Every day": "add edit execute status decide resume show runs undo",
    "Plan": "init plan validate deps move rename delete set-status",
    "Run": "tell restart retry worktrees",
    "Decide": "review prove redo adopt",
    "Look": "list pick report verify graph estimate tui",
    "Set up": "agent config hooks doctor prune demo completion schema deinit",
    "Elsewhere": "branch records restore worker",
}


def load_command(name: str) -> CommandSpec | click.Group:
    """Import the syntax of a command, or of several below one word."""
    module, variable = COMMANDS[name][0].split(":")
    command = getattr(import_module(f"git_blackbird.cli.syntax.{module}"), variable)
    if not isinstance(command, CommandSpec | click.Group):
        raise TypeError(f"{variable} is no command")
    return command


class LazyGroup(click.Group):
    """Commands of which all but the line in the list is imported when one is named."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Import the command that is named; ``help COMMAND`` is its help."""
        if args[0] == "help":
            if args[1:] in ([], ["help"]):
                click.echo(ctx.get_help())
                ctx.exit()
            args = [args[1], "--help"]
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from git_blackbird.cli.syntax.common_words import hint_for  # only who mistypes pays for it

            if (hint := hint_for(args)) is not None:
                raise UsageError(f"there is no command '{args[0]}'", hint=hint)
        name, command, rest = super().resolve_command(ctx, args)
        return name, load_command(name) if name in COMMANDS else command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  # click's
        """List the commands in groups."""
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name][1]) for name in names.split()])


@click.group(
    cls=LazyGroup,
    commands=[click.Command(name, short_help=line) for name, (_, line) in COMMANDS.items()],
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="git-blackbird %(version)s")
@click.pass_context
def cli(context: click.Context) -> ExitCode | None:
    """Run coding agents over a dependency-aware plan in this git repository.

    Without a command it opens the screen, as `tui` does; without a terminal it prints the status.
    """
    if context.invoked_subcommand:
        return None
    code: ExitCode = context.invoke(load_command("tui"), as_json=False, no_input=False)
    return code
