"""What every stage of a change looks like: in status, lists and records, and at its checkpoint."""

from collections.abc import Mapping
from typing import Any

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task, new_task
from tests.cli.golden_harness import Program, program, save, store_at
from tests.records import run_of
from tests.support import commit, git

__all__ = ["program"]

STAMP = "2026-01-01T00:00:00Z"
REQUEST: dict[str, Any] = {"decision_state": "changes_requested", "decision_feedback": "Say it louder."}
APPROVED: dict[str, Any] = {"status": "success", "decision_state": "approved_continue"}
QUESTION = {"id": "q", "prompt": "Which?", "options": ["x", "y"]}
OF_A_WORKTREE: dict[str, Any] = {"worktree": "/nowhere", "home_branch": "main"}
NOTHING = {"base": "0" * 40, "head": "0" * 40}
LANDED: dict[str, Any] = {**OF_A_WORKTREE, "landing": "landed", "landed_at": STAMP}
STAGES: dict[str, dict[str, Any]] = {
    "half-undone": {"status": "success", "moving": "undo"},
    "asked": {
        "status": "waiting_user",
        "questions": [{"id": "q", "prompt": "Which?", "options": ["x", "y"]}],
    },
    "paused": {"status": "paused", "terminal_reason": "interrupted"},
    "paused-at-a-limit": {"status": "paused", "terminal_reason": "wall_limit"},
    "checking": {"status": "success", "check": {"outcome": "due"}},
    "reviewing": {"status": "success", "review_state": "due"},
    "sent-back": {"status": "success", **REQUEST},
    "sent-back-after-a-failure": {"status": "failed", "error": "exit status 1", **REQUEST},
    "blocked": {
        "status": "success",
        "decision_state": "pending",
        **OF_A_WORKTREE,
        "landing": "blocked",
        "landing_reason": "the branch was left",
    },
    "not-committed": {
        "status": "success",
        "decision_state": "pending",
        **LANDED,
        "uncommitted": "it is not committed: the hook refused",
    },
    "deciding": {"status": "success", "decision_state": "pending"},
    "deciding-without-a-change": {"status": "success", "decision_state": "pending", "no_change": True},
    "deciding-with-a-failed-check": {
        "status": "success",
        "decision_state": "pending",
        "check": {"outcome": "failed", "command": "make", "exit_code": 2},
    },
    "deciding-a-failure": {"status": "failed", "decision_state": "pending", "error": "exit status 1"},
    "undone": {"status": "success", "undone_at": STAMP, "undo_left": ["b.txt"]},
    "rejected": {"status": "success", "decision_state": "rejected", "terminal_reason": "rejected"},
    "landing": {
        "status": "success",
        "decision_state": "approved_continue",
        **OF_A_WORKTREE,
        "landing": "due",
    },
    "landing-begun": {"status": "success", **OF_A_WORKTREE, "landing": "due", "moving": "land"},
    "done": {"status": "success"},
    "done-once-landed": {**APPROVED, **LANDED},
    "failed": {"status": "failed", "error": "exit status 1"},
    "session-lost": {"status": "success", **REQUEST, "provider_session_ref": None},
}


def task_of(name: str) -> Task:
    return new_task(TaskId(name), name.replace("-", " ").capitalize(), STAMP)


def put(program: Program, stages: Mapping[str, Mapping[str, Any]]) -> None:
    """Put one task in each stage, with a run that changed a line of a.txt."""
    commit(program.cwd, {"a.txt": "one\n"})
    base = git(program.cwd, "rev-parse", "HEAD^{tree}").strip()
    commit(program.cwd, {"a.txt": "two\n"})
    head = git(program.cwd, "rev-parse", "HEAD^{tree}").strip()
    git(program.cwd, "reset", "-q", "--hard", "HEAD^")
    tasks = [task_of(name) for name in stages]
    runs = []
    for number, (name, fields) in enumerate(stages.items()):
        is_over = fields["status"] in {"success", "failed"}
        whole = {
            "id": f"019b7ca8{number:08x}",
            "taskId": name,
            "startedAt": f"2026-01-01T00:{number:02d}:00Z",
            "completedAt": f"2026-01-01T00:{number:02d}:30Z" if is_over else None,
            "provider": "demo",
            "provider_session_ref": "session",
            "program": "git-blackbird",
            "decision_requested_at": STAMP if "decision_state" in fields else None,
            "base_tree": base,
            "worktree_base": base if "worktree" in fields else None,
            "head_tree": base if fields.get("no_change") else head if is_over else None,
            "landing_trees": {"base": base, "head": head} if "landed" in fields.values() else None,
            **fields,
        }
        runs.append(run_of(**whole))
    save(program.cwd, tasks, runs)


def test_every_stage(program: Program) -> None:
    put(program, STAGES)
    program.run("status")
    program.run("list", "--all")
    program.run("worktrees", "list")
    program.run("status", "--json")
    program.run("runs", "--json")
    for name in STAGES:
        program.run("show", name)
    program.check("stages")


def test_every_checkpoint(program: Program) -> None:
    deciding = {name: fields for name, fields in STAGES.items() if "pending" in fields.values()}
    put(program, deciding)
    for name in deciding:
        program.remark(name)
        with store_at(program.cwd).transaction() as transaction:
            transaction.save_plan(Plan({TaskId(name): task_of(name)}))
        program.run("execute")
    program.check("checkpoints")
