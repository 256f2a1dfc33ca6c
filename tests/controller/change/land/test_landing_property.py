"""Over random plans: whatever lands in whatever order, no line is lost, and none comes back.

Every line is unique, so what must come out is known without merging: all lines that were written by what
landed and by the person, less those that one of them removed. A file that one of them made executable, known
by its lines whatever its name is by then, still is. ``BLACKBIRD_EXAMPLES`` asks for more plans than
the suite takes.
"""

import os
import random
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from git_blackbird.controller.change.land.landing import land, prepare_landing
from git_blackbird.controller.change.move import Prepared
from git_blackbird.controller.core.status_sync import new_run
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.parts import LandingDue, Worktree
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from tests.controller.killing import run_killed
from tests.controller.support import leaf, open_at, put_plan
from tests.git.support import tree_of
from tests.support import git

EXAMPLES = int(os.environ.get("BLACKBIRD_EXAMPLES", "15"))  # read before the tests are sealed
SHARES = 5
TASKS = 3
LINES = 8
FILE, PROGRAM = 0o100644, 0o100755
# What the name of a file that can be executed ends with here.
STAR = "*"

Files = dict[str, list[str]]


@dataclass
class Dice:
    """Edits files by chance; every line that it writes is a new one."""

    random: random.Random
    count: int = 0
    # What was in removed files. One that the other side moved and rewrote is another file to git, and stays.
    dropped: set[str] = field(default_factory=set)

    def line(self) -> str:
        self.count += 1
        return f"line {self.count}"

    def edit(self, files: Files) -> None:
        """Add, remove or change lines, or add, remove, rename or make executable a file."""
        for _ in range(self.random.randint(1, 3)):
            names = sorted(files)
            kind = self.random.choice("iiiirrrcxad" if names else "a")
            if kind == "a":
                files[f"{self.random.choice(['', 'd/'])}new {self.line()}"] = [
                    self.line() for _ in range(LINES)
                ]
                continue
            name = self.random.choice(names)
            lines = files[name]
            at = self.random.randint(0, len(lines))
            if kind == "i":
                lines.insert(at, self.line())
            elif kind == "r":
                del lines[at : at + 1]
            elif kind == "c":
                star = STAR if name.endswith(STAR) else ""
                files[f"moved {self.line()}{star}"] = files.pop(name)
            elif kind == "x":
                files[f"{plain(name)}{STAR}"] = files.pop(name)
            else:
                self.dropped |= set(files.pop(name))


def plain(name: str) -> str:
    return name.removesuffix(STAR)


def is_same(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two files are one to git, whatever their names are: more than half of their lines are."""
    both = set(one), set(other)
    return 2 * len(both[0] & both[1]) > max(map(len, both))


def made_programs(before: Files, after: Files) -> list[list[str]]:
    """Return the files that are executable now and were not."""
    known = [lines for name, lines in before.items() if name.endswith(STAR)]
    programs = (lines for name, lines in after.items() if name.endswith(STAR))
    return [lines for lines in programs if not any(is_same(lines, one) for one in known)]


def lines_of(files: Files) -> set[str]:
    return {line for lines in files.values() for line in lines}


@dataclass
class Story:
    """One repository, what its person did, and the tasks that are at work or have landed."""

    top: Path
    dice: Dice
    workspace: Workspace
    added: set[str] = field(default_factory=set)
    removed: set[str] = field(default_factory=set)
    runs: list[Run] = field(default_factory=list)
    programs: list[list[str]] = field(default_factory=list)

    def files(self, tree: str) -> Files:
        trees = TreeStore(self.workspace.repo)
        empty = trees.save({})
        return {
            os.fsdecode(path) + (STAR if entry.mode == PROGRAM else ""): self._text(trees, entry).splitlines()
            for path in trees.changed_paths(empty, tree)
            if (entry := trees.entry(tree, path)) is not None and path != b".gitignore"
        }

    def there(self) -> Files:
        """Return what is in the worktree, as ``files`` would."""
        own = (".git", ".blackbird", ".gitignore", "blackbird.plan.json")
        places = (
            place for each in self.top.iterdir() if each.name not in own for place in [each, *each.glob("*")]
        )
        return {
            str(file.relative_to(self.top))
            + (STAR if os.access(file, os.X_OK) else ""): file.read_text().splitlines()
            for file in places
            if file.is_file()
        }

    def _text(self, trees: TreeStore, entry: TreeEntry) -> str:
        return trees.objects.read(entry.oid)[1].decode()

    def tree(self, files: Files, base: str) -> str:
        trees = TreeStore(self.workspace.repo)
        edits: dict[bytes, TreeEntry | None] = {os.fsencode(plain(name)): None for name in self.files(base)}
        for name, lines in files.items():
            blob = trees.objects.create_blob("".join(f"{line}\n" for line in lines).encode())
            mode = PROGRAM if name.endswith(STAR) else FILE
            edits[os.fsencode(plain(name))] = TreeEntry(mode, str(blob))
        return trees.edited(base, edits)

    def note(self, before: Files, after: Files) -> None:
        self.added |= lines_of(after) - lines_of(before)
        self.removed |= lines_of(before) - lines_of(after)
        self.programs += [lines for name, lines in after.items() if name.endswith(STAR)]

    def person_edits(self) -> None:
        before = self.there()
        after = {name: [*lines] for name, lines in before.items()}
        self.dice.edit(after)
        self.note(before, after)
        for name in {*map(plain, before)} - {*map(plain, after)}:
            (self.top / name).unlink()
        for name, lines in after.items():
            if lines != before.get(name):
                path = self.top / plain(name)
                path.parent.mkdir(exist_ok=True)
                path.write_text("".join(f"{line}\n" for line in lines))
                path.chmod(0o755 if name.endswith(STAR) else 0o644)

    def record(self, name: str, base: str, head: str) -> Run:
        run = new_run(self.workspace, TaskId(name), RunStatus.SUCCESS).updated(
            landing=LandingDue(),
            worktree=Worktree(path=str(self.top.parent / "gone" / name), base=base),
            base_tree=base,
            head_tree=head,
        )
        with self.workspace.transaction() as transaction:
            transaction.save_run(run)
        self.runs.append(run)
        return run

    def lands(self, name: str, base: str, head: str) -> None:
        """Land a change; where it conflicts, its agent does again what it has done on what there is now."""
        before, after = self.files(base), self.files(head)
        self.note(before, after)
        run = self.record(name, base, head)
        while True:
            run = self.workspace.store.records.history(run.task_id).find(run.id) or run
            landing = prepare_landing(self.workspace, run)
            assert not landing.left
            if landing.merge.conflicts:
                files = self.files(landing.pair.base)
                resolved = self.tree(redone(files, before, after), landing.pair.base)
                run = self.record(name, landing.pair.base, resolved)
                continue
            # An edit of what is half written may be of either copy of a line.
            if landing.now == landing.pair.base and self.dice.random.random() < 0.3:
                self.person_edits()
            if self._write(run, landing):
                return

    def _write(self, run: Run, landing: Prepared) -> bool:
        """Write it, and if that is killed do it again; false where a file was edited meanwhile."""

        def write() -> bool:
            state = self.workspace.plan_state()
            return land(self.workspace, state, state.plan.tasks[run.task_id], run, landing) is not None

        if self.dice.random.random() < 0.3:
            run_killed(write, self.dice.random.randint(1, 20))
            self.workspace = open_at(self.top)
            stored = self.workspace.store.records.history(run.task_id).find(run.id)
            return stored is not None and stored.has_landed
        return write()


def redone(files: Files, before: Files, after: Files) -> Files:
    """Return files with what a change added, lines and programs, and without the lines that it removed.

    What was moved meanwhile is followed: git takes a new file of the old name for the one that had it.
    """
    added, removed = lines_of(after) - lines_of(before), lines_of(before) - lines_of(after)
    there = lines_of(files)
    left = {name: [line for line in lines if line not in removed] for name, lines in files.items()}
    for name, lines in after.items():
        missing = [line for line in lines if line in added and line not in there]
        if missing:
            here = next((one for one in left if is_same(left[one], lines) or plain(one) == plain(name)), name)
            left[here] = [*left.get(here, []), *missing]
    programs = made_programs(before, after)
    return {
        f"{plain(name)}{STAR}" if any(is_same(lines, one) for one in programs) else name: lines
        for name, lines in left.items()
        if lines
    }


def one(seed: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        dice = Dice(random.Random(seed))
        top = Path(place, "repo")
        top.mkdir()
        git(top, "init", "-q", "-b", "main")
        (top / ".gitignore").write_text(".blackbird\nblackbird.plan.json\n")
        names = [f"t{number}" for number in range(TASKS)]
        put_plan(top, *map(leaf, names))
        story = Story(top, dice, open_at(top))
        first = {f"f{number}": [dice.line() for _ in range(LINES)] for number in range(3)}
        for name, lines in first.items():
            (top / name).write_text("".join(f"{line}\n" for line in lines))
        story.note({}, first)
        at_work: list[tuple[str, str, str]] = []
        while names or at_work:
            step = dice.random.choice("spl")
            if step == "s" and names:
                base = tree_of(top)
                files = story.files(base)
                dice.edit(files)
                at_work.append((names.pop(), base, story.tree(files, base)))
            elif step == "p":
                story.person_edits()
            elif step == "l" and at_work:
                story.lands(*at_work.pop(dice.random.randrange(len(at_work))))
        final = story.there()
        expected = story.added - story.removed
        assert expected <= lines_of(final) <= expected | dice.dropped
        assert sum(map(len, final.values())) == len(lines_of(final))
        for name, lines in final.items():
            if any(is_same(lines, one) for one in story.programs):
                assert name.endswith(STAR), name
        assert story.programs or not any(name.endswith(STAR) for name in final)
        git(top, "reflog", "expire", "--expire=now", "--all")
        git(top, "prune", "--expire=now")
        git(top, "rev-list", "--objects", "--quiet", *(run.head_tree or "" for run in story.runs))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("share", range(SHARES))
def test_no_line_is_lost_whatever_lands_when(share: int) -> None:
    for seed in range(share, EXAMPLES, SHARES):
        try:
            one(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
