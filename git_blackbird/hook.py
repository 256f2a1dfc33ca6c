"""The post-commit hook's way in: finds out by the standard library whether there is anything to do.

The shell calls it when the message of a commit seems to name a task. What the commit itself says is looked
at here, and everything else is loaded only when it does name one. No commit fails because of it.
"""

import os
import sys

TASK = "Blackbird-Task"
RUN = "Blackbird-Run"
PLAN = "blackbird.plan.json"

# Moves of HEAD that a person's own `git commit` makes, as git's messages for them begin.
_OWN = ("commit", "commit (initial)", "commit (amend)")
_AMEND = "commit (amend)"
# Those that carry over a commit of before, with a message that nobody wrote anew.
_REPEATS = frozenset({"am", "cherry-pick", "rebase", "revert"})
# What git leaves in its directory while it does so.
_STEPS = ("rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_TAIL_BYTES = 16 * 1024
_FORMAT = (
    f"--format=%H %P%x00%(trailers:key={TASK},valueonly,separator=%x1f)%x00%(trailers:key={RUN},valueonly)"
)


def main(git_dir: str) -> None:
    """Do what the commit that HEAD names asks for, and say in a line each what that was."""
    old, new, action = last_move(git_dir)
    # Git calls hooks at the top of the worktree, where a plan lies if there is one.
    if not os.path.lexists(PLAN) or is_repeat(git_dir, action):
        return
    (oid, *parents), tasks = names_in(new)
    replaced = old if action == _AMEND else None
    if not tasks and not (replaced and names_in(replaced)[1]):
        return
    reason = why_not(git_dir, action, parents) if tasks else None
    if reason is None:
        _hand_over(oid, replaced)
    else:
        say(f"no manual run of {', '.join(tasks)}: {reason}")


def last_move(git_dir: str) -> tuple[str, str, str]:
    """Give what HEAD named before, what since, and how that came about; unknown things are empty."""
    try:
        with open(os.path.join(git_dir, "logs", "HEAD"), "rb") as log:  # noqa: PTH118, PTH123  # pathlib is slow
            log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
            line = log.read().rstrip(b"\n").rpartition(b"\n")[2].decode(errors="replace")
    except OSError:
        return "", "HEAD", ""
    facts, _, message = line.partition("\t")
    old, new, *_ = [*facts.split(" "), "", ""]
    return old, new or "HEAD", message.partition(":")[0]


def is_repeat(git_dir: str, action: str) -> bool:
    """Whether git itself made the commit, of one that was there before."""
    if action == "commit (cherry-pick)" or action.partition(" ")[0] in _REPEATS:
        return True
    return any(os.path.exists(os.path.join(git_dir, name)) for name in _STEPS)  # noqa: PTH110, PTH118


def why_not(git_dir: str, action: str, parents: list[str]) -> str | None:
    """Say why a commit is none that a person made to do a task; None when it is one."""
    if os.path.exists(os.path.join(git_dir, "BISECT_LOG")):  # noqa: PTH110, PTH118  # pathlib is slow
        return "a bisection is under way"
    if len(parents) > 1:
        return "the commit is a merge"
    return None if action in ("", *_OWN) else f"the commit came of `{action}`"


def names_in(name: str) -> tuple[list[str], list[str]]:
    """Give the ids of a commit and its parents, and the tasks of its trailers; none for one of our own."""
    said = _run_git("log", "-1", "--no-show-signature", "--encoding=UTF-8", _FORMAT, name, "--")
    oids, _, rest = said.partition("\0")
    tasks, _, run = rest.partition("\0")
    return oids.split() or [""], [] if run.strip() else [
        task.strip() for task in tasks.split("\x1f") if task.strip()
    ]


def _run_git(*args: str) -> str:
    """Give what git prints; loading the module that starts programs would cost as much as all else here."""
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
        said = stream.read()
    os.waitpid(process, 0)
    return said.decode(errors="replace")


def _hand_over(oid: str, replaced: str | None) -> None:
    """Load the program from where this file lies, and let it record the commit."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  # pathlib is slow
    if root not in sys.path:
        sys.path.append(root)
    from git_blackbird.controller.late_commits import record_or_keep  # noqa: PLC0415  # only now needed
    from git_blackbird.controller.workspace import open_workspace  # noqa: PLC0415
    from git_blackbird.controller.world import real_world  # noqa: PLC0415
    from git_blackbird.errors import BlackbirdError  # noqa: PLC0415

    try:
        said = record_or_keep(open_workspace(real_world()), oid, replaced)
    except BlackbirdError as error:
        said = (f"the commit is not recorded: {error.message}",)
    for text in said:
        say(text)


def say(text: str) -> None:
    """Write one line, as the part of git's output that it is, whatever stands in it."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    sys.stderr.write(f"git-blackbird: {' '.join(shown.split())}\n")


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Exception as error:  # noqa: BLE001  # whatever it is, the commit is made, and its maker told
        say(f"the commit is not recorded: {type(error).__name__}: {error}")
