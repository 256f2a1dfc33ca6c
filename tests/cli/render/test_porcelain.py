"""``--porcelain`` and ``-z``: what scripts are given (docs/porcelain.md)."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.agents.process.signals import identity
from git_blackbird.model.entities.run import DecisionState, RunStatus
from git_blackbird.model.entities.status import Status
from tests import preloaded
from tests.cli.golden_harness import Program, program, save
from tests.cli.plans import run, task
from tests.cli.terminal import PROGRAM, program_environ
from tests.support import write

__all__ = ["program"]

ODD_TITLE = 'Tabs\tand\nlines, "quotes", \x1b[31mred\x1b[0m, \u202eback'


@pytest.fixture
def busy(repo: Path) -> Path:
    """A plan with something of every kind in it."""
    pending: dict[str, Any] = {"decision_required": True, "decision_state": DecisionState.PENDING}
    own: dict[str, Any] = {"pid": os.getpid(), "process_identity": identity(os.getpid())}
    save(
        repo,
        [
            task("p", "A parent", children=("a", "odd id"), status=Status.IN_PROGRESS),
            task("a", ODD_TITLE, parent="p", status=Status.WAITING_USER),
            task("odd id", '"Quoted"', parent="p", deps=("a", "failed")),
            task("failed", status=Status.FAILED),
            task("works", status=Status.IN_PROGRESS),
            task("stuck", status=Status.IN_PROGRESS),
            task("drifts", status=Status.DONE),
            task("free", "日本語 \\ title"),
        ],
        [
            run("a", **pending, cost_usd=0.25, exitCode=0),
            run("failed", status=RunStatus.FAILED, error="no", exitCode=7, superseded_at=None),
            run("works", status=RunStatus.RUNNING, **{**own, "provider": "odd\tprovider"}),
            run("drifts", status=RunStatus.PAUSED, terminal_reason="wall_limit"),
            run("elsewhere", **pending),
        ],
    )
    write(repo, {".git/blackbird/runs/free/0000000000000001.json": "{"})
    return repo


def test_records_in_lines(program: Program, busy: Path) -> None:
    program.hidden = {**program.hidden, f"\t{os.getpid()}\t": "\tPID\t"}
    program.run("list", "--porcelain")
    program.run("list", "--all", "--tree", "--porcelain")
    program.run("list", "--ready", "--porcelain")
    program.run("list", "--status", "queued", "--porcelain")
    program.run("runs", "--porcelain")
    program.run("runs", "--porcelain", "--limit", "2")
    program.run("runs", "a", "--porcelain")
    program.run("runs", "stuck", "--porcelain")
    program.run("status", "--porcelain")
    program.remark("what is refused")
    for args in (
        ["list", "--porcelain", "--json"],
        ["status", "-z", "--json"],
        ["runs", "a", "019b", "--porcelain"],
        ["runs", "a", "--log", "-z"],
        ["runs", "nowhere", "--porcelain"],
        ["show", "a", "--porcelain"],
    ):
        program.run(*args)
    program.check("porcelain")


def printed(repo: Path, *args: str) -> bytes:
    completed = preloaded.run(
        [sys.executable, *PROGRAM, *args], cwd=repo, env=program_environ(), capture_output=True, check=False
    )
    assert completed.returncode == 0
    return completed.stdout


def test_records_that_end_with_nul_quote_nothing(busy: Path) -> None:
    records = printed(busy, "list", "--all", "--tree", "-z").decode().split("\0")
    assert records.pop() == ""
    assert [record.split("\t", 5) for record in records] == [
        ["drifts", "waiting_user", "WAITING_USER", "0", "-", "Task drifts"],
        ["failed", "failed", "FAILED", "0", "-", "Task failed"],
        ["free", "todo", "BLOCKED", "0", "-", "日本語 \\ title"],
        ["p", "in_progress", "IN_PROGRESS", "0", "-", "A parent"],
        ["a", "waiting_user", "WAITING_USER", "1", "p", ODD_TITLE],
        ["odd id", "todo", "BLOCKED", "1", "p", '"Quoted"'],
        ["stuck", "in_progress", "IN_PROGRESS", "0", "-", "Task stuck"],
        ["works", "in_progress", "IN_PROGRESS", "0", "-", "Task works"],
    ]


def test_only_the_last_field_of_a_record_holds_tabs(busy: Path) -> None:
    records = printed(busy, "runs", "-z").decode().split("\0")[:-1]
    assert {record.count("\t") for record in records} == {13}
    assert any("odd\ufffdprovider" in record for record in records)


def test_nul_in_a_text_ends_no_record(repo: Path) -> None:
    save(repo, [task("a", "no\0thing")])
    assert printed(repo, "list", "-z").decode() == "a\ttodo\tREADY\t0\t-\tno\ufffdthing\0"
    assert printed(repo, "list", "-z", "--porcelain").count(b"\0") == 1
    assert printed(repo, "list", "--porcelain").decode() == 'a\ttodo\tREADY\t0\t-\t"no\\000thing"\n'


def test_nothing_to_list_prints_nothing(repo: Path) -> None:
    save(repo, [])
    for args in (["list", "--porcelain"], ["list", "-z"], ["runs", "--porcelain"], ["runs", "-z"]):
        assert printed(repo, *args) == b""
