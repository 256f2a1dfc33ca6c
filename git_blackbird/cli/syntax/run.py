"""Syntax of the commands that run agents, and of those that decide what becomes of what they did."""

from click import Argument, Choice, IntRange, Option, Path

from git_blackbird.cli.syntax import completion as complete
from git_blackbird.cli.syntax.command_spec import CommandSpec, text
from git_blackbird.model.config.keys import AGENT_NAMES, KEYS


def _agent() -> Option:
    return Option(["--agent"], type=Choice(AGENT_NAMES), help="The agent for new runs.")


def _stop() -> Option:
    help_text = "Stop for a decision after each task, or not."
    return Option(["--stop-after-each/--no-stop", "stop"], default=None, help=help_text)


def _reviews() -> Option:
    return Option(
        ["--reviews"],
        metavar="MODE",
        type=Choice(KEYS["reviews.mode"].choices),
        help="Whether each change is reviewed: parallel or off.",
    )


def _stream() -> Option:
    return Option(["--stream"], is_flag=True, help="Show what the agent does and says as it happens.")


def _message() -> tuple[Option, Option, Option]:
    """Return the options of commands that tell an agent something."""
    file = Path(dir_okay=False, allow_dash=True)
    return (
        Option(["-m", "--message"], type=text, help="The message for the agent."),
        Option(
            ["-F", "--file", "message_file"],
            type=file,
            help="Read the message from a file; - is standard input.",
        ),
        Option(["-e", "--edit", "in_editor"], is_flag=True, help="Write the message in your editor."),
    )


execute = CommandSpec(
    "execute",
    "run:execute",
    """Run what is ready; stop where someone must decide.

    With TASKs only these leaves are run.
    """,
    Argument(["task_ids"], nargs=-1, metavar="[TASK]...", shell_complete=complete.tasks),
    Option(["--dry-run"], is_flag=True, help="Only list what would start, in order."),
    Option(["--limit"], type=IntRange(min=1), metavar="N", help="Start at most N runs."),
    _stop(),
    _reviews(),
    _agent(),
    _stream(),
)
resume = CommandSpec(
    "resume",
    "run:resume",
    """Continue a task in the same session: with answers, with feedback, or as it is.

    With --all, TASK is a parent: every leaf below it that its review flagged gets the feedback.
    """,
    Argument(["task_id"], metavar="TASK", shell_complete=complete.tasks),
    Option(
        ["--all", "below"],
        is_flag=True,
        help="TASK is a parent: resume all below it that its review flagged.",
    ),
    *_message(),
    Option(
        ["--answer", "answers"],
        type=text,
        multiple=True,
        metavar="ID=VALUE",
        help="Answer one question; repeatable.",
    ),
    _stop(),
    _reviews(),
    _stream(),
)
restart = CommandSpec(
    "restart",
    "run:restart",
    "Start a task again in a new session, with everything pending.",
    Argument(["task_id"], metavar="TASK", shell_complete=complete.tasks),
    *_message(),
    _stop(),
    _reviews(),
    _agent(),
    _stream(),
)
retry = CommandSpec(
    "retry",
    "run:retry",
    """Set a task back to todo; start nothing.

    For tasks that failed, were rejected, are paused, waiting or blocked.
    """,
    Argument(["task_id"], metavar="TASK", shell_complete=complete.tasks),
)
decide = CommandSpec(
    "decide",
    "run:decide",
    """Record a decision on a task's run, from anywhere.

    An execute that is waiting for the decision continues at once; otherwise the next one acts on it.
    """,
    Argument(["task_id"], metavar="TASK", shell_complete=complete.tasks),
    Option(["--approve"], is_flag=True, help="Accept the change."),
    Option(["--request-changes"], is_flag=True, help="Send the text of -m, -F or -e to the session."),
    Option(["--reject"], is_flag=True, help="Fail the task; files stay as they are."),
    Option(["--any-branch"], is_flag=True, help="Approve although HEAD has left the branch of the run."),
    Option(
        ["--run", "run_id"],
        metavar="RUN",
        help="Decide only if this is still the task's run.",
        shell_complete=complete.runs,
    ),
    *_message(),
)
review = CommandSpec(
    "review",
    "review:review",
    """Show the reviews of TASK, have it reviewed, or dismiss its review.

    If reviews.mode is parallel, `execute` has the change of each leaf reviewed, against the task and as
    code. When all children of a parent are done, it has the parent reviewed against its acceptance
    criteria. show shows what was found. run has TASK reviewed now, even if it was before. dismiss lets a
    parent be done without a passing review of its children as they are, and records the reason.
    """,
    Argument(["action"], type=Choice(["show", "run", "dismiss"]), metavar="show|run|dismiss"),
    Argument(["task"], metavar="TASK", shell_complete=complete.reviewed_tasks),
    Option(["--agent"], type=Choice(AGENT_NAMES), help="With run: the agent that reviews."),
    Option(["--stream"], is_flag=True, help="With run: show what the reviewer does and says as it happens."),
    Option(["--format", "form"], type=Choice(["text", "xml"]), help="With show of a leaf: the format."),
    Option(["--reason"], type=text, metavar="TEXT", help="With dismiss: the reason; required."),
)
