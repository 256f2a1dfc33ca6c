"""Make a commit in a separate process, which finishes even if this one is killed.

The user's hooks may take long. Killing this program meanwhile kills neither git nor the worker, which holds
the approval lock until the commit is made and the index updated (DESIGN.md 10).
"""

import json
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.commit.create import (
    CommitRefusedError,
    CreatedCommit,
    HookRefusedError,
    IndexUpdateError,
    error_output,
    inspect_commit,
    make_commit,
    update_index,
)
from git_blackbird.git.commit.plan import CommitPlan
from git_blackbird.git.core.foreground import ALONG
from git_blackbird.git.core.process import run_user_program
from git_blackbird.git.core.repository import Head, Repository
from git_blackbird.git.worktree.log import commit_of_run

_ROOT = Path(__file__).parents[3]
# Until the worker is ready, Ctrl+C ends it silently. Our own folder is last on the path, so that a folder of
# packages cannot shadow the standard library.
_START = (
    "import signal, sys; heard = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN; "
    "heard and signal.signal(signal.SIGINT, signal.SIG_DFL); sys.path.append(sys.argv[1]); "
    "from git_blackbird.git.commit.worker import main; sys.stdout.write(main(sys.stdin.read()))"
)
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class CommitWorkerKilled(CommitRefusedError):  # noqa: N818  # named for what happened
    """The commit process was killed; git may still be running."""


class CommitInterruptedError(CommitRefusedError):
    """Ctrl+C ended git before there was a commit."""


def commit_in_subprocess(
    repo: Repository, plan: CommitPlan, message: str, run_id: str, right: int
) -> CreatedCommit:
    """Make the commit and update the user's index in a process that outlives this one.

    The message names the run in a trailer. ``right`` is the descriptor of the approval lock, which the worker
    keeps. Raises CommitRefusedError if there is no commit, CommitInterruptedError if Ctrl+C was the reason,
    and CommitWorkerKilled.
    """
    order = {
        "repo": [str(path) for path in (repo.top, repo.git_dir, repo.common_dir)],
        "environ": ALONG.environ(repo.environ),
        "call_configuration": dict(repo.call_configuration),
        "parent": plan.head.commit,
        "base_tree": plan.base_tree,
        "tree": plan.tree,
        "message": message,
        "run_id": run_id,
    }
    # -P keeps modules in the user's working directory from being imported.
    command = (sys.executable, "-P", "-c", _START, str(_ROOT))
    done = run_user_program(
        command, cwd=repo.top, environ=repo.environ, stdin=json.dumps(order).encode(), descriptors=(right,)
    )
    try:
        reply = json.loads(done.out)
    except ValueError:
        # Before the worker is ready, a signal ends it.
        reply = {"refused": error_output(done)} if -done.code in _ENDING else {"lost": error_output(done)}
    if "lost" in reply:
        raise CommitWorkerKilled(reply["lost"])
    if "refused" in reply:
        if done.interrupted:
            raise CommitInterruptedError(reply["refused"])
        if reply.get("hook_output") is not None:
            raise HookRefusedError(reply["refused"], reply["hook_output"])
        raise CommitRefusedError(reply["refused"])
    return CreatedCommit(**{**reply, "differs": tuple(reply["differs"])})


def main(order: str) -> str:
    """Carry out a request in the worker process and return the result."""
    for number in _ENDING:
        # Git gets the signal from the terminal or from here; the worker goes on until the index is updated.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    request = json.loads(order)
    top, git_dir, common_dir = map(Path, request["repo"])
    repo = Repository(top, git_dir, common_dir, request["environ"], request["call_configuration"])
    plan = CommitPlan(Head(None, request["parent"]), request["base_tree"], request["tree"], {})
    try:
        made = make_commit(repo, plan, request["message"])
    except UnusableError as error:
        # Git makes the commit before its last hooks run, and these may be what was interrupted.
        oid = commit_of_run(repo, request["run_id"], request["parent"])
        if oid is None:
            output = error.output if isinstance(error, HookRefusedError) else None
            return json.dumps({"refused": error.message, "hook_output": output})
        made = replace(inspect_commit(repo, plan, oid), cut_short=error.message)
    try:
        update_index(repo, plan.base_tree, made.tree)
    except UnusableError as error:
        made = replace(made, left_behind=error.message, is_final=isinstance(error, IndexUpdateError))
    return json.dumps(asdict(made))
