"""Syntax of the commands that show where things stand."""

from click import Argument, Choice, IntRange, Option

from git_blackbird.cli.syntax import completion as complete
from git_blackbird.cli.syntax.command_spec import CommandSpec
from git_blackbird.cli.syntax.plan import STATUSES

NEWEST = 20
"""How many runs are listed over all tasks when nobody says how many."""


def _records() -> tuple[Option, Option]:
    """Return the options of commands that print lists for scripts; see ``porcelain.record_end``."""
    return (
        Option(["--porcelain"], is_flag=True, help="Print records of tab-separated fields for scripts."),
        Option(["-z", "nul"], is_flag=True, help="The same, ended by NUL and with nothing quoted."),
    )


status = CommandSpec(
    "status",
    "status_list:status",
    """Show where the plan stands, what runs, and what is due.

    Everything due is followed by the command that answers it.
    """,
    *_records(),
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
    Option(["--tree"], is_flag=True, help="Show children below their parents."),
    *_records(),
)
show = CommandSpec(
    "show",
    "show:show",
    "Show one task and why it is or is not ready, or which task and run made a commit.",
    Argument(["task_id"], metavar="[TASK]", required=False, shell_complete=complete.all_tasks),
    Option(["--prompt", "wants_prompt"], is_flag=True, help="Show exactly what its agent would be told now."),
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
    Option(
        ["--limit"],
        type=IntRange(min=1),
        metavar="N",
        help=f"At most N runs; {NEWEST} over all tasks.",
    ),
    Option(["--log", "mode"], flag_value="log", help="Show what its agent did and said, in the pager."),
    Option(["--follow", "mode"], flag_value="follow", help="Show what a live run does, until it ends."),
    Option(
        ["--diff", "mode"],
        flag_value="diff",
        help="Show the full diff: of RUN, or of the task's change.",
    ),
    Option(
        ["--since-request"],
        is_flag=True,
        help="With --diff: what changed since you last requested changes.",
    ),
    Option(["--accept", "mode"], flag_value="accept", help="Accept the record of RUN, whoever wrote it."),
    Option(["--raw"], is_flag=True, help="With --log and --follow: both streams as they were printed."),
    *_records(),
)
tui = CommandSpec(
    "tui",
    "tui:tui",
    """Open the plan in a full-screen application.

    It shows where the plan stands and what agents are doing, runs them, and asks for every decision; `?`
    lists its keys. Without a terminal, with --json and with --no-input, it prints the status instead.
    """,
)
