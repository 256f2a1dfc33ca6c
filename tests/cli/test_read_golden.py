"""Every message of the reading commands, and of those that make and change a plan, as files to read."""

import json
import os
from pathlib import Path
from typing import Any

from git_blackbird.agents.process.signals import identity
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.states import DecisionState, RunStatus
from git_blackbird.storage.locks import controller_lock
from git_blackbird.storage.paths import Paths
from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import run, task
from tests.support import commit, git, write

__all__ = ["program"]

ASKED = (
    Question(id="db", prompt="Which database?", options=("mysql", "sqlite")),
    Question(id="why", prompt="And why that one?"),
)


def test_no_repository(program: Program, tmp_path: Path) -> None:
    program.remark("outside of any repository")
    program.cwd = tmp_path / "elsewhere"
    program.cwd.mkdir()
    for command in ("status", "list", "runs", "config", "validate"):
        program.run(command)
    program.run("status", "--json")
    program.remark("in a bare repository")
    git(tmp_path, "init", "-q", "--bare", "bare")
    program.cwd = tmp_path / "bare"
    program.run("status")
    program.remark("inside a git directory")
    program.cwd = tmp_path / "repo" / ".git"
    program.run("status")
    program.check("no_repository")


def test_no_plan(program: Program) -> None:
    program.remark("a repository without a plan")
    for args in (["status"], ["list"], ["show", "t1"], ["validate"], ["execute"], ["add", "--title", "x"]):
        program.run(*args)
    program.run("runs")
    program.run("runs", "t1")
    program.run("status", "--json")
    program.check("no_plan")


def test_invalid_plan(program: Program, repo: Path) -> None:
    good: dict[str, Any] = {
        "title": "A task",
        "acceptanceCriteria": [],
        "parentId": None,
        "childIds": [],
        "deps": [],
        "status": "todo",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
    }
    items = {
        "a": {**good, "id": "a", "deps": ["b", "nowhere", "a"], "status": "open"},
        "b": {**good, "id": "b", "deps": ["c"], "color": "red", "childIds": None},
        "c": {**good, "id": "c", "deps": ["d"], "title": " ", "createdAt": "yesterday"},
        "d": {**good, "id": "d", "deps": ["c"], "updatedAt": "2025-01-01T00:00:00Z"},
        "e": {**good, "id": "f", "parentId": "d"},
        "../../x": {**good, "id": "../../x"},
        "C": {**good, "id": "C", "depRationale": {"a": "because"}},
    }
    write(repo, {"blackbird.plan.json": json.dumps({"schemaVersion": 2, "items": items, "tasks": []})})
    program.remark("a plan with many faults")
    program.run("validate")
    program.run("validate", "--json")
    program.run("status")
    program.run("list")
    program.run("add", "--title", "one more")
    program.remark("a plan that is cut off")
    write(repo, {"blackbird.plan.json": '{"schemaVersion": 1, "items": {"a": '})
    program.run("validate")
    program.run("show", "a")
    program.remark("a plan that is no object")
    write(repo, {"blackbird.plan.json": "[]"})
    program.run("validate")
    program.check("invalid_plan")


def test_usage(program: Program, repo: Path) -> None:
    save(repo, [task("t1")], [run("t1")])
    for args in (
        ["stats"],
        ["status", "--colour"],
        ["status", "t1"],
        ["list", "--status", "open"],
        ["show"],
        ["set-status", "t1"],
        ["set-status", "t1", "ready"],
        ["add"],
        ["decide", "t1"],
        ["decide", "t1", "--approve", "-m", "well done"],
        ["decide", "t1", "--request-changes", "-m", "x", "-F", "y"],
        ["decide", "t1", "--request-changes", "-F", "nowhere"],
        ["execute", "--limit", "0"],
        ["execute", "--agent", "gpt"],
        ["resume"],
        ["resume", "t1", "--answer", "yes"],
        ["runs", "--log"],
        ["runs", "t1", "--log", "--json"],
        ["runs", "t1", "--raw"],
        ["runs", "t1", "--diff", "--raw"],
        ["runs", "t1", "019b", "--limit", "3"],
        ["runs", "t1", "--limit", "none"],
        ["show", "t1", "--json", "--nope"],
        ["config", "--unset"],
        ["config", "--unset", "agent", "claude"],
        ["config", "--global"],
        ["config", "agent", "claude", "demo"],
    ):
        program.run(*args)
    program.check("usage")


def test_help(program: Program) -> None:
    program.run("-h")
    program.run("--version")
    for command in (
        "status",
        "list",
        "show",
        "runs",
        "config",
        "execute",
        "decide",
        "add",
        "init",
        "validate",
    ):
        program.run(command, "-h")
    for command in ("edit", "deps", "move", "delete", "set-status", "retry", "resume", "restart"):
        program.run(command, "-h")
    program.check("help")


def test_plan_commands(program: Program, repo: Path) -> None:
    program.run("init")
    program.run("init")
    program.run("status")
    program.run()
    program.run("list")
    program.run("list", "--ready")
    program.run("list", "--blocked")
    program.run("execute", "--dry-run")
    program.run("add", "--title", "Made up id", "--json")
    program.run("add", "--id", "api", "--title", "The API", "--ac", "it answers", "--ac", "it is fast")
    program.run("add", "--id", "api.1", "--title", "Routes", "--parent", "api", "--prompt", "Do the routes.")
    program.run("add", "--id", "api.0", "--title", "First", "--parent", "api", "--index", "0")
    program.run("add", "--id", "docs", "--title", "Docs", "--dep", "api.1", "--notes", "For people.")
    program.run("add", "--id", "wide", "--title", "日本語のタイトルは幅が二倍 " * 5)
    for args in (
        ["--id", "docs", "--title", "again"],
        ["--id", "DOCS", "--title", "again"],
        ["--id", "../x", "--title", "again"],
        ["--id", "x\x1b[2J", "--title", "again"],
        ["--id", "x", "--title", "  "],
        ["--id", "x", "--title", "x", "--dep", "dcos"],
        ["--id", "x", "--title", "x", "--parent", "nowhere"],
        ["--id", "x", "--title", "x", "--index", "9"],
        ["--id", "x", "--title", "x", "--parent", "api", "--index", "9"],
    ):
        program.run("add", *args)
    program.run("validate")
    program.run("validate", "--json")
    program.run("list")
    program.run("list", "--all", "--tree")
    program.run("list", "--tree", "--ready")
    program.run("list", "--blocked", "--json")
    program.run("show", "api")
    program.run("show", "docs")
    program.run("show", "dosc")
    program.run("show", "docs", "--json")
    program.run("execute", "--dry-run")
    program.run("execute", "--dry-run", "--limit", "1", "--json")
    program.run("execute", "docs")
    program.run("set-status", "api.1", "done")
    program.run("set-status", "api.0", "done")
    program.run("set-status", "docs", "done")
    program.run("set-status", "api.1", "skipped")
    program.run("show", "docs", "--json")
    program.run("set-status", "docs", "todo")
    program.run("show", "docs")
    program.run("status")
    program.run("set-status", "nowhere", "done")
    program.run("set-status", "docs", "done", BLACKBIRD_RUN_ID="019b7c4e52000001")
    program.run("retry", "docs")
    program.run("retry", "api")
    program.run("decide", "docs", "--approve")
    program.run("runs", "docs")
    program.run("runs", "docs", "01")
    program.run("runs", "docs", "--log")
    program.run("runs", "docs", "--diff")
    program.check("plan_commands")


def test_a_task_from_start_to_done(program: Program, repo: Path) -> None:
    commit(repo, {"README.md": "A project.\n", "a.txt": "one\ntwo\n"})
    program.run("init")
    program.run("config", "execution.stopAfterEachTask", "true")
    program.run("config", "agent", "demo")
    prompt = "say I wrote it down\nappend a.txt three\nwrite b.txt new"
    program.run("add", "--id", "t1", "--title", "Write it down", "--prompt", prompt, "--ac", "it is there")
    program.run("add", "--id", "t2", "--title", "Go on", "--dep", "t1", "--prompt", "fail 7")
    program.run("show", "t1", "--prompt", "--json")
    program.run("execute", "--no-input")
    program.run("status")
    program.run("status", "--json")
    program.run("show", "t1")
    program.run("runs")
    program.run("runs", "t1")
    program.run("runs", "t1", "019b")
    program.run("runs", "t1", "--log")
    program.run("runs", "t1", "--follow")
    program.run("runs", "t1", "019b", "--diff")
    program.run("decide", "t1", "--request-changes", "-m", " ")
    program.run("decide", "t1", "--request-changes", "-m", "Name it better.")
    program.run("status")
    program.run("show", "t1")
    program.run("show", "t1", "--prompt")
    program.run("execute", "--no-input")
    program.run("runs", "t1", "--diff")
    program.run("runs", "t1", "--limit", "1")
    program.run("decide", "t1", "--approve", "--run", "019b000000000000")
    program.run("decide", "t1", "--approve")
    program.run("decide", "t1", "--approve")
    program.run("execute", "--no-input")
    program.run("decide", "t2", "--reject", BLACKBIRD_RUN_ID="x")
    program.run("decide", "t2", "--reject")
    program.run("status")
    program.run("retry", "t2")
    program.run("runs", "t2")
    program.run("list", "--all")
    program.check("start_to_done")


def test_what_is_due(program: Program, repo: Path) -> None:
    pending: dict[str, Any] = {"decision_required": True, "decision_state": DecisionState.PENDING}
    save(
        repo,
        [
            task("asked", status=Status.WAITING_USER),
            task("decide-2", status=Status.WAITING_USER),
            task("decide-1", status=Status.WAITING_USER),
            task("change", status=Status.WAITING_USER),
            task("lost", status=Status.WAITING_USER),
            task(
                "paused",
                "A title that is so long that it cannot be shown whole " * 2,
                status=Status.WAITING_USER,
            ),
            task("broken", status=Status.FAILED),
            task("skipped", status=Status.SKIPPED),
            task("free"),
            task("waits", deps=("broken", "skipped")),
            task("it's $(odd)", status=Status.FAILED),
            task("top", children=("child",), status=Status.IN_PROGRESS),
            task("child", parent="top", status=Status.DONE),
        ],
        [
            run("asked", status=RunStatus.WAITING_USER, questions=ASKED),
            run("decide-2", "019b7c4e52000003", startedAt="2026-01-02T02:10:00Z", **pending),
            run("decide-1", "019b7c4e52000002", startedAt="2026-01-02T02:05:00Z", **pending),
            run(
                "change", decision_state=DecisionState.CHANGES_REQUESTED, decision_feedback="Shorter, please."
            ),
            run("lost", status=RunStatus.PAUSED, provider_session_ref=None),
            run("paused", status=RunStatus.PAUSED, terminal_reason="wall_limit"),
            run("broken", status=RunStatus.FAILED, error="exit status 7", exitCode=7),
            run("it's $(odd)", status=RunStatus.FAILED, error="\x1b[31mred\x1b[0m"),
            run("elsewhere", **pending),
        ],
    )
    program.run("status")
    program.run("status", "--json")
    for name in ("asked", "change", "lost", "paused", "broken", "waits", "top"):
        program.run("show", name)
    program.run("list")
    program.run("runs")
    program.check("what_is_due")


def test_status_while_an_agent_runs(program: Program, repo: Path) -> None:
    own: dict[str, Any] = {"pid": os.getpid(), "process_identity": identity(os.getpid())}
    gone: dict[str, Any] = {"pid": 1, "process_identity": "another boot"}
    save(
        repo,
        [task("a", status=Status.IN_PROGRESS), task("b", status=Status.IN_PROGRESS)],
        [
            run("a", status=RunStatus.RUNNING, **own),
            run("b", "019b7c4e52000002", status=RunStatus.RUNNING, **gone),
        ],
    )
    program.remark("nobody holds the lock: a is an orphan, b is lost")
    program.run("status")
    program.run("runs", "b", "--follow")
    with controller_lock(Paths(repo, repo / ".git" / "blackbird"), "execute", "2026-01-02T03:00:00Z"):
        program.remark("an execute works here")
        program.run("status")
        program.run("status", "--json")
        program.run("execute")
        program.run("resume", "a", "-m", "go on")
        program.run("restart", "a")
        program.run("retry", "a")
        program.run("set-status", "a", "todo")
    program.check("status_running")


def test_one_corrupt_or_stray_file_breaks_nothing(program: Program, repo: Path) -> None:
    save(
        repo, [task("t1", status=Status.DONE), task("t2", status=Status.IN_PROGRESS)], [run("t1"), run("t2")]
    )
    folder = ".git/blackbird/runs/t1"
    write(
        repo,
        {
            f"{folder}/0000000000000001.json": "{",
            f"{folder}/0000000000000002.json": "{}",
            f"{folder}/0000000000000003.json": json.dumps(
                {"id": "x", "taskId": "other", "status": "success"}
            ),
            ".blackbird/runs/t1/ghost.txt": "{}",
            f"{folder}/0000000000000004.json": b"\xff\xfe",
        },
    )
    program.run("status")
    program.run("show", "t1")
    program.run("runs", "t1")
    program.run("runs", "t1", "--json")
    program.run("runs")
    program.check("unreadable_records")


def test_go_records_and_names_without_time(program: Program, repo: Path) -> None:
    record = {
        "id": "f3a1b2c3d4e5f607",
        "taskId": "t1",
        "run_type": "execute",
        "provider": "claude",
        "startedAt": "2026-01-02T02:00:00.5Z",
        "completedAt": "2026-01-02T02:00:09.123456789Z",
        "status": "success",
        "exitCode": 0,
        "stdout": "done\n",
        "context": {"schemaVersion": 1, "task": {"id": "t1", "title": "Task t1"}},
        "review_summary": {"files": ["a b.txt"], "diffstat": " a b.txt | 1 +\n"},
    }
    save(repo, [task("t1", status=Status.DONE)])
    write(repo, {".blackbird/runs/t1/f3a1b2c3d4e5f607.json": json.dumps(record)})
    program.run("runs")
    program.run("runs", "t1")
    program.run("runs", "t1", "f3")
    program.run("runs", "t1", "aa")
    program.run("runs", "t1", "f3", "--diff")
    program.run("runs", "t1", "--log")
    program.run("status")
    program.check("go_records")


def test_worktrees_of_their_own(program: Program, repo: Path) -> None:
    folder = "/work/project.worktrees"
    there: dict[str, Any] = {"worktree_base": "1" * 40, "base_tree": "1" * 40, "head_tree": "2" * 40}
    check = {"outcome": "failed", "exit_code": 2, "seconds": 3.0, "output": "one test fails\n"}
    accepted = {"decision_state": "approved_continue", "decision_resolved_at": "2026-01-02T02:05:00Z"}
    blocked = {
        "decision_state": "pending",
        "landing": "blocked",
        "landing_reason": "the check fails on the merged files; sent back 2 of 2 times (landing.maxRounds)",
        "landing_check": check,
    }
    landed = {"landing": "landed", "landed_at": "2026-01-02T02:06:00Z"}
    passed = {"landing_check": {"outcome": "passed", "seconds": 4.0}}
    statuses: dict[str, tuple[Status, RunStatus, dict[str, Any]]] = {
        "atwork": (Status.IN_PROGRESS, RunStatus.RUNNING, {"pid": os.getpid()}),
        "blocked": (Status.WAITING_USER, RunStatus.SUCCESS, blocked),
        "due": (Status.IN_PROGRESS, RunStatus.SUCCESS, {"landing": "due", **accepted}),
        "landed": (Status.DONE, RunStatus.SUCCESS, {**landed, **passed, **accepted}),
        "undecided": (Status.WAITING_USER, RunStatus.SUCCESS, {**blocked, "landing": "due"}),
    }
    tasks = [task(name, status=status) for name, (status, _, _) in statuses.items()]
    runs = [
        run(name, f"019b7c4e5200000{place}", how, worktree=f"{folder}/{name}", **there, **fields)
        for place, (name, (_, how, fields)) in enumerate(statuses.items())
    ]
    save(repo, tasks, runs)
    program.run("status")
    program.run("status", "--json")
    program.run("list")
    for name in ("blocked", "due", "landed"):
        program.run("show", name)
    program.run("show", "blocked", "--json")
    program.run("runs", "blocked", "019b7c4e52000001")
    program.run("runs", "landed", "019b7c4e52000003")
    program.check("own_worktrees")


def test_an_estimate(program: Program, repo: Path) -> None:
    program.remark("nothing was done yet")
    save(repo, [task("a"), task("b", deps=("a",))])
    program.run("estimate")
    program.remark("three tasks are done, one of them in two runs")
    done = [task(f"done{number}", status=Status.DONE) for number in range(3)]
    runs = [
        run(
            f"done{of}",
            f"019b7c4e5200000{number}",
            completedAt=f"2026-01-02T02:{minutes:02}:00Z",
            provider="claude",
            cost_usd=cost,
        )
        for number, (of, minutes, cost) in enumerate(((0, 4, 0.5), (1, 10, 1.25), (2, 3, 0.25), (2, 30, 4.0)))
    ]
    left = [task("a"), task("b", deps=("a",)), task("c"), task("d", deps=("b",), status=Status.SKIPPED)]
    save(repo, [*done, *left], runs)
    program.run("estimate")
    program.run("estimate", "--jobs", "2")
    program.run("estimate", "--json")
    program.run("execute", "--dry-run", "--limit", "1")
    program.check("estimate")
