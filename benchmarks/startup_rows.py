"""Rows 1, 2, 2b and 2c: how long the program takes to start."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measuring import Row, Turn, compare, run_process
from benchmarks.plans import build_tasks, choose_agent, execute, save_plan, task_id
from git_blackbird.git.hooks.task_commits import PREFIX

_HEAVY = ("pygit2", "questionary", "textual", "asyncio")
_ONE_MODEL = """
import click, pydantic
class Model(pydantic.BaseModel):
    number: int
print(Model.model_validate_json('{"number": 1}').model_dump_json())
"""
_LOOK = f"""
import sys
from git_blackbird.cli.main import main
from git_blackbird.controller.core.environment import system_environment
main(sys.argv[1:], system_environment)
print("loaded", *(set({_HEAVY!r}) & set(sys.modules)))
"""


def idle_hook(bench: Bench) -> Iterator[Row]:
    """Row 1: the hook's Python entry for a commit whose message names no task of the plan that is there."""
    repo = make_small_plan(bench, "row-1")
    find = "import git_blackbird.hook as hook; print(hook.__file__)"
    entry = bench.run(bench.python, "-c", find, cwd=repo).strip()
    deferred = PREFIX + bench.run("git", "rev-parse", "HEAD", cwd=repo).strip()
    yield compare(
        bench.ruler,
        "1",
        "the hook's Python entry with nothing to do",
        2.0,
        starting(bench, repo, bench.python, "-I", entry, ".git", deferred),
        starting(bench, repo, bench.python, "-c", "pass"),
    )


def starting(bench: Bench, repo: Path, *argv: str) -> Turn:
    return lambda: run_process(argv, bench.environ, repo)


def help_and_version(bench: Bench) -> Iterator[Row]:
    """Row 2."""
    repo = bench.make_repository("row-2", 1)
    for option in ("--help", "--version"):
        yield compare(
            bench.ruler,
            "2",
            f"git-blackbird {option} / import click",
            1.25,
            starting(bench, repo, bench.program, option),
            starting(bench, repo, bench.python, "-c", "import click"),
        )


def readers(bench: Bench) -> Iterator[Row]:
    """Row 2b: on a plan of ten tasks, three of which have run."""
    repo = make_small_plan(bench, "row-2b")
    script = bench.place / "row-2b.py"
    script.write_text(_ONE_MODEL)
    for command in (("status",), ("list",), ("show", task_id(0)), ("runs",)):
        row = compare(
            bench.ruler,
            "2b",
            f"{' '.join(command)} / click, one pydantic model",
            1.35,
            starting(bench, repo, bench.program, *command),
            starting(bench, repo, bench.python, str(script)),
        )
        is_light = not _heavy_modules(bench, repo, command)
        yield replace(row, remark="nothing heavy loaded", is_right=is_light)


def completion(bench: Bench) -> Iterator[Row]:
    """Row 2c: what a person waits for at a Tab."""
    repo = make_small_plan(bench, "row-2c")
    for what, line, limit in (("command", "git-blackbird exe", 1.6), ("task", "git-blackbird execute ", 1.8)):
        yield compare(
            bench.ruler,
            "2c",
            f"completion of a {what} / import click",
            limit,
            _completing(bench, repo, line),
            starting(bench, repo, bench.python, "-c", "import click"),
        )


def _completing(bench: Bench, repo: Path, line: str) -> Turn:
    variables = {"_GIT_BLACKBIRD_COMPLETE": "bash_complete", "COMP_WORDS": line}
    environ = {**bench.environ, **variables, "COMP_CWORD": str(line.count(" "))}
    return lambda: run_process((bench.program,), environ, repo)


def make_small_plan(bench: Bench, name: str) -> Path:
    """Make a repository with a plan of ten tasks, three of which a command has done."""
    repo = bench.make_repository(name, 20)
    save_plan(repo, build_tasks(range(10)))
    choose_agent(bench, repo, "command", command__run="cat >/dev/null; echo more >>done.txt")
    execute(bench, repo, 3)
    return repo


def _heavy_modules(bench: Bench, repo: Path, command: tuple[str, ...]) -> list[str]:
    """Name what a command loads that only those who run agents should pay for."""
    said = bench.run(bench.python, "-c", _LOOK, *command, cwd=repo)
    return said.splitlines()[-1].split()[1:]
