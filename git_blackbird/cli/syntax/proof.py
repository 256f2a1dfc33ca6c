"""Syntax of the commands that prove what was done."""

from click import Argument, Group, Option, Path

from git_blackbird.cli.syntax import completion as complete
from git_blackbird.cli.syntax.registry import CommandSpec, flag

publish = CommandSpec(
    "publish",
    "verify:publish",
    """Publish decisions, so that any clone can be verified.

    Each becomes a tag below refs/blackbird/decisions/, with the files of the change, what checks said, who
    decided, and the decision before it; no prompts and no output. It is signed where git signs your commits
    or tags.
    """,
)
records = Group("records", help="Publish decisions, so that any clone can be verified.", commands=[publish])
verify = CommandSpec(
    "verify",
    "verify:verify",
    """Say of each commit that names a task whether its change is what was decided on, with which evidence.

    RANGE is one of git, as main..HEAD, or a commit with all before it; HEAD if left out. The exit code is 1
    where a commit is not, and 2 with the fetch that helps where this clone lacks something. It needs
    published decisions (`records publish`), and no records.

    With --done, criteria of finished tasks that are commands (`$ make test`) run on your files as they are.
    Of one that fails it is said with which task's change that began. The exit code is 1 unless all pass.
    """,
    Argument(["commits"], metavar="[RANGE]", required=False, shell_complete=complete.commits),
    flag("Instead run the criteria of all tasks that are done.", "--done"),
    flag("Run the check on what was merged or rebased since it was decided on.", "--check"),
    Option(
        ["--signers"],
        type=Path(),
        metavar="FILE",
        shell_complete=complete.folders,
        help="Who may sign decisions by SSH; the file may be empty, as keys of GPG are those of your keyring."
        " gpg.ssh.allowedSignersFile if left out; without both no signature is asked for.",
    ),
    Option(["--since"], metavar="TAG", help="The id of a decision that must still be there."),
    flag("Fail on commits that name no task.", "--require", "is_strict"),
    flag("Print a page for a pull request.", "--page"),
)
