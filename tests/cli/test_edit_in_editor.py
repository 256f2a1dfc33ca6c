"""``edit TASK`` without options: the user's editor, what it gives back, and what is never lost."""

import shlex
import sys
from pathlib import Path

import pytest

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from tests.cli.golden_harness import Program, program, save, store_at
from tests.cli.plans import task
from tests.cli.terminal import CTRL_C, CTRL_D, ENTER, Terminal, program_environ
from tests.support import git

__all__ = ["program"]

BLACKBIRD = f"{shlex.quote(sys.executable)} -m git_blackbird"
Q = TaskId("q")
KEPT = "Below is your text; save it to keep it"


@pytest.fixture
def planned(repo: Path) -> Path:
    save(repo, [task("a"), task("b", deps=("q",)), task("q", "Routes", prompt="Do it.\n", deps=("a",))])
    return repo


def stored(repo: Path) -> Task:
    return store_at(repo).plan().tasks[Q]


def drafts(repo: Path) -> dict[str, str]:
    folder = repo / ".git/blackbird/drafts"
    return {path.name: path.read_text(errors="replace") for path in folder.glob("*.md")}


def put_away(repo: Path) -> None:
    """Take the drafts away: what is left behind is offered again, and is not what comes next."""
    for path in (repo / ".git/blackbird/drafts").glob("*.md"):
        path.unlink()


def script(repo: Path, *lines: str, name: str = "my editor") -> str:
    """An editor: a shell script that is given the file; ``$BLACKBIRD`` is the program."""
    path = repo.parent / name
    path.write_text("\n".join(["#!/bin/sh", "set -e", f"BLACKBIRD={shlex.quote(BLACKBIRD)}", *lines, ""]))
    path.chmod(0o755)
    return shlex.quote(str(path))


@pytest.fixture
def change(planned: Path, program: Program) -> Program:
    """The program, with ``change EXPRESSION`` among the editors: what sed would make of the file."""
    script(planned, 'sed "$1" "$2" >"$2.new"', 'mv "$2.new" "$2"', name="change")
    program.environ["PATH"] = f"{planned.parent}:{program.environ['PATH']}"
    return program


def test_what_the_editor_gives_back_is_taken(change: Program, planned: Path) -> None:
    program = change
    program.remark("the page as it is seen")
    program.run("edit", "q", GIT_EDITOR="cat")
    program.run("edit", "q", GIT_EDITOR="change s/Routes/Paths/")
    program.remark("a comment less")
    program.run("edit", "q", "--json", GIT_EDITOR="change '/^<!-- Below/d'")
    noted = "change 's/^id:.*/&\\nnotes: Noted./; s/^Do it.*/&\\n- [ ] it works/'"
    program.run("edit", "q", GIT_EDITOR=noted)
    program.run("edit", "q", GIT_EDITOR="change 's/it works/it is fast/; /^after/d'")
    program.run("show", "q")
    program.remark("an editor that was closed again, or is none")
    program.run("edit", "q", GIT_EDITOR="true")
    program.run("edit", "q", GIT_EDITOR=":")
    program.run("edit", "q", "--json", GIT_EDITOR=":")
    program.run("edit", "q", GIT_EDITOR="false")
    program.run("edit", "q", GIT_EDITOR="/nowhere/editor 2>/dev/null")
    program.remark("an empty file, and none")
    program.run("edit", "q", GIT_EDITOR="change d")
    program.run("edit", "q", GIT_EDITOR="rm")
    program.check("edit_in_editor")
    assert drafts(planned) == {}
    assert stored(planned).prompt == "Do it.\n"


def test_what_cannot_be_taken_is_kept(change: Program, planned: Path) -> None:
    program = change
    program.run("edit", "q", GIT_EDITOR="change 's/^after: a/after: z/; s/Routes//'")
    assert drafts(planned)["q.md"].splitlines()[:3] == [
        "<!-- ! line 10: 'z' is no task of the page or the plan -->",
        "<!-- ! line 8: a task needs a title -->",
        "<!-- Task q (todo) -->",
    ]
    program.remark("the next one offers it again, and drops it once it is emptied")
    program.run("edit", "q", GIT_EDITOR="grep '^<!-- !'")
    assert sorted(drafts(planned)) == ["q.md"]
    program.run("edit", "q", GIT_EDITOR="change d")
    assert drafts(planned) == {}
    for expression in ("'s/^after: a/after: qq/'", "'s/^after: a/after: b/'", "/tasks*.--/d"):
        program.run("edit", "q", GIT_EDITOR=f"change {expression}")
        put_away(planned)
    latin_1 = script(
        planned, "sed 's/Routes/caf~/' $1 | tr '~' '\\351' >$1.new", "mv $1.new $1", name="latin-1"
    )
    program.run("edit", "q", GIT_EDITOR=latin_1)
    put_away(planned)
    program.run("edit", "q", GIT_EDITOR=script(planned, 'echo mine >>"$1"', "exit 3"))
    put_away(planned)
    program.run("edit", "q", "--json", GIT_EDITOR=script(planned, 'echo "#### Another" >>"$1"'))
    program.check("edit_in_editor_refused")
    assert sorted(drafts(planned)) == ["q.md"]
    assert stored(planned).title == "Routes"


@pytest.mark.exhaustive
def test_what_others_change_meanwhile_is_kept(change: Program, planned: Path) -> None:
    program = change
    program.environ |= {"PYTHONPATH": program_environ()["PYTHONPATH"]}
    mine = "change s/Routes/Mine/ $1"
    theirs = "$BLACKBIRD edit q --notes Theirs --prompt 'Do more.' >/dev/null"
    program.remark("another field, and the same change")
    program.run("edit", "q", GIT_EDITOR=script(planned, theirs, mine))
    program.run("edit", "q", GIT_EDITOR=script(planned, "$BLACKBIRD edit q --title X", "change s/Mine/X/ $1"))
    assert (stored(planned).title, stored(planned).notes, stored(planned).prompt) == (
        "X",
        "Theirs",
        "Do more.",
    )
    program.remark("the same field")
    conflict = ["$BLACKBIRD edit q --title Theirs --notes More", "change s/X/Mine/ $1"]
    program.run("edit", "q", GIT_EDITOR=script(planned, *conflict))
    kept = drafts(planned)["q.md"].splitlines()
    assert kept[:3] == [
        f"<!-- ! q: changed by someone else meanwhile: title. {KEPT}. Theirs: -->",
        "<!-- ! title: Theirs -->",
        "<!-- Task q (todo) -->",
    ]
    assert {"## Mine", "notes: More"} < set(kept)
    put_away(planned)
    program.remark("the task is gone, or the plan cannot be read")
    program.run("edit", "q", GIT_EDITOR=script(planned, "$BLACKBIRD delete q --force", mine))
    assert sorted(drafts(planned)) == ["q.md"]
    put_away(planned)
    program.run("add", "--id", "q", "--title", "Routes")
    program.run("edit", "q", GIT_EDITOR=script(planned, mine, "echo '{' >blackbird.plan.json"))
    program.check("edit_meanwhile")
    assert sorted(drafts(planned)) == ["q.md"]


def test_the_editor_is_the_one_git_would_use(change: Program, planned: Path) -> None:
    program = change
    del program.environ["GIT_EDITOR"]
    program.environ |= {"TERM": "dumb"}
    program.run("edit", "q")
    program.run("edit", "q", EDITOR="change s/Routes/One/", VISUAL="false")
    program.run("edit", "q", EDITOR="false", VISUAL="change s/One/Two/", TERM="xterm")
    git(planned, "config", "core.editor", script(planned, "change s/Two/Three/ $1"))
    program.run("edit", "q", EDITOR="false", VISUAL="false", TERM="xterm")
    assert stored(planned).title == "Three"
    program.check("edit_which_editor")


def test_an_editor_that_writes_crlf_and_a_byte_order_mark(program: Program, planned: Path) -> None:
    carriage_return = "cr=$(printf '\\r')"
    written = "printf '\\357\\273\\277' >$1.new; sed \"s/Routes/Paths/; s/$/$cr/\" $1 >>$1.new"
    windows = script(planned, carriage_return, written, "mv $1.new $1")
    assert program.run("edit", "q", GIT_EDITOR=windows) == 0
    assert (stored(planned).title, stored(planned).prompt) == ("Paths", "Do it.\n")
    assert drafts(planned) == {}


def editor_at_the_terminal(repo: Path) -> str:
    """An editor that takes a sed command from the terminal, shows the first line, and outlives Ctrl+C."""
    return script(
        repo,
        "trap 'echo still here' INT",
        'head -n 1 "$1"',
        'printf "editor> "',
        "until read -r command; do :; done",
        'sed "$command" "$1" >"$1.new"',
        'mv "$1.new" "$1"',
    )


def at_terminal(repo: Path) -> Terminal:
    return Terminal(repo, "edit", "q", environ={"GIT_EDITOR": editor_at_the_terminal(repo)})


def test_a_text_that_cannot_be_taken_is_offered_again(planned: Path) -> None:
    with at_terminal(planned) as terminal:
        terminal.wait_for("editor> ")
        terminal.type("s/Routes//", ENTER)
        terminal.wait_for("edit it again? [Y/n]")
        assert "error: line 6: a task needs a title" in terminal.plain
        terminal.type(ENTER)
        terminal.wait_for("editor> ", times=2)
        assert "<!-- ! line 7: a task needs a title -->" in terminal.plain
        terminal.type("s/^##.*/## Paths/", ENTER)
        assert terminal.end() == 0
        assert terminal.text.endswith("updated q: title")
    assert stored(planned).title == "Paths"
    assert drafts(planned) == {}


@pytest.mark.parametrize(("key", "code"), [("n\r", 1), (CTRL_C, 130), (CTRL_D, 130)])
def test_a_text_that_is_given_up_is_kept(planned: Path, key: str, code: int) -> None:
    with at_terminal(planned) as terminal:
        terminal.wait_for("editor> ")
        terminal.type("s/Routes//", ENTER)
        terminal.wait_for("edit it again? [Y/n]")
        terminal.type(key)
        assert terminal.end() == code
        assert "hint: your text is kept in" in terminal.plain
    assert drafts(planned)["q.md"].startswith("<!-- ! line 7: a task needs a title -->\n")


def test_a_text_offered_again_and_left_as_it_is_is_given_up(planned: Path) -> None:
    with at_terminal(planned) as terminal:
        terminal.wait_for("editor> ")
        terminal.type("s/Routes//", ENTER)
        terminal.wait_for("edit it again? [Y/n]")
        terminal.type(ENTER)
        terminal.wait_for("editor> ", times=2)
        terminal.type("p;d", ENTER)
        assert terminal.end() == 1
        assert "hint: your text is kept in" in terminal.plain


def test_after_a_conflict_ones_own_text_is_taken_by_saving_it(planned: Path) -> None:
    with at_terminal(planned) as terminal:
        terminal.wait_for("editor> ")
        with Terminal(planned, "edit", "q", "--title", "Theirs") as other:
            assert other.end() == 0
        terminal.type("s/Routes/Mine/", ENTER)
        terminal.wait_for("edit it again? [Y/n]")
        assert "changed by someone else meanwhile: title" in terminal.plain
        terminal.type(ENTER)
        terminal.wait_for("editor> ", times=2)
        terminal.type("p;d", ENTER)
        assert terminal.end() == 0
    assert stored(planned).title == "Mine"
    assert drafts(planned) == {}


def test_ctrl_c_is_the_editors_affair(planned: Path) -> None:
    with at_terminal(planned) as terminal:
        terminal.wait_for("editor> ")
        terminal.type(CTRL_C)
        terminal.wait_for("still here")
        terminal.type("s/Routes/Paths/", ENTER)
        assert terminal.end() == 0
        assert terminal.mode() == terminal.mode_before
    assert stored(planned).title == "Paths"
