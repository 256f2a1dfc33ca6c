"""Syntax of the commands that bring the plan into other forms."""

from click import Argument, Choice, Group, Option

from git_blackbird.cli.syntax.planning import generate, refine
from git_blackbird.cli.syntax.registry import CommandSpec, flag, text
from git_blackbird.model.plan.task_forms import SOURCES, TaskForm

export = CommandSpec(
    "export",
    "plan_files:export",
    """Print the plan: as a page, as a Markdown list with ticks, or as JSON.

    A page and JSON are read again by `plan import` and `add -F`.
    """,
    Option(
        ["--format", "form"],
        type=Choice(["page", "markdown", "json"]),
        default="page",
        help="The form; page if not given.",
    ),
    short_help="Print the plan in another form.",
)
import_tasks = CommandSpec(
    "import",
    "plan_files:import_tasks",
    f"""Take tasks of other programs into the plan, or bring them up to date.

    FILE is {"; ".join(SOURCES[form] for form in TaskForm)}. - is the input. Imported again, what
    changed there is changed in the plan, and what you changed here is kept.
    """,
    Argument(["files"], metavar="FILE...", nargs=-1, required=True),
    Option(
        ["--format", "form"], type=Choice([*map(str, TaskForm)]), help="What it is, where that is not seen."
    ),
    Option(["--as", "name"], metavar="NAME", type=text, help="The source that it is; the file if not given."),
    Option(["--prefix"], metavar="TEXT", type=text, default="", help="Begin the ids of its tasks with TEXT."),
    Option(
        ["--prefer"],
        type=Choice(["plan", "source"]),
        help="What counts where both changed, or where it is not known who did.",
    ),
    flag("Only show what would be changed.", "-n", "--dry-run"),
    short_help="Take tasks of other programs into the plan.",
)
lint = CommandSpec(
    "lint",
    "plan_files:lint",
    """Judge the structure of the plan.

    It names requirements that no task covers, tasks without criteria, criteria that nothing checks, tasks
    that may change one file at the same time, and orders for which nothing speaks.
    """,
    Option(
        ["--source", "sources"],
        metavar="FILE",
        multiple=True,
        help="A text whose requirements, such as FR-001, tasks must name; repeatable.",
    ),
    short_help="Judge the structure of the plan.",
)
plan = Group(
    "plan",
    help="Let an agent plan; import, judge and export the plan.",
    commands=[generate, refine, import_tasks, lint, export],
)
graph = CommandSpec(
    "graph",
    "plan_files:graph",
    """Print a picture of what comes before what in the plan, with the states of tasks.

    mermaid is drawn by viewers of Markdown, dot by Graphviz, svg by browsers. --open makes an SVG and opens
    it in the browser; without a terminal, it prints where that is.
    """,
    Option(
        ["--format", "form"], type=Choice(["mermaid", "dot", "svg"]), help="The form; mermaid if not given."
    ),
    flag("Open the picture in the browser.", "--open", "opens"),
)
