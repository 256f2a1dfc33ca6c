"""A commit in a process of its own: whatever ends the program meanwhile, the index follows what git made.

The user's hooks take as long as they take. Who kills the program in that time kills neither git nor this
process, which holds the right to approve until the commit is made and the index has it (DESIGN.md 10).
"""

import json
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.along import ALONG
from git_blackbird.git.commit_log import commit_of_run
from git_blackbird.git.commit_plan import CommitPlan
from git_blackbird.git.commits import (
    CommitRefusedError,
    HookRefusedError,
    IndexMoveError,
    Made,
    look_at_made,
    make_commit,
    move_index,
    said_by,
)
from git_blackbird.git.program import Kept, run_along
from git_blackbird.git.repository import Head, Repository

_ROOT = Path(__file__).parents[2]
# Until it begins, a Ctrl+C ends it without a word. What the package is found by comes last: a folder of
# packages must not stand in for the standard library.
_START = (
    "import signal, sys; heard = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN; "
    "heard and signal.signal(signal.SIGINT, signal.SIG_DFL); sys.path.append(sys.argv[1]); "
    "from git_blackbird.git.commit_process import main; sys.stdout.write(main(sys.stdin.read()))"
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class CommitLostError(CommitRefusedError):
    """The process that was to make the commit was killed: git may be at work on it still."""


class CommitInterruptedError(CommitRefusedError):
    """A Ctrl+C ended it before there was a commit."""


@dataclass(frozen=True)
class Committed:
    """The commit that was made, and why the index was not updated for it, None where it does.

    With ``is_final`` it never will; else a later try may succeed. ``cut_short`` says what ended git after it
    had made the commit, as a Ctrl+C in a hook that comes then.
    """

    made: Made
    left_behind: str | None = None
    is_final: bool = False
    cut_short: str | None = None


class Wanted(NamedTuple):
    """The message of a commit, and the run that its trailer names."""

    message: str
    run_id: str


def commit_apart(repo: Repository, plan: CommitPlan, wanted: Wanted, right: int) -> Committed:
    """Make the commit and bring the user's index along, whatever becomes of this process.

    ``right`` is the descriptor of the lock that gives the right to; the other process keeps it. Raises
    CommitRefusedError, and then there is no commit; CommitInterruptedError where a Ctrl+C was the reason;
    CommitLostError.
    """
    order = {
        "repo": [str(path) for path in (repo.top, repo.git_dir, repo.common_dir)],
        "environ": ALONG.environ(repo.environ),
        "call_configuration": dict(repo.call_configuration),
        "parent": plan.head.commit,
        "base_tree": plan.base_tree,
        "tree": plan.tree,
        **wanted._asdict(),
    }
    # Without -P the modules in the working directory, which are the user's, would come first.
    command = (sys.executable, "-P", "-c", _START, str(_ROOT))
    kept = Kept(json.dumps(order).encode(), (right,))
    done = run_along(command, cwd=repo.top, environ=repo.environ, kept=kept)
    try:
        told = json.loads(done.out)
    except ValueError:
        # What asks it to end is deadly only before it begins.
        told = {"refused": said_by(done)} if -done.code in _ENDING else {"lost": said_by(done)}
    if "lost" in told:
        raise CommitLostError(told["lost"])
    if "refused" in told:
        if done.interrupted:
            raise CommitInterruptedError(told["refused"])
        if told.get("hook_output") is not None:
            raise HookRefusedError(told["refused"], told["hook_output"])
        raise CommitRefusedError(told["refused"])
    made = Made(told["oid"], told["tree"], told["paths"], tuple(told["differs"]))
    return Committed(made, told["left_behind"], told["is_final"], told["cut_short"])


def main(order: str) -> str:
    """Carry out an order, in the other process; gives what came of it."""
    for number in _ENDING:
        # Git hears of it, from the terminal or from here; this goes on until the index follows.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    told = json.loads(order)
    top, git_dir, common_dir = map(Path, told["repo"])
    repo = Repository(top, git_dir, common_dir, told["environ"], told["call_configuration"])
    plan = CommitPlan(Head(None, told["parent"]), told["base_tree"], told["tree"], {})
    left_behind, is_final, cut_short = None, False, None
    try:
        made = make_commit(repo, plan, told["message"])
    except UnusableError as error:
        # Git makes the commit before its last hooks run, which may be what was ended.
        oid = commit_of_run(repo, told["run_id"], told["parent"])
        if oid is None:
            output = error.output if isinstance(error, HookRefusedError) else None
            return json.dumps({"refused": error.message, "hook_output": output})
        made, cut_short = look_at_made(repo, plan, oid), error.message
    try:
        move_index(repo, plan.base_tree, made.tree)
    except UnusableError as error:
        left_behind, is_final = error.message, isinstance(error, IndexMoveError)
    outcome = {"left_behind": left_behind, "is_final": is_final, "cut_short": cut_short}
    return json.dumps({**asdict(made), **outcome})
