"""Syntax of the commands that show the plan and its runs."""

from click import Argument, Choice, IntRange, Option

from git_blackbird.cli.syntax import completion as complete
from git_blackbird.cli.syntax.plan import STATUSES
from git_blackbird.cli.syntax.registry import CommandSpec, flag

NEWEST = 20
"""How many runs are listed over all tasks when nobody says how many."""


# See ``porcelain.record_end_of``.
_RECORDS = (
    flag("Print records of tab-separated fields for scripts.", "--porcelain"),
    flag("The same, ended by NUL and with nothing quoted.", "-z", "nul"),
)
status = CommandSpec(
    "status",
    "status_list:status",
    """Show where the plan stands, what runs, and what is due.

    Everything due is followed by the command that answers it.
    """,
    *_RECORDS,
)
list_tasks = CommandSpec(
    "list",
    "status_list:list_command",
    "List tasks: without an option, the leaves that are neither done nor skipped.",
    Option(["--ready", "which"], flag_value="ready", help="Only tasks that can start now."),
    Option(["--blocked", "which"], flag_value="blocked", help="Only leaves that wait for other tasks."),
    Option(["--all", "which"], flag_value="all", help="Everything, including parents and finished tasks."),
    Option(
        ["--status", "status_name"],
        type=Choice(STATUSES),
        metavar="STATUS",
        help="Only tasks with this status.",
    ),
    flag("Show children below their parents.", "--tree"),
    *_RECORDS,
)
show = CommandSpec(
    "show",
    "show:show",
    "Show one task and why it is or is not ready, or which task and run made a commit.",
    Argument(["task_id"], metavar="[TASK]", required=False, shell_complete=complete.all_tasks),
    flag("Show exactly what its agent would be told now.", "--prompt", "wants_prompt"),
    Option(
        ["--commit", "name"],
        metavar="COMMIT",
        help="Show which task and run made a commit.",
        shell_complete=complete.commits,
    ),
)
runs = CommandSpec(
    "runs",
    "runs:runs",
    """Show what happened, what it cost, what it changed; newest first.

    Without TASK, the newest runs of all tasks; with RUN, or the first characters of its id, that run in
    full. Without RUN, --log and --follow take the newest run, and --diff shows everything since the task
    was last approved, which is what a decision is about.
    """,
    Argument(["task_id"], metavar="[TASK", required=False, shell_complete=complete.all_tasks),
    Argument(["run_id"], metavar="[RUN]]", required=False, shell_complete=complete.runs),
    Option(["--limit"], type=IntRange(min=1), metavar="N", help=f"At most N runs; {NEWEST} over all tasks."),
    Option(["--log", "mode"], flag_value="log", help="Show what its agent did and said, in the pager."),
    Option(["--follow", "mode"], flag_value="follow", help="Show what a live run does, until it ends."),
    Option(
        ["--diff", "mode"], flag_value="diff", help="Show the full diff: of RUN, or of the task's change."
    ),
    flag("With --diff: what changed since you last requested changes.", "--since-request"),
    Option(["--accept", "mode"], flag_value="accept", help="Accept the record of RUN, whoever wrote it."),
    flag("With --log and --follow: both streams as they were printed.", "--raw"),
    *_RECORDS,
)
tui = CommandSpec(
    "tui",
    "status_list:tui",
    """Open the plan in a full-screen application.

    It shows where the plan stands and what agents are doing, runs them, and asks for every decision; `?`
    lists its keys. Without a terminal, with --json and with --no-input, it prints the status instead.
    """,
)
