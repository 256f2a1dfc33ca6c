"""Syntax of the commands that bring the plan into other forms."""

from click import Choice, Group, Option

from git_blackbird.cli.syntax.registry import CommandSpec

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
plan = Group("plan", help="Export the plan.", commands=[export])
