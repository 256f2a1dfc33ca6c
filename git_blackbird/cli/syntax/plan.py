"""Syntax of the commands that make, check and change the plan."""

from click import Argument, Choice, Option

from git_blackbird.cli.syntax import completion as complete
from git_blackbird.cli.syntax.registry import TASK, CommandSpec, flag, text, texts
from git_blackbird.model.config.layers import AGENT_NAMES, PLAN_STATUSES
from git_blackbird.model.plan.status import Status

_TASK = Argument(["task_id"], type=TASK, metavar="TASK", shell_complete=complete.all_tasks)

_WHO = (
    Option(["--agent"], type=Choice(AGENT_NAMES), metavar="NAME", help="The agent that works on it."),
    Option(["--model"], type=text, metavar="NAME", help="The model that its agent uses."),
)

init = CommandSpec(
    "init",
    "plan:init",
    "Create an empty plan.",
    Option(
        ["--hooks/--no-hooks"],
        default=None,
        help="Install the post-commit hook, or do not offer it; see `hooks`.",
    ),
    Option(
        ["--statuses"],
        type=Choice(PLAN_STATUSES),
        help="Which statuses are written into the plan: lasting, as where nothing is said or asked, those of"
        " tasks that are over; or all.",
    ),
)
validate = CommandSpec(
    "validate",
    "plan:validate",
    "Check the plan file and report every error.",
    flag("Judge its structure as well, as `plan lint` does.", "--lint", "wants_lint"),
)
add = CommandSpec(
    "add",
    "plan:add",
    """Add tasks to the plan: one by its title, or those of a page.

    Without an argument it opens your editor on an empty page. A page is Markdown: `## Title`, fields such as
    `after: OTHER` below it, then what the agent is to do, and `- [ ]` lines that must hold in the end.
    """,
    Argument(["words"], metavar="[TITLE | -]", required=False, type=text),
    Option(
        ["-F", "--file", "file"], metavar="FILE", help="Add the tasks of the page in FILE; - is the input."
    ),
    Option(["--id", "task_id"], metavar="ID", help="The id; made of the title if not given."),
    Option(["--title"], type=text, help="What the task is, in one line, as TITLE."),
    Option(["--description"], type=text, default="", help="What it is about."),
    Option(["--prompt"], type=text, default="", help="What its agent is to do."),
    Option(["--notes"], type=text, default=None, help="Notes for people."),
    texts("An acceptance criterion; repeatable.", None, "--ac", "criteria"),
    Option(
        ["--dep", "deps"],
        type=TASK,
        multiple=True,
        metavar="ID",
        help="A task that must be done first; repeatable.",
        shell_complete=complete.all_tasks,
    ),
    Option(["--parent"], type=TASK, metavar="ID", help="The parent task.", shell_complete=complete.all_tasks),
    Option(["--index"], type=int, help="The position among the parent's children, from 0."),
    *_WHO,
)
set_status = CommandSpec(
    "set-status",
    "plan:set_status_command",
    """Set a task's status by hand.

    STATUS is one of todo, queued, in_progress, waiting_user, blocked, done, failed, skipped; without it, it
    is asked for. The task's runs are superseded: they stay in the history and no longer count.
    """,
    _TASK,
    Argument(
        ["status"], type=Choice([status.value for status in Status]), metavar="[STATUS]", required=False
    ),
)
edit = CommandSpec(
    "edit",
    "plan:edit",
    """Edit a task: with options, or without any in your editor, as a page; --plan edits all tasks.

    The editor is git's: GIT_EDITOR, core.editor, VISUAL, EDITOR. What others change in the plan meanwhile
    is kept.
    """,
    Argument(["task_id"], type=TASK, metavar="[TASK]", required=False, shell_complete=complete.all_tasks),
    flag("Edit the whole plan as one page.", "--plan", "whole_plan"),
    Option(["--title"], type=text, help="What the task is, in one line."),
    Option(["--description"], type=text, help="What it is about."),
    flag("Clear the description.", "--clear-description"),
    Option(["--prompt"], type=text, help="What its agent is to do."),
    flag("Clear the prompt.", "--clear-prompt"),
    Option(["--notes"], type=text, help="Notes for people."),
    flag("Clear the notes.", "--clear-notes"),
    texts(
        "An acceptance criterion, replacing the present ones; repeatable.",
        None,
        "--ac",
        "acceptance_criteria",
    ),
    flag("Clear the criteria.", "--clear-ac", "clear_acceptance_criteria"),
    *_WHO,
    flag("Leave the agent to the configuration.", "--clear-agent"),
    flag("Leave the model to the configuration.", "--clear-model"),
)
rename = CommandSpec(
    "rename",
    "plan:rename",
    "Give a task without runs another id.",
    _TASK,
    Argument(["new_id"], metavar="NEW"),
)
deps = CommandSpec(
    "deps",
    "plan:deps",
    """Change which tasks must be done before TASK.

    add and remove change single dependencies; set replaces all, with none if no DEP is given. infer lets an
    agent say which tasks need which others, and why, of all tasks or of those that are named; it changes
    nothing else, and nothing before you have accepted it.
    """,
    Argument(["action"], type=Choice(["add", "remove", "set", "infer"]), metavar="add|remove|set|infer"),
    Argument(["task_id"], type=TASK, metavar="TASK", required=False, shell_complete=complete.all_tasks),
    Argument(["deps"], type=TASK, nargs=-1, metavar="[DEP]...", shell_complete=complete.dependencies),
    flag("With infer: accept what is proposed, without a question.", "-y", "--yes"),
    Option(["--agent"], type=Choice(AGENT_NAMES), help="With infer: the agent that reads the plan."),
    flag("With infer: show what the agent does and says as it happens.", "--stream"),
)
move = CommandSpec(
    "move",
    "plan:move",
    "Move a task, and everything below it, to another parent or position.",
    _TASK,
    Option(
        ["--parent"],
        metavar="PARENT",
        help="The new parent; root, or /, is the top of the plan.",
        shell_complete=complete.all_tasks,
    ),
    Option(
        ["--index"], type=int, help="The position among the parent's children, from 0; the last if not given."
    ),
    Option(
        ["--before"],
        type=TASK,
        metavar="OTHER",
        help="Before another task, below the same parent.",
        shell_complete=complete.all_tasks,
    ),
    Option(
        ["--after"],
        type=TASK,
        metavar="OTHER",
        help="After another task, below the same parent.",
        shell_complete=complete.all_tasks,
    ),
)
delete = CommandSpec(
    "delete",
    "plan:delete",
    "Remove a task from the plan; the records of its runs stay.",
    _TASK,
    flag("Delete everything below it too.", "--cascade-children"),
    flag("Remove it from the dependencies of other tasks; drop an unfinished change.", "--force"),
    flag("Only show what would be deleted, and what that takes along.", "-n", "--dry-run"),
)
