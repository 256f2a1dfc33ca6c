"""Syntax of the commands that show the plan and its runs."""

from click import Argument, Choice, Option, Path

from git_blackbird.cli.syntax import completion as complete
from git_blackbird.cli.syntax.registry import TASK, CommandSpec, NumberRange, flag, text
from git_blackbird.model.plan.status import Status

NEWEST = 20
"""How many runs are listed over all tasks when nobody says how many."""


status = CommandSpec(
    "status",
    "status:status",
    """Show where the plan stands, what runs, and what is due.

    Everything due is followed by the command that answers it.
    """,
    flag("Also show which changes conflict that have not landed.", "--conflicts"),
)
list_tasks = CommandSpec(
    "list",
    "listing:list_command",
    "List tasks: without an option, the leaves that are neither done nor skipped.",
    Option(["--ready", "which"], flag_value="ready", help="Only tasks that can start now."),
    Option(["--blocked", "which"], flag_value="blocked", help="Only leaves that wait for other tasks."),
    Option(["--all", "which"], flag_value="all", help="Everything, including parents and finished tasks."),
    Option(
        ["--status", "status_name"],
        type=Choice([status.value for status in Status]),
        metavar="STATUS",
        help="Only tasks with this status.",
    ),
    flag("Show children below their parents.", "--tree"),
)
show = CommandSpec(
    "show",
    "show:show",
    "Show one task and why it is or is not ready, or which task and run made a commit.",
    Argument(["task_id"], type=TASK, metavar="[TASK]", required=False, shell_complete=complete.all_tasks),
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
    Argument(["task_id"], type=TASK, metavar="[TASK", required=False, shell_complete=complete.all_tasks),
    Argument(["run_id"], metavar="[RUN]]", required=False, shell_complete=complete.runs),
    Option(
        ["--limit"], type=NumberRange(min=1), metavar="N", help=f"At most N runs; {NEWEST} over all tasks."
    ),
    Option(["--log", "mode"], flag_value="log", help="Show what its agent did and said, in the pager."),
    Option(["--follow", "mode"], flag_value="follow", help="Show what a live run does, until it ends."),
    Option(
        ["--diff", "mode"], flag_value="diff", help="Show the full diff: of RUN, or of the task's change."
    ),
    flag("With --diff: what changed since you last requested changes.", "--since-request"),
    flag("With --diff: what no check is known to notice, by `prove`.", "--unproven"),
    flag("With --log and --follow: both streams as they were printed.", "--raw"),
)
report = CommandSpec(
    "report",
    "report:report",
    """Report what was done, what is known of it, what it cost, and what waits for you.

    It tells of everything that began, ended or was decided since WHEN, or of all. --html writes one page
    that needs nothing else, with the times, the costs and the plan as pictures.
    """,
    Option(
        ["--since"],
        type=text,
        metavar="WHEN",
        help="Only from then on: yesterday, '2 days ago', 2026-01-31 18:00, as `git log --since` takes it.",
    ),
    Option(
        ["--html", "page"],
        type=Path(dir_okay=False),
        metavar="FILE",
        help="Write the report to FILE as a page.",
    ),
)
pick = CommandSpec(
    "pick",
    "pick:pick",
    """Find a task by typing, then run it, decide on it, show it, edit it or set its status.

    It asks on a terminal.
    """,
)
estimate = CommandSpec(
    "estimate",
    "report:estimate",
    """Estimate the time and cost of what is left, going by what tasks have taken here so far.

    Each task that is left is taken to be like one that its agent has done. The time is that of agents and
    reviewers: waiting for people is not in it.
    """,
    Option(["-j", "--jobs"], type=NumberRange(1, 64), metavar="N", help="With N tasks at once."),
)
tui = CommandSpec(
    "tui",
    "status:tui",
    """Open the plan in a full-screen application.

    It shows where the plan stands and what agents are doing, runs them, and asks for every decision; `?`
    lists its keys. Without a terminal, with --json and with --no-input, it prints the status instead.
    """,
)
