"""Tasks on the same files are taken back and brought back in every order, as if they had never been there.

What the files are to be is merged by git alone, from what the agents and the person did themselves.
"""

import itertools
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.model.change.stages import label_of
from git_blackbird.model.plan.status import Status
from tests.controller.support import (
    APPROVE,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
)
from tests.support import commit, git

FILES = ("x.txt", "y.txt", "z.txt")
LINES = "".join(f"line {number}\n" for number in range(1, 17))
PARALLEL, LAST = ("a", "b", "d"), "c"
TASKS = (*PARALLEL, LAST)
# Two make the same line, and the last works on a line of the first.
AGENT = """cp *.txt ../did/$BLACKBIRD_TASK_ID/before
grep -q '^import re' y.txt || case $BLACKBIRD_TASK_ID in [ab]) sed -i '1i import re' y.txt;; esac
case $BLACKBIRD_TASK_ID in
a) sed -i 's/^line 3$/a/' x.txt; sed -i 's/^line 2$/a/' z.txt; echo a >new.a;;
b) sed -i 's/^line 8$/b/' x.txt; sed -i 's/^line 6$/b/' y.txt;;
c) sed -i 's/^a$/c/' x.txt; sed -i 's/^line 5$/c/' z.txt;;
d) sed -i 's/^line 10$/d/' y.txt; sed -i 's/^line 9$/d\\nd/' z.txt;;
esac
cp *.txt ../did/$BLACKBIRD_TASK_ID/after
"""
OWN = {
    "a": {"x.txt": "a", "z.txt": "a"},
    "b": {"x.txt": "b", "y.txt": "b"},
    "c": {"x.txt": "c", "z.txt": "c"},
    "d": {"y.txt": "d", "z.txt": "d"},
}


def nothing(_repo: Path) -> None:
    """Leave the files to the tasks."""


def commit_all(repo: Path) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", "all")


def squash(repo: Path) -> None:
    commit_all(repo)
    git(repo, "reset", "-q", "--soft", git(repo, "rev-list", "--max-parents=0", "HEAD"))
    git(repo, "commit", "-q", "--allow-empty", "-m", "squashed")


def edit(repo: Path) -> None:
    """Edit a line that is no task's in each file, once more each time."""
    for name in FILES:
        text = (repo / name).read_text()
        lines = ["mine" + line if "line 14" in line else line for line in text.splitlines(keepends=True)]
        (repo / name).write_text("".join(lines))


BETWEEN: Sequence[Callable[[Path], None]] = (nothing, commit_all, squash, edit)


@dataclass
class Story:
    """A repository, and all that was done to its files, in order: by whom, before and after."""

    repo: Path
    between: Callable[[Path], None]
    lines: str = LINES
    moves: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)

    def texts(self) -> dict[str, str]:
        return {name: (self.repo / name).read_text() for name in FILES}

    def pause(self) -> None:
        """Let the person do what is done between two commands."""
        before = self.texts()
        self.between(self.repo)
        self.moves.append(("", before, self.texts()))

    def do_all(self, *, side_by_side: bool) -> None:
        for name in ("before", "after"):
            for task in TASKS:
                (self.repo.parent / "did" / task / name).mkdir(parents=True)
        commit(self.repo, {**dict.fromkeys(FILES, LINES), ".gitignore": ".blackbird\nblackbird.plan.json\n"})
        put_plan(self.repo, *(leaf(task) for task in TASKS))
        did = str(self.repo.parent / "did")
        configure(self.repo, agent="command", command__run=AGENT.replace("../did", did))
        configure(self.repo, execution__worktrees="true" if side_by_side else "false")
        configure(self.repo, execution__stopAfterEachTask="true")
        for group in (PARALLEL, (LAST,)) if side_by_side else zip(TASKS):
            for task in group:
                execute(self.repo, None, task)
            for task in group:
                record_decision(open_at(self.repo), task, APPROVE)
                if side_by_side:
                    execute(self.repo, None, task)
                assert status(self.repo, task) is Status.DONE
                self.moves.append((task, self.did(task, "before"), self.did(task, "after")))
                self.pause()

    def did(self, task: str, side: str) -> dict[str, str]:
        return {name: (self.repo.parent / "did" / task / side / name).read_text() for name in FILES}

    def expected(self, tasks: Iterable[str]) -> dict[str, str | None]:
        """Merge what these tasks and the person did; None for a file where that conflicts."""
        texts: dict[str, str | None] = dict.fromkeys(FILES, self.lines)
        for who, before, after in self.moves:
            if who == "" or who in tasks:
                for name, text in texts.items():
                    texts[name] = None if text is None else self.merged(text, before[name], after[name])
        return texts

    def merged(self, ours: str, base: str, theirs: str) -> str | None:
        if base == theirs:
            return ours
        files = [self.repo.parent / side for side in ("ours", "base", "theirs")]
        for file, text in zip(files, (ours, base, theirs), strict=True):
            file.write_text(text)
        done = subprocess.run(["git", "merge-file", "-p", *files], capture_output=True, check=False)
        return done.stdout.decode() if done.returncode == 0 else None

    def require(self, tasks: set[str], left: dict[str, set[str]]) -> None:
        """Show that the files are as if the other tasks had never been, but where that was refused."""
        texts = self.texts()
        for name, text in self.expected(tasks).items():
            if text is not None:
                assert texts[name] == text, (name, tasks)
                assert not any(name in names for names in left.values()), (name, left)
            else:
                assert any(name in names for names in left.values()), (name, texts[name], tasks)
        assert (self.repo / "new.a").exists() is ("a" in tasks)
        for task in TASKS:
            label = label_of(runs_of(self.repo, task)[-1])
            verb = "brought back" if task in tasks else "taken back"
            names = ", ".join(sorted(left.get(task, ())))
            assert label == (f"{verb}, but for {names}" if names else "done" if task in tasks else verb)

    def move(self, task: str, left: dict[str, set[str]], tasks: set[str], *, is_redo: bool) -> None:
        """Take one back, or bring it back, and note what was left, with who stands on it."""
        (tasks.add if is_redo else tasks.discard)(task)
        kept = (redo_task if is_redo else undo_task)(open_at(self.repo), task).kept
        reasons = {one.path: one.reason for one in kept}
        other = {"a": "b", "b": "a"}.get(task)
        if reasons.get("y.txt") == f"the change of {other} made the same of it":
            reasons.pop("y.txt")
        stands = {"a": "the change of c builds on it", "c": "it builds on the change of a, taken back before"}
        assert set(reasons.items()) <= {("x.txt", stands.get(task))}, kept
        left[task] = {*reasons}
        conflicts = {name for name, text in self.expected(tasks).items() if text is None}
        left.update({each: names & conflicts for each, names in left.items()})
        self.require(tasks, left)
        self.pause()


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", list(itertools.permutations(TASKS)), ids="".join)
@pytest.mark.parametrize("between", BETWEEN, ids=lambda one: one.__name__)
@pytest.mark.parametrize("side_by_side", [False, True], ids=["in place", "side by side"])
def test_tasks_go_and_come_in_every_order(
    repo: Path, order: Sequence[str], between: Callable[[Path], None], side_by_side: bool
) -> None:
    story = Story(repo, between)
    story.do_all(side_by_side=side_by_side)
    tasks, left = set(TASKS), dict[str, set[str]]()
    story.require(tasks, left)
    for is_redo in (False, True):
        for task in order:
            story.move(task, left, tasks, is_redo=is_redo)
