"""What commands print with ``--json``, whole, where no other story shows it."""

from pathlib import Path

from tests.cli.golden_harness import Program, program
from tests.cli.test_run_golden import plan_of
from tests.support import commit, git, write

__all__ = ["program"]


def run_id(program: Program, task_id: str) -> str:
    (record,) = Path(program.cwd, ".git/blackbird/runs", task_id).glob("*.json")
    return record.stem


def test_what_was_done_for_programs(program: Program) -> None:
    commit(program.cwd, {"a.txt": "one\n"})
    plan_of(program, ("a", "write b.txt x"), ("b", "write c.txt y", "--dep", "a"))
    git(program.cwd, "config", "blackbird.agent", "demo")
    git(program.cwd, "config", "blackbird.execution.stopAfterEachTask", "true")
    program.run("execute", "--json")
    program.run("decide", "a", "--approve", "--json")
    program.run("runs", "a", run_id(program, "a"), "--json")
    del program.transcript[-4:]  # its record names processes of this machine
    program.run("branch", "a", "of-a", "--json")
    program.run("restore", run_id(program, "a"), "--branch", "again", "--json")
    program.run("undo", "--json")
    program.run("undo", "a", "--dry-run", "--json")
    program.run("undo", "a", "--json")
    program.run("redo", "--json")
    program.run("redo", "a", "--json")
    program.run("set-status", "b", "skipped", "--json")
    program.run("worktrees", "--json")
    program.run("worktrees", "prune", "--json")
    program.run("prune", "--json")
    program.run("adopt", "--json")
    made = {
        git(program.cwd, "rev-parse", branch).strip(): f"COMMIT of {branch}" for branch in ("of-a", "again")
    }
    program.hidden = {**made, **program.hidden}
    program.check("json_done")


def test_the_plan_for_programs(program: Program) -> None:
    commit(program.cwd, {"a.txt": "one\n"})
    plan_of(program, ("a", "do it"), ("b", "write c.txt y", "--dep", "a"))
    program.run("validate", "--lint", "--json")
    program.run("plan", "lint", "--json")
    program.run("plan", "export", "--json")
    program.run("graph", "--json")
    program.run("rename", "a", "first", "--json")
    write(program.cwd, {"tasks.md": "# More\n\n- [ ] third\n- [ ] fourth\n"})
    program.run("plan", "import", str(program.cwd / "tasks.md"), "--json")
    program.run("schema", "--json")
    program.run("deinit", "--yes", "--json")
    program.check("json_plan")
    program.run("completion", "bash", "--json")


def test_checks_and_landings_for_programs(program: Program) -> None:
    commit(program.cwd, {"a.txt": "one\n"})
    plan_of(program, ("a", "write b.txt x"), ("b", "write c.txt y", "--dep", "a"))
    for key, value in (("agent", "demo"), ("check.command", "test ! -e c.txt")):
        git(program.cwd, "config", f"blackbird.{key}", value)
    program.run("execute", "--worktrees", "--json")
    program.run("decide", "b", "--approve", "--json")
    program.run("worktrees", "prune", "--json")
    program.check("json_landings")
