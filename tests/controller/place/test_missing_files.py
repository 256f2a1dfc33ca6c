"""People are told once which ignored files of theirs worktrees of tasks do not have, and what brings them."""

import shlex
from pathlib import Path

import pytest

from git_blackbird.model.views.events import Level, Notice
from tests.controller.support import Person, configure, execute, leaf, open_at, put_plan, runs_of
from tests.support import commit, git, write

IGNORED = ".env\n.venv/\nnode_modules/\n__pycache__/\nbuild/\n*.log\nodd*\n"
COPY = "git config blackbird.worktree.copy"
ELSE = "worktree.setup is a command that makes them there"
SET_UP = "git blackbird config worktree.setup    # is for a command that makes them there"


@pytest.fixture
def parallel(repo: Path) -> Path:
    """A repository in which each task gets a worktree, whose agent prints the files that it has there."""
    commit(repo, {"a.txt": "one\n", ".gitignore": IGNORED})
    find = "cat >/dev/null; find . -name .git -prune -o -print"
    configure(repo, execution__jobs="2", agent="command", command__run=find)
    configure(repo, execution__acceptNoChange="true")
    return repo


def warnings(repo: Path, task_id: str) -> list[tuple[str, str | None]]:
    """Do a task; return the warnings that are of none, each with its hint."""
    put_plan(repo, leaf(task_id))
    person = Person()
    execute(repo, person)
    notices = [event for event in person.events if isinstance(event, Notice) and event.task_id is None]
    return [(event.text, event.hint) for event in notices if event.weight is Level.WARNING]


def found(repo: Path, task_id: str) -> set[str]:
    return set((runs_of(repo, task_id)[0].stdout or "").splitlines())


def test_what_worktrees_will_not_have_is_said_once_with_the_line_that_brings_it(parallel: Path) -> None:
    write(parallel, {".env": "", ".venv/bin/python": "", "web/node_modules/x": "", "node_modules/y": ""})
    write(parallel, {"build/big": "", "sub/__pycache__/a.pyc": "", "run.log": "", "sub/odd [1]/it's": ""})
    ((text, hint),) = warnings(parallel, "one")
    assert text == (
        "worktrees of tasks will not have these of your worktree, which git ignores: "
        ".env, .venv, node_modules, 'sub/odd [1]'"
    )
    line = rf"{COPY} '/.env /.venv node_modules '\''/sub/odd \[1]'\'''"
    assert hint == f"{line}    # copies them into each; {ELSE}"
    assert warnings(parallel, "two") == []
    git(parallel, *shlex.split(line)[1:])
    warnings(parallel, "three")
    wanted = {
        "./.env",
        "./.venv/bin/python",
        "./web/node_modules/x",
        "./node_modules/y",
        "./sub/odd [1]/it's",
    }
    assert wanted <= found(parallel, "three")
    assert not {"./build", "./run.log"} & found(parallel, "three")


def test_the_file_of_other_tools_is_offered_and_not_acted_on(parallel: Path) -> None:
    write(parallel, {".env": "", ".venv/bin/python": ""})
    commit(parallel, {".worktreeinclude": "# for other tools\n\n.env\r\n!web/.env  \n"})
    ((text, hint),) = warnings(parallel, "one")
    assert text.endswith(": .env, .venv")
    line = rf"{COPY} '.env '\''!web/.env'\'''"
    assert hint == f"{line}    # copies what .worktreeinclude names; {ELSE}"
    assert "./.env" not in found(parallel, "one")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("content", [b"", b"x\x1b[31m\n", b"\xff\n", b"a\n" * 3000, None])
def test_a_file_of_other_tools_that_cannot_be_shown_is_not_offered(
    parallel: Path, content: bytes | None
) -> None:
    write(parallel, {".env": ""})
    place = parallel / ".worktreeinclude"
    if content is None:
        write(parallel.parent, {"outside": ".env\n"})
        place.symlink_to(parallel.parent / "outside")
    else:
        place.write_bytes(content)
    ((_, hint),) = warnings(parallel, "one")
    assert hint == f"{COPY} /.env    # copies them into each; {ELSE}"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("key", ["copy", "setup"])
def test_nothing_is_said_where_nothing_is_missing_or_worktrees_are_prepared(parallel: Path, key: str) -> None:
    write(parallel, {"build/big": "", "run.log": ""})
    assert warnings(parallel, "one") == []
    open_at(parallel).paths.missing_named.unlink()
    write(parallel, {".env": ""})
    configure(parallel, **{f"worktree__{key}": "true"})
    assert warnings(parallel, "two") == []


def environment(repo: Path) -> None:
    """Write what a virtual environment has, and a file that names other folders."""
    write(repo, {".venv/bin/tool": f"#!{repo}/.venv/bin/python\n", ".venv/pyvenv.cfg": "home = /usr/bin\n"})
    write(repo, {"odd": f"{repo}-2 {repo}.worktrees\n"})


def test_what_names_the_worktree_is_not_offered_to_be_copied(parallel: Path) -> None:
    environment(parallel)
    ((text, hint),) = warnings(parallel, "one")
    assert text.endswith(": .venv, odd")
    but = f"but for .venv, whose files name this worktree; {ELSE}"
    assert hint == f"{COPY} /odd    # copies them into each, {but}"
    open_at(parallel).paths.missing_named.unlink()
    commit(parallel, {".worktreeinclude": ".venv\nodd\n"})
    ((_, hint),) = warnings(parallel, "two")
    line = rf"{COPY} '.venv odd '\''!/.venv'\'''"
    assert hint == f"{line}    # copies what .worktreeinclude names, {but}"
    git(parallel, *shlex.split(line)[1:])
    assert warnings(parallel, "three") == []
    assert {"./odd"} == found(parallel, "three") & {"./odd", "./.venv/bin/tool"}


def test_where_nothing_else_is_missing_only_set_up_is_offered(parallel: Path) -> None:
    (parallel / "odd").symlink_to(parallel / "a.txt")
    assert [hint for _, hint in warnings(parallel, "one")] == [SET_UP]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_is_copied_and_names_the_worktree_is_named_once(parallel: Path, jobs: str) -> None:
    """Checks of a change in place have copies as well."""
    environment(parallel)
    configure(parallel, worktree__copy=".venv odd", check__command="true", execution__jobs=jobs)
    text = "worktree.copy copies what names this worktree, so that a copy may work on the files here"
    assert warnings(parallel, "one") == [(f"{text}: .venv/bin/tool", SET_UP)]
    assert warnings(parallel, "two") == []


def test_of_many_a_handful_is_named(parallel: Path) -> None:
    write(parallel, {f"odd{number}": "" for number in range(9)})
    ((text, hint),) = warnings(parallel, "one")
    assert text.endswith(": odd0, odd1, odd2, odd3, odd4, odd5 and 3 more")
    assert hint is not None
    assert hint.partition("    # ")[0].endswith(" /odd4 /odd5'")
