"""Over random worktrees a commit is exactly the change or refused, and nothing of the user's moves.

``BLACKBIRD_EXAMPLES`` asks for more worktrees than the suite takes.
"""

import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import pytest

from git_blackbird.git.commit.create import make_commit, update_index
from git_blackbird.git.commit.plan import CommitPlan, plan_commit
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import DIRECTORY, TreeEntry, TreeStore
from git_blackbird.git.worktree.log import tree_of
from git_blackbird.model.run.summary import Trees
from tests.git.support import found
from tests.git.support import tree_of as snapshot_of
from tests.support import git

EXAMPLES = int(os.environ.get("BLACKBIRD_EXAMPLES", "20"))  # read before the tests are sealed
SHARES = 4
# An edited file that is staged and assumed to be unchanged: git would not put another tree into that index.
KNOWN = [1165]
ATTRIBUTES = "*.txt text eol=crlf\n*.id ident\n*.up filter=shout\n"
CONFIGURATION = '[filter "shout"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n'

# Files and folders of the same names, names that differ in case only, and content that filters change.
SHARED = ["a", "A", "a/b", "d", "d/x", "d/deep/z", "c.txt", "i.id", "u.up", "ä ö"]
OWN = ["mine", "d/mine", "mine/below", "Mine", "m.txt"]
CONTENTS = ["", "1\n", "2\n", "crlf\r\n", "$Id$\n", "same size 1\n", "same size 2\n"]

Step = tuple[str, str, str]


EDITS = ["write", "write", "write", "remove", "exec", "link", "move"]
STAGING = ["add", "add", "add all", "unstage", "intend", "assume", "drop"]


class Dice:
    """What happens in one example, always the same for one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def steps(self, words: Sequence[str], paths: Sequence[str], least: int, most: int) -> list[Step]:
        number = self.random.randint(least, most)
        return [(self.pick(words), self.pick(paths), self.pick([*CONTENTS, *paths])) for _ in range(number)]

    def pick(self, words: Sequence[str]) -> str:
        return self.random.choice(words)

    def user(self, change: Sequence[str]) -> list[Step]:
        """Mostly about files of their own, now and then about those of the change."""
        own = self.steps([*EDITS, *STAGING], OWN, 0, 4)
        if self.random.random() < 0.6:
            return own
        return [*own, *self.steps([*EDITS, *STAGING, *STAGING, "commit"], [*change, *SHARED], 1, 3)]

    def example(self) -> list[list[Step]]:
        """A beginning, what the user did before the run, the agent in it, the user after it."""
        agent = self.steps([*EDITS, *EDITS, "add", "commit"], SHARED, 1, 5)
        change = [path for _, path, _ in agent] * 5
        first = self.steps(["write", "exec"], [*SHARED, *OWN], 1, 8)
        return [first, self.user(change), agent, self.user(change)]


def do_steps(repo: Path, taken: Sequence[Step]) -> None:
    for word, path, other in taken:
        match word:
            case "write":
                place(repo / path).write_bytes((other if other in CONTENTS else "3\n").encode())
            case "link":
                place(repo / path).symlink_to("a")
            case "remove" | "drop":
                remove(repo / path)
            case "exec" if (repo / path).is_file():
                (repo / path).chmod(0o755)
            case "move" if (repo / path).is_file() and other not in CONTENTS and other != path:
                content = (repo / path).read_bytes()
                remove(repo / path)
                place(repo / other).write_bytes(content)
            case _:
                pass
        tell_git(repo, word, path)


def tell_git(repo: Path, word: str, path: str) -> None:
    commands = {
        "add": ["add", "-A", "--", path],
        "add all": ["add", "-A"],
        "unstage": ["reset", "-q", "--", path],
        "drop": ["update-index", "--force-remove", path],
        "intend": ["add", "-N", "--", path],
        "assume": ["update-index", "--assume-unchanged", path],
        "commit": ["commit", "-q", "-m", "by hand", "--", path],
    }
    if word in commands:
        # Git may refuse, as it may a person: then the step did nothing.
        subprocess.run(["git", *commands[word]], cwd=repo, capture_output=True, check=False)


def place(path: Path) -> Path:
    """Make room for a file, as a person would who wants it there whatever is in the way."""
    for above in reversed(path.parents):
        if above.is_symlink() or above.is_file():
            above.unlink()
    remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()


def flat(trees: TreeStore, oid: str, prefix: bytes = b"") -> dict[bytes, TreeEntry]:
    result: dict[bytes, TreeEntry] = {}
    for name, entry in trees.load(oid).items():
        if entry.mode == DIRECTORY:
            result |= flat(trees, entry.oid, prefix + name + b"/")
        else:
            result[prefix + name] = entry
    return result


def index_of(repo: Path) -> dict[bytes, tuple[bytes, TreeEntry]]:
    """Tag and entry of each path of the index."""
    listed = subprocess.run(["git", "ls-files", "-z", "-s", "-v"], cwd=repo, capture_output=True, check=True)
    result: dict[bytes, tuple[bytes, TreeEntry]] = {}
    for item in listed.stdout.split(b"\0")[:-1]:
        facts, _, path = item.partition(b"\t")
        tag, mode, oid, stage = facts.split(b" ")
        assert stage == b"0"
        result[path] = (tag, TreeEntry(int(mode, 8), oid.decode()))
    return result


def status_of(repo: Path, without: Sequence[str] = ()) -> list[str]:
    listed = git(repo, "status", "--porcelain", "-z", "--no-renames", "-uall").split("\0")
    return [line for line in listed if line[3:] not in without]


def files_of(repo: Path) -> dict[str, tuple[object, ...]]:
    """Everything of the worktree that a person could tell apart."""
    result: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(repo):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in [*folders, *names]:
            path = Path(folder, name)
            facts = path.lstat()
            content = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            result[str(path)] = (facts.st_mode, facts.st_mtime_ns, facts.st_ino, content)
    return result


def clashes(paths: Mapping[bytes, object]) -> bool:
    """Whether a file lies below another."""
    return any(path[:at] in paths for path in paths for at in range(len(path)) if path[at : at + 1] == b"/")


class Situation:
    """A repository in which an agent was at work and its change waits for approval."""

    def __init__(
        self, repo: Path, before: Sequence[Step], agents: Sequence[Step], after: Sequence[Step]
    ) -> None:
        self.path = repo
        do_steps(repo, before)
        base = snapshot_of(repo)
        do_steps(repo, agents)
        self.pair = Trees(base, snapshot_of(repo))
        do_steps(repo, after)
        self.repo: Repository = found(repo)
        trees = TreeStore(self.repo)
        self.worktree = snapshot_of(repo)
        self.head = tree_of(self.repo, "HEAD")
        self.base, self.after, self.now, self.seen = (
            flat(trees, oid) for oid in (self.pair.base, self.pair.head, self.head, self.worktree)
        )
        self.listed = index_of(repo)
        self.staged = {path: entry for path, (_, entry) in self.listed.items()}
        for path in self.intended():
            del self.staged[path]
        differing = {p for p in chain(self.base, self.after) if self.base.get(p) != self.after.get(p)}
        self.todo = {p: self.after.get(p) for p in differing if self.now.get(p) != self.after.get(p)}

    def intended(self) -> Iterator[bytes]:
        """What `git add -N` put into the index: git calls it new in the worktree only."""
        for line in status_of(self.path):
            if line.startswith((" A", " D")) and os.fsencode(line[3:]) not in self.now:
                yield os.fsencode(line[3:])

    def with_change(self, place: Mapping[bytes, TreeEntry]) -> dict[bytes, TreeEntry]:
        both = {**place, **self.todo}
        return {path: entry for path, entry in both.items() if entry is not None}

    def may_be_committed(self) -> bool:
        fits = not clashes(self.with_change(self.now)) and not clashes(self.with_change(self.all_staged()))
        return fits and all(map(self.is_free, self.todo))

    def all_staged(self) -> dict[bytes, TreeEntry]:
        return {path: entry for path, (_, entry) in self.listed.items()}

    def is_free(self, path: bytes) -> bool:
        after, staged = self.after.get(path), self.staged.get(path)
        is_hidden = staged != after and self.listed.get(path, (b"H",))[0].islower()
        is_as_before = self.now.get(path) == self.base.get(path) and staged in {self.now.get(path), after}
        return is_as_before and self.seen.get(path) == after and not is_hidden


def check(situation: Situation) -> str:
    repo = situation.path
    head, files, status = git(repo, "rev-parse", "HEAD"), files_of(repo), status_of(repo)
    plan = plan_commit(situation.repo, situation.pair, situation.worktree)
    assert (plan.obstacles == ()) == situation.may_be_committed(), plan.obstacles
    assert dict(plan.edits) == situation.todo
    is_made = bool(plan.edits) and not plan.obstacles
    if is_made:
        check_commit(situation, plan, head)
        gone = [os.fsdecode(path) for path in situation.todo]
        status = [line for line in status if line[3:] not in gone]
    else:
        assert index_of(repo) == situation.listed
    assert status_of(repo) == status
    assert files_of(repo) == files
    return "committed" if is_made else "refused" if plan.obstacles else "nothing"


def check_commit(situation: Situation, plan: CommitPlan, parent: str) -> None:
    made = make_commit(situation.repo, plan, "Say more\n\nBlackbird-Task: a\n")
    update_index(situation.repo, plan.base_tree, made.tree)
    assert made.differs == ()
    assert git(situation.path, "rev-list", "--parents", "-1", "HEAD") == f"{made.oid} {parent}"
    assert flat(TreeStore(situation.repo), tree_of(situation.repo, "HEAD")) == situation.with_change(
        situation.now
    )
    expected = dict(situation.listed)
    for path, entry in situation.todo.items():
        if situation.staged.get(path) != entry or entry is None:
            expected.pop(path, None)
        if entry is not None:
            expected.setdefault(path, (b"H", entry))
    assert index_of(situation.path) == expected


def play(seed: int) -> str:
    repo = Path(tempfile.mkdtemp(prefix="approved-"))
    happened = Dice(seed).example()
    try:
        git(repo, "init", "-q", "-b", "main", "--template=")
        do_steps(repo, happened[0])
        (repo / ".gitattributes").write_text(ATTRIBUTES)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "first")
        return check(Situation(repo, *happened[1:]))
    except AssertionError as error:
        error.add_note(f"seed {seed}: {happened}")
        raise
    finally:
        shutil.rmtree(repo)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("share", range(SHARES))
def test_the_commit_is_exactly_the_change_or_is_refused(sealed: Path, share: int) -> None:
    (sealed / ".gitconfig").write_text((sealed / ".gitconfig").read_text() + CONFIGURATION)
    seeds = [*range(share, EXAMPLES, SHARES), *KNOWN[share::SHARES]]
    ends = Counter(map(play, seeds))
    assert min(ends["committed"], ends["refused"]) >= sum(ends.values()) // 20, ends
