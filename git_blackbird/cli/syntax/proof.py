"""Syntax of the commands that hold what was done to its proof."""

from git_blackbird.cli.syntax.registry import CommandSpec, flag

verify = CommandSpec(
    "verify",
    "verify:verify",
    """Verify that what is done stays done.

    With --done, criteria of finished tasks that are commands (`$ make test`) run on your files as they are.
    Of one that fails it is said with which task's change that began. The exit code is 1 unless all pass.
    """,
    flag("Run the criteria of all tasks that are done.", "--done"),
)
