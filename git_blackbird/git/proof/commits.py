"""Commits of a range, what their messages name, and whether their changes are those of pairs of trees.

Nothing of the repository is changed, and neither its configuration nor its attributes count: merges are made
in a repository that is thrown away, so that they are the same in every clone.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from git_blackbird.clean import one_line
from git_blackbird.errors import MissingHereError, UnusableError
from git_blackbird.git.change.merging import Sides, merge_bases, merge_commits, sides_of
from git_blackbird.git.commit.branch import list_remotes
from git_blackbird.git.core.config import read_config
from git_blackbird.git.core.output import object_id_rows, object_ids, texts
from git_blackbird.git.core.process import GitError, operands, revisions
from git_blackbird.git.core.repository import Repository, head, init_repository, using_objects
from git_blackbird.git.core.trees import SUBMODULE, MissingObjectError, TreeEntry, TreeStore, is_reserved
from git_blackbird.git.worktree.log import find_commit
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.base.sanitize import quoted, shell_word
from git_blackbird.model.base.system import HIDDEN, PLAN_NAME
from git_blackbird.model.run.commits import RUN_TRAILER, TASK_TRAILER
from git_blackbird.model.run.published import SHARED_REFS, PublishedDecision
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.verified import RangeCommit

# A squash keeps each of the messages, indented or not, so that trailers can stand anywhere.
_MARK = re.compile(
    rf"^[ \t]*(?:({TASK_TRAILER})|{RUN_TRAILER}):[ \t]*(\S[^\n]*)", re.MULTILINE | re.IGNORECASE
)
_LOG = ("log", "-z", "--reverse", "--topo-order", "--no-show-signature", "--encoding=UTF-8")
_MARKED = ("--extended-regexp", "--regexp-ignore-case", f"--grep=({TASK_TRAILER}|{RUN_TRAILER}):")
_FORMAT = "--format=%H %T %P%n%B"
_AS_THEY_ARE = {"GIT_NO_REPLACE_OBJECTS": "1"}
_PLAIN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
# From the second tree to the first: it is by the first that patches are told apart.
_PATCHES = ("diff-tree", "--stdin", "-r", "-p", "-R", "--no-renames", "--no-ext-diff", "--no-textconv")
_BUT_OURS = tuple(f":(exclude,top,icase){name}" for name in HIDDEN)
_MOST_PLAN_BYTES = 64 * 1024 * 1024
_PLAN = os.fsencode(PLAN_NAME)
# What a commit of a change takes along of the plan.
_NO_STATUS = dict.fromkeys(("status", "updatedAt"))
_is_ours = partial(is_reserved, is_link=False)
_HASH = re.compile("[0-9a-f]{7,64}")
_NEWEST_BRANCH = ("for-each-ref", "--count=1", "--sort=-committerdate", "--format=%(refname:short)")
_PROMISOR = re.compile(r"remote\.(.+)\.promisor")
_SHALLOW = "shallow"
WHOLE = "--unshallow"
_SHOWN = 12


def resolve_range(repo: Repository, named: str) -> str:
    """Return a range with the ids of commits for names.

    Raises MissingHereError for what this clone does not have: a commit, or parents of those in the range.
    """
    parts = re.split(r"(\.{2,3})", named)
    for at in range(0, len(parts), 2):
        name = parts[at] or "HEAD"
        found = find_commit(repo, name)
        if found is None:
            raise _missing(repo, name)
        parts[at] = found
    within, cut = "".join(parts), cut_off(repo)
    if cut and (lacking := cut.intersection(roots_of(repo, within))):
        text = f"this clone is shallow: the parents of {min(lacking)[:_SHOWN]} are missing"
        raise MissingHereError(text, hint=fetch_of(repo, WHOLE))
    return within


def commits_of(repo: Repository, resolved: str, *, with_all: bool) -> tuple[list[RangeCommit], int]:
    """Return the marked commits of a range, or ``with_all``, oldest first, and how many there are in all."""
    within = (*revisions(resolved), *operands())
    count = repo.git("rev-list", "--count", *within, variables=_AS_THEY_ARE).answer()
    listed = repo.git(*_LOG, *([] if with_all else _MARKED), _FORMAT, *within, variables=_AS_THEY_ARE)
    return listed.records(lambda records: [_commit(record) for record in records]), int(count)


def _commit(record: bytes) -> RangeCommit:
    line, _, body = record.partition(b"\n")
    ((oid, tree, *parents),) = object_id_rows([line])
    text = body.decode(errors="replace")
    marks = _MARK.findall(text)
    tasks, runs = (
        tuple(dict.fromkeys(one_line(value) for is_task, value in marks if bool(is_task) is wanted))
        for wanted in (True, False)
    )
    subject = one_line(text.lstrip().partition("\n")[0])
    return RangeCommit(oid, subject, tasks, runs, tree, tuple(parents))


def _missing(repo: Repository, name: str) -> MissingHereError:
    """Return the error for a name of no commit, with the command that brings what it stands for."""
    if name == "HEAD":
        newest = repo.git(*_NEWEST_BRANCH, *operands("refs/remotes")).lines(texts)
        ways = tuple(TaskCommand("verify", rest=f" {shell_word(branch)}") for branch in newest)
        none = ("go to a clone that has commits",)
        return MissingHereError("there is no commit here yet", hint=ways or fetch_of(repo) or none)
    text = f"{quoted(name)} is no commit of this clone"
    for remote in list_remotes(repo):
        if name.startswith(f"{remote}/"):
            branch = name.removeprefix(f"{remote}/")
            fetch = ("git fetch", shell_word(remote), shell_word(f"+{branch}:refs/remotes/{name}"))
            return MissingHereError(text, hint=" ".join(fetch))
    is_above = cut_off(repo) and not {*name}.isdisjoint("~^")
    what = (name,) if _HASH.fullmatch(name) else (WHOLE,) if is_above else ()
    return MissingHereError(text, hint=fetch_of(repo, *what))


def fetch_of(repo: Repository, *what: str) -> tuple[str, ...]:
    """Return the command that fetches something from the remote, origin if there are several; () without."""
    remotes = sorted(list_remotes(repo), key=lambda name: name != "origin")
    return tuple(" ".join(("git fetch", *map(shell_word, (name, *what)))) for name in remotes[:1])


def cut_off(repo: Repository) -> frozenset[str]:
    """Return the commits whose parents this clone does not have, as it is shallow."""
    try:
        return frozenset((repo.common_dir / _SHALLOW).read_text().split())
    except FileNotFoundError:
        return frozenset()


@contextmanager
def lacking_nothing(repo: Repository) -> Iterator[None]:
    """Raise MissingHereError where what is done needs an object that a partial clone does not have."""
    try:
        yield
    except (MissingObjectError, GitError) as error:
        config = read_config(repo)
        promised = [found[1] for key in config.effective if (found := _PROMISOR.fullmatch(key))]
        if not promised:
            raise
        mapped = [each.value for each in config.values if each.key == f"remote.{promised[0]}.fetch"]
        # A commit that was checked out by its id may be of no branch.
        at = head(repo)
        what = (*filter(None, [*mapped, None if at.branch else at.commit]), SHARED_REFS)
        named = map(shell_word, dict.fromkeys((promised[0], *what)))
        text = f"this clone is partial: {error.message}"
        raise MissingHereError(text, hint=" ".join(("git fetch --refetch --no-filter", *named))) from error


def roots_of(repo: Repository, *commits: str) -> list[str]:
    """Return the commits without parents that these lead to, newest first."""
    named = ("rev-list", "--max-parents=0", *revisions(*commits), *operands())
    return repo.git(*named, variables=_AS_THEY_ARE).lines(object_ids)


@dataclass
class Attempt:
    """A commit, held against decisions that it may stand on: why it is not their change, and where.

    ``made`` is what merging has made of the files before it. ``is_same_tree``: it has the files that the last
    of the decisions has in the end.
    """

    commit: RangeCommit
    decisions: tuple[PublishedDecision, ...]
    fault: str | None = None
    paths: tuple[str, ...] = ()
    made: str = ""
    is_same_tree: bool = False

    @property
    def pairs(self) -> list[Trees]:
        return [each.trees for each in self.decisions if each.trees is not None]


class Comparison:
    """Hold commits against pairs of trees: what they change must be what merging the pairs changes."""

    def __init__(self, scratch: Repository) -> None:
        self._scratch = scratch
        self._trees = TreeStore(scratch)

    def compare(self, attempts: Sequence[Attempt]) -> None:
        """Complete the attempts that have no fault."""
        sound = [each for each in attempts if each.fault is None]
        merging = [each for each in sound if not self._is_plainly_same(each)]
        for at in range(max((len(each.pairs) for each in merging), default=0)):
            due = [each for each in merging if each.fault is None and at < len(each.pairs)]
            asked = [(each.pairs[at].base, each.made, each.pairs[at].head) for each in due]
            for each, merge in zip(due, merge_bases(self._scratch, asked), strict=True):
                each.made = merge.tree
                if merge.conflicts:
                    each.fault = "what was decided on does not merge with the commit before it"
                    each.paths = _named(merge.conflicts)
        for each in merging:
            if each.fault is None and (sides := self._sides(Trees(each.made, each.commit.tree))):
                each.fault, each.paths = "it has other files than were decided on", _named(sides)
        for each in sound:
            each.is_same_tree = each.fault is None and self._is_end(each.pairs[-1], each.commit)

    def _is_plainly_same(self, attempt: Attempt) -> bool:
        """Whether a commit changes what the only pair does; it has a fault where it can be of no change."""
        tree, pairs = attempt.commit.tree, attempt.pairs
        try:
            attempt.made = self._parent_tree(attempt.commit)
            changed = self._sides(Trees(attempt.made, tree))
            attempt.fault = self._of_ours(attempt.made, tree)
            return len(pairs) == 1 and self._sides(pairs[0]) == changed
        except MissingObjectError:
            raise
        except UnusableError as error:
            attempt.fault = error.message
            return False

    def find_alike(
        self, commits: Sequence[RangeCommit], decisions: Sequence[PublishedDecision]
    ) -> dict[str, PublishedDecision]:
        """Return by commit the decision whose change it is, though it does not name it.

        The identity of patches tells which could be: it is the same for a line that is moved out of a block.
        """
        own = {commit.oid: Trees(self._parent_tree(commit), commit.tree) for commit in commits}
        known = [(each, each.trees) for each in decisions if each.trees is not None]
        ids = self._patch_ids([*own.values(), *(trees for _, trees in known)]) if own else {}
        likely = [
            Attempt(commit, (each,))
            for commit in commits
            for each, trees in known
            if ids.get(commit.tree, "") == ids.get(trees.head)
        ]
        self.compare(likely)
        return {each.commit.oid: each.decisions[0] for each in likely if each.fault is None}

    def _patch_ids(self, pairs: Sequence[Trees]) -> dict[str, str]:
        """Return the identity of each patch, by the tree in which it ends."""
        stdin = "".join(f"{pair.head} {pair.base}\n" for pair in pairs).encode()
        patches = self._scratch.git(*_PATCHES, *operands(".", *_BUT_OURS), stdin=stdin).whole(b"\n")
        listed = self._scratch.git("patch-id", "--stable", stdin=patches).lines(object_id_rows)
        return {tree: identity for identity, tree in listed}

    def _parent_tree(self, commit: RangeCommit) -> str:
        if not commit.parents:
            return self._trees.save({})
        with using_objects(self._scratch):
            _, data = self._trees.objects.read(commit.parents[0])
        return data.partition(b"\n")[0].removeprefix(b"tree ").decode()

    def _sides(self, pair: Trees) -> Sides:
        sides = sides_of(self._trees, pair)
        return {path: sides[path] for path in sides if not _is_ours(path.partition(b"/")[0])}

    def _is_end(self, pair: Trees, commit: RangeCommit) -> bool:
        """Whether a commit has the files in which a pair ends."""
        first, second = (self._trees.load(each) for each in (pair.head, commit.tree))
        names = (name for name in first.keys() | second if not _is_ours(name))
        return all(first.get(name) == second.get(name) for name in names)

    def _of_ours(self, parent: str, tree: str) -> str | None:
        """Return what a commit changes of our files beyond statuses in the plan, if it does."""
        before, after = (self._trees.load(each) for each in (parent, tree))
        for name in sorted(before.keys() | after.keys()):
            entries = before.get(name), after.get(name)
            if not _is_ours(name) or entries[0] == entries[1]:
                continue
            if name != _PLAN:
                return f"it changes {one_line(os.fsdecode(name))}"
            if not _is_restated(*map(self._content, entries)):
                return f"it changes more of {PLAN_NAME} than statuses"
        return None

    def _content(self, entry: TreeEntry | None) -> bytes | None:
        if entry is None or entry.mode == SUBMODULE:
            return None
        return self._trees.content(entry.oid, _MOST_PLAN_BYTES)


def clean_merges(scratch: Repository, commits: Sequence[RangeCommit]) -> set[str]:
    """Return the merges among commits that have what git makes of their two parents, and nothing else."""
    two = [commit for commit in commits if len(commit.parents) == 2]
    made = merge_commits(scratch, [merge.parents for merge in two]) if two else []
    both = zip(two, made, strict=True)
    return {merge.oid for merge, one in both if not one.conflicts and one.tree == merge.tree}


@contextmanager
def scratch_repository(repo: Repository) -> Iterator[Repository]:
    """Make a repository that has the objects of another, and neither its configuration nor its attributes."""
    with tempfile.TemporaryDirectory(prefix="git-blackbird-verify.") as folder:
        environ = {**repo.environ, **_PLAIN, **_AS_THEY_ARE}
        scratch = init_repository(Path(folder), environ, {"core.attributesFile": os.devnull})
        objects = os.fsencode(repo.common_dir / "objects")
        (scratch.git_dir / "objects/info/alternates").write_bytes(objects + b"\n")
        if cut := cut_off(repo):
            (scratch.git_dir / _SHALLOW).write_text("".join(f"{oid}\n" for oid in cut))
        yield scratch


def _named(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted(one_line(path.decode(errors="replace")) for path in paths))


def _is_restated(before: bytes | None, after: bytes | None) -> bool:
    """Whether two versions of a plan differ in the statuses of tasks alone."""
    return before is not None and after is not None and _without_statuses(before) == _without_statuses(after)


# The plan of a commit is that of the next one's parent.
@lru_cache(maxsize=8)
def _without_statuses(plan: bytes) -> object:
    try:
        parsed = json.loads(plan)
        items = {name: {**task, **_NO_STATUS} for name, task in parsed["items"].items()}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return plan  # not a plan
    return {**parsed, "items": items}
