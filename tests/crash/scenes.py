"""Command lines whose steps are struck one by one, each in a repository made for it."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.states import ReviewState, RunStatus, TerminalReason
from tests.cli.terminal import PROGRAM
from tests.controller.support import (
    agree_to_agent,
    configure,
    execute,
    leaf,
    open_at,
    parent_of,
    put_plan,
    store_at,
)
from tests.crash.running import INJECTED, run
from tests.git.support import script
from tests.support import commit, git, write


@dataclass(frozen=True)
class Scene:
    """One command line, what is there before it, and what a person does when it did not go through."""

    prepare: Callable[[Path], None]
    command: tuple[str, ...]
    again: tuple[str, ...]
    typed: str = ""


def ours(*args: str) -> tuple[str, ...]:
    return (sys.executable, *PROGRAM, *args)


def scene(prepare: Callable[[Path], None], *args: str, again: tuple[str, ...] | None = None) -> Scene:
    return Scene(prepare, ours(*args), ours(*(again or args)))


def _start(repo: Path, *tasks: Task, **settings: str) -> None:
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    is_tracked = "plan__statuses" in settings
    ignored = ".blackbird\n" if is_tracked else ".blackbird\nblackbird.plan.json\n"
    commit(repo, {"a.txt": "one\n", ".gitignore": ignored})
    configure(repo, agent="demo", execution__stopGraceSeconds="0", **settings)
    put_plan(repo, *tasks)
    if is_tracked:
        git(repo, "add", "blackbird.plan.json")
        git(repo, "commit", "-q", "-m", "plan")


def _two_leaves(repo: Path) -> None:
    _start(repo, leaf("a", "write x.txt 1"), leaf("b", "append x.txt 2", deps=["a"]))


def _by_command(repo: Path) -> None:
    _start(repo, leaf("a"), execution__stopAfterEachTask="true")
    own = "git diff --cached --quiet || git commit -q -m own"
    configure(repo, agent="command", command__run=f"echo 1 >x.txt; git add x.txt; {own}")
    agree_to_agent(repo)


# It says in the plan that b is done; where b is done by its run, that stands.
_JUDGES = """
if [ $BLACKBIRD_TASK_ID = a ] && [ ! -e .git/judged ]; then
sed '/"id": "b"/,/"status"/s/"todo"/"done"/' blackbird.plan.json >.git/edited
mv .git/edited blackbird.plan.json
fi
echo 1 >$BLACKBIRD_TASK_ID.txt
"""


def _judging(repo: Path) -> None:
    _start(repo, leaf("a"), leaf("b"), leaf("c", deps=["a", "b"]))
    configure(repo, agent="command", command__run=_JUDGES)
    agree_to_agent(repo)


def _has_judged(repo: Path) -> None:
    _judging(repo)
    execute(repo)
    write(repo, {".git/judged": ""})


def _waiting(repo: Path, **settings: str) -> None:
    tasks = leaf("a", "write x.txt 1\nwrite d/y.txt 2"), leaf("b", "append x.txt 3", deps=["a"])
    _start(repo, *tasks, execution__stopAfterEachTask="true", **settings)
    execute(repo)


def _waiting_to_commit(repo: Path, **settings: str) -> None:
    _waiting(repo, **settings)
    configure(repo, execution__commit="approved")
    write(repo, {"a.txt": "staged\n"})
    git(repo, "add", "a.txt")


def _waiting_to_commit_status(repo: Path) -> None:
    _waiting_to_commit(repo, plan__statuses="lasting")
    staged = git(repo, "show", ":blackbird.plan.json").replace('"Task b"', '"Work b"')
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=f"{staged}\n".encode())
    git(repo, "update-index", "--cacheinfo", f"100644,{blob},blackbird.plan.json")
    run(repo, ours("edit", "b", "--title", "Work b"))


def _committed(repo: Path, **settings: str) -> None:
    _waiting_to_commit(repo, **settings)
    run(repo, ours("decide", "a", "--approve"))
    write(repo, {"a.txt": "edited\n", "mine.txt": "mine\n"})


def _in_worktrees(repo: Path, prompt: str, **settings: str) -> None:
    tasks = leaf("a", prompt), leaf("b", "append x.txt 3", deps=["a"])
    _start(repo, *tasks, execution__stopAfterEachTask="true", execution__worktrees="true", **settings)
    execute(repo)
    write(repo, {"a.txt": "edited\n"})


def _tried_twice(repo: Path) -> None:
    tasks = leaf("a", "fail-once 1\nwrite x.txt 1"), leaf("b", "append x.txt 3", deps=["a"])
    _start(repo, *tasks)
    execute(repo)
    run(repo, ours("retry", "a"))
    run(repo, ours("execute", "a", "--no-input"))
    store = store_at(repo)
    with store.transaction() as transaction:
        for one in store.records.history(leaf("a").id).runs:
            transaction.save_run(one.updated(completed_at="2025-06-01T00:00:00Z"))
    git(repo, "update-ref", "refs/blackbird/runs/0195000000000000", "HEAD^{tree}")


def _told(repo: Path) -> None:
    """Have a run stopped for what it was told: the call that is at work is about to go on with it."""
    _start(repo, leaf("a", "write x.txt 1\non-feedback write x.txt 2"))
    execute(repo)
    store = store_at(repo)
    with store.transaction() as transaction:
        (done,) = store.records.history(leaf("a").id).runs
        paused = done.updated(status=RunStatus.PAUSED, terminal_reason=TerminalReason.TOLD)
        transaction.save_run(paused.updated(messages_while_working=("in French",)))


# Holds the controller lock as a call at work does; with -I, its own steps are not struck.
_BESIDE_A_CALL = """
import fcntl, subprocess, sys
lock = open(".git/blackbird/controller.lock", "a")
fcntl.flock(lock, fcntl.LOCK_EX)
sys.exit(abs(subprocess.run(sys.argv[1:]).returncode))
"""


def beside_a_call(prepare: Callable[[Path], None], *args: str) -> Scene:
    command = (sys.executable, "-I", "-c", _BESIDE_A_CALL, *ours(*args))
    return Scene(prepare, command, command)


def _approve_beside_a_call(repo: Path) -> None:
    """Approve while another call is at work: it is that which would land it."""
    with hold_controller(open_at(repo), "execute"):
        run(repo, ours("decide", "a", "--approve"))


def _worked_apart(repo: Path) -> None:
    _in_worktrees(repo, "write x.txt 1\nwrite d/y.txt 2")


def _accepted(repo: Path, **settings: str) -> None:
    _in_worktrees(repo, "write x.txt 1\nwrite d/y.txt 2", **settings)
    _approve_beside_a_call(repo)


def _accepted_to_commit(repo: Path) -> None:
    _accepted(repo, execution__commit="approved")


def _accepted_to_commit_status(repo: Path) -> None:
    _accepted(repo, execution__commit="approved", plan__statuses="lasting")


def _committed_with_status(repo: Path) -> None:
    _committed(repo, plan__statuses="lasting")


def _taken_back_with_status(repo: Path) -> None:
    _committed_with_status(repo)
    run(repo, ours("undo", "a"))


def _checked(repo: Path) -> None:
    _accepted(repo, check__command="test -e x.txt && echo seen >made-by-check")


def _to_prove(repo: Path) -> None:
    _start(repo, leaf("a", "write x.sh x=1\nwrite d/y.sh y=2"), execution__stopAfterEachTask="true")
    execute(repo)
    configure(repo, check__command="test -e x.sh")


def _taken_back(repo: Path) -> None:
    _committed(repo)
    run(repo, ours("undo", "a"))


def _conflicting(repo: Path) -> None:
    _in_worktrees(repo, "write x.txt theirs\non-feedback write x.txt both")
    write(repo, {"x.txt": "mine\n"})
    _approve_beside_a_call(repo)


def _two_jobs(repo: Path) -> None:
    _start(repo, leaf("a", "write x.txt 1"), leaf("b", "write y.txt 2"), execution__jobs="2")


def _to_set_up(repo: Path) -> None:
    _start(repo, leaf("a", "write x.txt 1"), execution__worktrees="true", worktree__setup="echo made >made")
    configure(repo, worktree__copy='["lib/"]')
    write(repo, {"lib/.gitignore": "*\n", "lib/part": "part\n"})


def _requested(repo: Path) -> None:
    _waiting(repo)
    run(repo, ours("decide", "a", "--request-changes", "-m", "say it in French"))


def _ask_question(repo: Path) -> None:
    _start(repo, leaf("a", "ask q Which? | a | b\nanswered q y.txt"))
    execute(repo)


def _tree(repo: Path) -> None:
    work = {name: f"write {name}.txt {name}" for name in ("t", "u", "z")}
    children = (leaf(name, work[name], parent="p") for name in ("t", "u"))
    _start(repo, parent_of("p", ["t", "u"]), *children, leaf("z", work["z"]))


def _edited(repo: Path) -> None:
    _tree(repo)
    editor = script(repo.parent / "editor", 'printf "%s\\n" "$(sed s/Task/Work/ "$1")" >"$1"')
    git(repo, "config", "core.editor", str(editor))


def _hooked(repo: Path) -> None:
    _start(repo, leaf("a"), leaf("b", "append x.txt 3", deps=["a"]), execution__stopAfterEachTask="true")
    run(repo, ours("hooks", "install"))
    python = script(repo.parent / "python", f'shift\nPYTHONPATH={INJECTED} exec {sys.executable} "$@"')
    hook = repo / ".git/hooks/post-commit"
    hook.write_text(hook.read_text().replace(sys.executable, str(python)))
    write(repo, {"x.txt": "mine\n"})
    git(repo, "add", "x.txt")


def _judged(repo: Path) -> None:
    parent = replace(parent_of("p", ["t"]), prompt="require y.txt more | t | y.txt needs more")
    child = leaf("t", "write y.txt a\non-feedback append y.txt more", parent="p")
    _start(repo, parent, child, leaf("z", "write z.txt z", deps=["p"]))


def _reviewed(repo: Path) -> None:
    _start(repo, leaf("t", "write x.txt one"))
    execute(repo)
    store = store_at(repo)
    with store.transaction() as transaction:
        (done,) = store.records.history(leaf("t").id).runs
        transaction.save_run(done.updated(review_state=ReviewState.DUE))
    configure(repo, reviews__mode="parallel")


SCENES: Mapping[str, Scene] = {
    "execute": scene(_two_leaves, "execute", "--no-input"),
    "command": scene(_by_command, "execute", "--no-input"),
    "approve": scene(_waiting, "decide", "a", "--approve"),
    "decide": scene(_worked_apart, "decide", "a", "--approve"),
    "commit": scene(_waiting_to_commit, "decide", "a", "--approve"),
    "commit status": scene(_waiting_to_commit_status, "decide", "a", "--approve"),
    "land and commit status": scene(_accepted_to_commit_status, "execute", "--no-input"),
    "undo status": scene(_committed_with_status, "undo", "a"),
    "redo status": scene(_taken_back_with_status, "redo", "a"),
    "land": scene(_accepted, "execute", "--no-input"),
    "land and commit": scene(_accepted_to_commit, "execute", "--no-input"),
    "check": scene(_checked, "execute", "--no-input"),
    "prove": scene(_to_prove, "prove", "a"),
    "conflict": scene(_conflicting, "execute", "--no-input"),
    "set up": scene(_to_set_up, "execute", "--no-input"),
    "jobs": scene(_two_jobs, "execute", "--no-input"),
    "request": scene(_waiting, "decide", "a", "--request-changes", "-m", "say it in French"),
    "resume": scene(_requested, "resume", "a", "--no-input"),
    "answer": replace(scene(_ask_question, "resume", "a"), typed="1\n"),
    "reject": scene(_waiting, "decide", "a", "--reject"),
    "undo": scene(_committed, "undo", "a"),
    "redo": scene(_taken_back, "redo", "a"),
    "restore": scene(_waiting, "restore", "0", "../restored"),
    "delete": scene(_waiting, "delete", "a", "--force"),
    "edit": scene(_tree, "edit", "t", "--title", "Work t"),
    "editor": scene(_edited, "edit", "t"),
    "move": scene(_tree, "move", "z", "--parent", "p", "--index", "0"),
    "deps": scene(_tree, "deps", "set", "t", "z"),
    "hook": Scene(
        _hooked,
        ("git", "commit", "-q", "-m", "by hand\n\nBlackbird-Task: a"),
        ("git", "commit", "-q", "--amend", "--no-edit"),
    ),
    "prune": scene(_tried_twice, "prune", "--yes"),
    "tell": beside_a_call(_told, "tell", "a", "-m", "in short"),
    "install": scene(_two_leaves, "hooks", "install"),
    "edit plan": scene(_judging, "execute", "a", "--no-input"),
    "take edits": scene(_has_judged, "decide", "a", "--approve"),
    "leave edits": scene(_has_judged, "decide", "a", "--reject"),
    "parent review": scene(_judged, "execute", "--no-input"),
    "reviews": scene(_reviewed, "execute", "--no-input"),
    "review run": scene(_reviewed, "review", "run", "t", "--no-input"),
}
