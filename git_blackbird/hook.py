"""Entry point of the post-commit hook: finds out by the standard library whether there is anything to do.

The shell script calls it if the message of a commit seems to name a task, after noting the commit in the git
directory. The rest of the program is loaded only if the commit does name one. No commit fails because of it.
"""

import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  # pathlib is slow
if _ROOT not in sys.path:
    sys.path.append(_ROOT)

from git_blackbird.git.hooks import task_commits  # noqa: E402  # the shell starts this file by its path

_LATER = "; the next `git blackbird execute`, or a decision, records it"


def main(git_dir: str, name: str) -> None:
    """Handle the noted commits, and print a line for each.

    ``name`` is the note of this commit, which the script may have failed to write.
    """
    private = os.path.join(git_dir, "blackbird")  # noqa: PTH118
    moves = task_commits.load_moves(git_dir)
    verdicts = {
        entry: task_commits.judge(_run_git, moves, parsed[0], in_bisect=parsed[1])
        for entry in dict.fromkeys([*task_commits.list_names(private), name])
        if (parsed := task_commits.parse_name(entry)) is not None
    }
    if any(verdict.is_work for verdict in verdicts.values()):
        _hand_over(name)
        return
    for entry, verdict in verdicts.items():
        if verdict.remark is not None:
            say(verdict.remark)
        task_commits.drop(private, entry)


def _run_git(*args: str) -> str:
    """Return the output of git; importing ``subprocess`` would cost as much as everything else here."""
    reader, writer = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        process = os.posix_spawnp("git", ["git", *args], os.environ, file_actions=actions)
    finally:
        os.close(writer)
    with open(reader, "rb") as stream:  # noqa: PTH123  # a descriptor
        output = stream.read()
    _, status = os.waitpid(process, 0)
    if status != 0:
        raise ChildProcessError(f"git {args[0]} failed")
    if output and not output.endswith(b"\n"):
        raise ChildProcessError(f"git {args[0]} printed output that cannot be read")
    return output.decode(errors="replace")


def _hand_over(name: str) -> None:
    """Load the program and let it record the commits."""
    from git_blackbird.controller.change.work.manual_commits import record_or_defer  # only now needed
    from git_blackbird.controller.core.environment import system_environment
    from git_blackbird.controller.core.workspace import open_workspace
    from git_blackbird.errors import BlackbirdError

    try:
        lines = record_or_defer(open_workspace(system_environment()), name)
    except BlackbirdError as error:
        lines = (f"the commit is not recorded yet: {error.message}{_LATER}",)
    for line in lines:
        say(line)


def say(text: str) -> None:
    """Print one line below git's output, without control characters."""
    visible = "".join(char if char.isprintable() else " " for char in text)
    sys.stderr.write(f"git-blackbird: {' '.join(visible.split())}\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:3])
    except Exception as error:  # noqa: BLE001  # the commit is made in any case
        say(f"the commit is not recorded yet: {type(error).__name__}: {error}{_LATER}")
