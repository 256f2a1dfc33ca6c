"""Stories of landings and undos that the user's merge drivers merge."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.errors import RequestError
from git_blackbird.model.run.states import LandingState
from tests.controller.change.land.test_landing import landings
from tests.controller.support import APPROVE, Person, configure, execute, leaf, open_at, put_plan
from tests.git.support import script
from tests.support import commit, git, write

TOP = "top\n"
CONFLICT = "it conflicts with your worktree in log.txt"


@pytest.fixture
def shared(repo: Path) -> Path:
    """A repository with a file to which each task appends in a worktree of its own."""
    commit(repo, {"log.txt": TOP, ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    append = 'echo "entry of $BLACKBIRD_TASK_ID" >>log.txt'
    configure(repo, agent="command", command__run=append, execution__worktrees="true")
    return repo


def decided(repo: Path) -> None:
    """Let task a be worked on until a decision is due, and a person append a line meanwhile."""
    put_plan(repo, leaf("a"))
    configure(repo, execution__stopAfterEachTask="true")
    execute(repo)
    write(repo, {"log.txt": f"{TOP}mine\n"})


UNION = """\
import sys
base, ours, theirs = (set(open(name).read().split()) for name in sys.argv[1:])
merged = (ours | theirs) - (base - ours) - (base - theirs)
open(sys.argv[2], "w").write("".join(f"{word}\\n" for word in sorted(merged)))
"""


def driven(repo: Path, command: str) -> None:
    """Let a merge driver of the user's merge the file."""
    commit(repo, {".gitattributes": "log.txt merge=sorted\n"})
    git(repo, "config", "merge.sorted.driver", command)


def test_landing_undo_and_redo_merge_with_the_drivers_of_the_user(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "sort.py").write_text(UNION)
    driven(shared, f"{sys.executable} {tmp_path / 'sort.py'} %O %A %B")
    configure(shared, command__run='echo "$BLACKBIRD_TASK_ID" >>log.txt')
    decided(shared)
    person = Person([APPROVE])
    execute(shared, person)
    assert landings(person) == [("a", LandingState.LANDED, ())]
    assert (shared / "log.txt").read_text().split() == ["a", "mine", "top"]
    write(shared, {"log.txt": "a\nb\nmine\ntop\n"})
    undo_task(open_at(shared), "a")
    assert (shared / "log.txt").read_text().split() == ["b", "mine", "top"]
    redo_task(open_at(shared), "a")
    assert (shared / "log.txt").read_text().split() == ["a", "b", "mine", "top"]


MISSING = "log.txt: the merge driver sorted did not merge it: it is missing, or failed"


@pytest.mark.parametrize("command", ["no-such-driver %O %A %B", "kill -9 $$"])
def test_a_merge_driver_that_is_missing_or_crashes_is_named(shared: Path, command: str) -> None:
    driven(shared, command)
    configure(shared, landing__maxRounds="0")
    decided(shared)
    person = Person([APPROVE])
    execute(shared, person)
    ((_, state, (reason,)),) = landings(person)
    assert state is LandingState.BLOCKED
    assert reason.startswith(f"{CONFLICT}; {MISSING}; sent back 0 of 0 times")


def test_a_merge_driver_without_a_command_leaves_the_change_to_a_person(shared: Path) -> None:
    driven(shared, "")
    git(shared, "config", "--unset", "merge.sorted.driver")
    git(shared, "config", "merge.sorted.name", "sorts lines")
    decided(shared)
    person = Person([APPROVE])
    execute(shared, person)
    why = "git cannot merge it: custom merge driver sorted lacks command line."
    assert landings(person) == [("a", LandingState.BLOCKED, (why,))]


def test_an_undo_names_the_merge_driver_that_is_missing(shared: Path) -> None:
    driven(shared, "no-such-driver %O %A %B")
    configure(shared, execution__worktrees="false")
    put_plan(shared, leaf("a"))
    execute(shared)
    write(shared, {"log.txt": f"{TOP}entry of a\nmine\n"})
    with pytest.raises(RequestError, match=MISSING):
        undo_task(open_at(shared), "a")


def test_an_older_git_merges_for_an_undo_in_place_without_drivers(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "".join(f"line {number}\n" for number in range(9))
    commit(shared, {"log.txt": body})
    driven(shared, "no-such-driver %O %A %B")
    configure(shared, execution__worktrees="false", command__run="sed -i 's/line 2$/theirs/' log.txt")
    put_plan(shared, leaf("a"))
    execute(shared)
    write(shared, {"log.txt": body.replace("line 2", "theirs").replace("line 7", "mine")})
    (tmp_path / "bin").mkdir()
    real = shutil.which("git")
    without = f'for word; do [ "$word" != merge-tree ] || exit 129; done\nexec {real} "$@"'
    old = script(tmp_path / "bin/git", without)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    undo_task(open_at(shared), "a")
    assert (shared / "log.txt").read_text() == body.replace("line 7", "mine")
