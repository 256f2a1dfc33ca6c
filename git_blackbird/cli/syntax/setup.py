"""Syntax of the commands that set the program up, and take it out again."""

from click import Argument, Choice, Context, Option, Path, UsageError

from git_blackbird.cli.syntax import completion as complete
from git_blackbird.cli.syntax.registry import CommandSpec, NumberRange, flag

DEMO_FOLDER = "blackbird-demo"
"""Where ``demo`` makes its repository when nobody says where."""

agent = CommandSpec(
    "agent",
    "config:agent",
    """Show which agents there are, what each can do here, which is chosen and why.

    With NAME, show one in full; the exit code is 8 if it cannot start. Programs are asked for their version
    and login; no model is asked, and nothing is spent.
    """,
    Argument(["name"], metavar="[NAME]", required=False, shell_complete=complete.agents),
)
completion = CommandSpec(
    "completion",
    "package_files:completion",
    """Print the script that completes commands, options and tasks in a shell.

    An installed program has it where shells look; `eval "$(git blackbird completion bash)"` is for the
    others.
    """,
    Argument(["shell"], type=Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish"),
)


# Values that begin with a dash are common here: what no option is, is a value.
class _ConfigSpec(CommandSpec):
    """``config``, which may also be told to get or to set, as git's."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Drop the verb of `get KEY` and `set KEY VALUE`. Raises click.UsageError."""
        verb = args[0] if args and args[0] in {"get", "set"} else None
        words = [arg for arg in args[1:] if not arg.startswith("-")]
        if verb is not None and len(words) != (1 if verb == "get" else 2):
            wanted = "KEY" if verb == "get" else "KEY VALUE"
            raise UsageError(f"config {verb} takes {wanted}", ctx)
        return super().parse_args(ctx, args if verb is None else args[1:])


config = _ConfigSpec(
    "config",
    "config:config",
    """Show every key, or read or write one.

    The first of these that sets a key decides: an option, the environment, this repository's git config,
    the project's file, your git config, your file, the default. Of keys that protect you (stops, reviews,
    limits) the stricter of the project's value and your own counts.
    """,
    Argument(["name"], metavar="[KEY", required=False, shell_complete=complete.keys),
    Argument(["value"], metavar="[VALUE]]", required=False, shell_complete=complete.key_values),
    flag("Remove KEY.", "--unset"),
    flag("This clone's git configuration; the default.", "--local"),
    flag("The project's .blackbird/config.json.", "--project"),
    flag("Your ~/.blackbird/config.json.", "--global"),
    context_settings={"ignore_unknown_options": True},
)
deinit = CommandSpec(
    "deinit",
    "setup:deinit",
    """Remove git-blackbird from this repository.

    It shows what there is, asks once, and removes the post-commit hook, the references, records and logs of
    runs, and the keys in this repository's git config. The plan stays, and so do files that git tracks and
    your own configuration.
    """,
    flag("Do not ask.", "--yes"),
)
demo = CommandSpec(
    "demo",
    "demo:demo",
    """Try everything in a new repository, with an agent that needs no account.

    Nothing outside that repository is touched.
    """,
    Option(
        ["--dir", "folder"],
        type=Path(),
        shell_complete=complete.folders,
        metavar="D",
        help=f"Where to make the repository; {DEMO_FOLDER} here when not given.",
    ),
    flag("Answer everything by itself, and show the commands for it.", "--auto"),
    Option(
        ["-j", "--jobs"],
        type=NumberRange(1, 64),
        default=1,
        metavar="N",
        help="Show N agents side by side: a conflict, and a check that fails once they meet.",
    ),
)
doctor = CommandSpec(
    "doctor",
    "doctor:doctor",
    """Find what is broken in this repository, and say what mends it.

    It looks at configuration, plan, records, git objects, runs, worktrees, references, hooks and agents, even
    where other commands refuse, and says how much room runs take. It changes nothing without --fix, and asks
    no model. The exit code is 1 while something is left.
    """,
    flag("Mend what can be mended without a decision of yours.", "--fix"),
)
hooks = CommandSpec(
    "hooks",
    "setup:hooks",
    """Install or remove the post-commit hook, or show its state.

    The hook notes which commits agents make, and records a commit of yours that says `Blackbird-Task: ID` as
    work on that task. It is installed where git looks for hooks, including core.hooksPath. A hook that is
    already there is kept and runs first; uninstall puts it back unchanged.
    """,
    Argument(
        ["action"],
        type=Choice(["install", "uninstall", "status"]),
        default="status",
        metavar="[install|uninstall|status]",
    ),
)
prune = CommandSpec(
    "prune",
    "doctor:prune",
    """Remove records and logs of old runs that nothing needs, after a question.

    Tasks at work or with something due keep everything; status, undo, redo and branch of all others stay as
    they are. The figures of removed runs leave `report` and `estimate`.
    """,
    Option(
        ["--keep"],
        type=NumberRange(1),
        default=90,
        metavar="DAYS",
        help="Keep all of runs that ended in the last DAYS days; 90 when not given.",
    ),
    flag("Only show what would be removed.", "-n", "--dry-run"),
    flag("Do not ask.", "--yes"),
)
schema = CommandSpec(
    "schema",
    "package_files:schema",
    """Print the JSON Schema of a file or of --json output; without NAME, list the names.

    plan, config and run are those of the plan file, of configuration files and of the records of runs.
    """,
    Argument(["name"], metavar="[NAME]", required=False, shell_complete=complete.schemas),
)
