"""Every message of the commands that change tasks, as files to read."""

import os
import sys
from pathlib import Path
from typing import Any

from git_blackbird.agents.process.signals import identity
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import DecisionState, RunStatus
from tests import preloaded
from tests.cli.golden_harness import Program, program, save, store_at
from tests.cli.plans import run, task
from tests.cli.terminal import PROGRAM, program_environ

__all__ = ["program"]

PENDING: dict[str, Any] = {"decision_required": True, "decision_state": DecisionState.PENDING}


def family(repo: Path) -> None:
    save(
        repo,
        [
            task("p", children=("a", "b")),
            task("a", parent="p", status=Status.DONE),
            task("b", parent="p", deps=("a",)),
            task("q", deps=("a", "b")),
        ],
        [run("a"), run("a", "019b7c4e52000002")],
    )


def test_edit(program: Program, repo: Path) -> None:
    family(repo)
    program.run("edit", "q", "--title", "Another", "--description", "What.", "--prompt", "Do it.")
    program.run("edit", "q", "--ac", "it works", "--ac", "it is fast", "--notes", "For people.")
    program.run("show", "q")
    program.run("edit", "q", "--ac", "only this", "--clear-notes", "--clear-prompt", "--json")
    program.run("edit", "q", "--clear-notes")
    program.run("edit", "q", "--clear-description", "--clear-ac")
    program.run("show", "q", "--json")
    program.remark("what is refused")
    for args in (
        ["q", "--title", " "],
        ["q", "--ac", "one", "--ac", ""],
        ["q", "--notes", "x", "--clear-notes"],
        ["q", "--ac", "x", "--clear-ac"],
        ["q", "--no-input"],
        ["q", "--no-input", "--json"],
        ["nowhere", "--title", "x"],
        ["q", "--status", "done"],
        [],
    ):
        program.run("edit", *args)
    program.run("edit", "q", "--title", "x", BLACKBIRD_RUN_ID="019b7c4e52000001")
    program.check("edit")


def test_deps(program: Program, repo: Path) -> None:
    family(repo)
    for args in (
        ["remove", "q", "a", "b"],
        ["add", "q", "a", "a", "p"],
        ["add", "q", "a", "b"],
        ["set", "q", "b", "a", "b"],
        ["set", "q", "b", "a"],
        ["set", "q", "--json"],
        ["add", "q", "b", "--json"],
        ["add", "b", "p"],
    ):
        program.run("deps", *args)
    program.run("show", "q")
    program.remark("what is refused")
    for args in (
        ["add", "a", "q"],
        ["add", "a", "a"],
        ["add", "q", "nowhere"],
        ["add", "nowhere", "q"],
        ["remove", "q", "p", "a"],
        ["remove", "a", "b", "--json"],
        ["remove", "q"],
        ["add", "q"],
        ["guess", "q"],
        ["add"],
        [],
    ):
        program.run("deps", *args)
    program.check("deps")


def test_move(program: Program, repo: Path) -> None:
    family(repo)
    for args in (
        ["q", "--parent", "p"],
        ["q", "--parent", "p", "--index", "0"],
        ["q", "--index", "0"],
        ["q", "--index", "1", "--json"],
        ["b", "--parent", "root"],
        ["b", "--parent", "/", "--json"],
        ["a", "--parent", "q"],
    ):
        program.run("move", *args)
    program.run("list", "--all", "--tree")
    program.remark("what is refused")
    for args in (
        ["p", "--parent", "a"],
        ["p", "--parent", "p"],
        ["q", "--index", "1"],
        ["b", "--index", "0"],
        ["b", "--index", "1"],
        ["b", "--index", "1", "--json"],
        ["b", "--index", "2"],
        ["b", "--parent", "nowhere"],
        ["nowhere", "--parent", "p"],
        ["b"],
        ["b", "--index", "first"],
        [],
    ):
        program.run("move", *args)
    program.run("move", "b", "--parent", "p", BLACKBIRD_RUN_ID="019b7c4e52000001")
    program.remark("a task called root")
    program.run("add", "--id", "root", "--title", "A root")
    program.run("move", "b", "--parent", "root")
    program.run("move", "b", "--parent", "/root")
    program.run("move", "b", "--parent", "/")
    program.check("move")


def test_moving_reopens_and_settles_parents(program: Program, repo: Path) -> None:
    done = Status.DONE
    save(
        repo,
        [
            task("p", children=("a",), status=done),
            task("a", parent="p", status=done),
            task("q", children=("b", "c"), status=Status.IN_PROGRESS),
            task("b", parent="q", status=done),
            task("c", parent="q"),
            task("user", deps=("p",), status=done),
        ],
    )
    program.run("move", "c", "--parent", "p")
    program.run("list", "--all", "--tree")
    program.run("delete", "c", "--json")
    program.run("list", "--all", "--tree")
    program.check("move_follows")


def test_delete(program: Program, repo: Path) -> None:
    family(repo)
    program.remark("what is refused")
    program.run("delete", "p")
    program.run("delete", "p", "--cascade-children")
    program.run("delete", "a")
    program.run("delete", "b", "--json")
    program.run("delete", "nowhere")
    program.run("delete")
    program.run("delete", "q", BLACKBIRD_RUN_ID="019b7c4e52000001")
    program.remark("with --force, and with what is below")
    program.run("delete", "a", "--force")
    program.run("runs", "a")
    program.run("add", "--id", "a", "--title", "Again")
    program.run("delete", "p", "--cascade-children", "--force")
    program.run("show", "q")
    program.run("delete", "q", "--json")
    program.run("list", "--all")
    program.check("delete")


def test_what_is_in_hand(program: Program, repo: Path) -> None:
    own: dict[str, Any] = {"pid": os.getpid(), "process_identity": identity(os.getpid())}
    save(
        repo,
        [
            task("busy", status=Status.IN_PROGRESS),
            task("due", status=Status.WAITING_USER),
            task("held", status=Status.WAITING_USER),
            task("free"),
        ],
        [
            run("busy", status=RunStatus.RUNNING, **own),
            run("due", **PENDING),
            run("held", status=RunStatus.PAUSED),
        ],
    )
    program.run("edit", "busy", "--title", "x")
    program.run("edit", "busy")
    program.run("deps", "add", "busy", "free")
    program.run("move", "busy", "--parent", "free")
    program.run("delete", "busy", "--force")
    for parent in ("busy", "due", "held"):
        program.run("move", "free", "--parent", parent)
    program.run("delete", "due")
    program.run("delete", "due", "--force")
    program.run("delete", "held")
    program.run("undo", "busy")
    program.run("status")
    program.check("edit_in_hand")


def test_many_edits_at_once_lose_nothing(repo: Path) -> None:
    names = [f"t{number}" for number in range(8)]
    save(repo, [task(name) for name in [*names, "base"]])
    commands = [
        ["edit", "t0", "--title", "New"],
        ["edit", "t0", "--notes", "Noted"],
        ["edit", "t1", "--ac", "it works"],
        ["deps", "add", "t2", "base"],
        ["deps", "add", "t2", "t3"],
        ["move", "t4", "--parent", "base"],
        ["move", "t5", "--parent", "base"],
        ["delete", "t6"],
        ["delete", "t7"],
    ]
    started = [
        preloaded.Popen([sys.executable, *PROGRAM, *args], cwd=repo, env=program_environ())
        for args in commands
    ]
    assert [one.wait() for one in started] == [0] * len(commands)
    tasks = {str(key): one for key, one in store_at(repo).plan().tasks.items()}
    assert sorted(tasks) == ["base", "t0", "t1", "t2", "t3", "t4", "t5"]
    assert (tasks["t0"].title, tasks["t0"].notes) == ("New", "Noted")
    assert sorted(tasks["t2"].deps) == ["base", "t3"]
    assert sorted(tasks["base"].children) == ["t4", "t5"]
