"""Git's output cut short, though its status is 0: what is read of it is the same, or an error of ours."""

import ast
import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pytest

from git_blackbird.errors import BlackbirdError, UnusableError
from git_blackbird.git.change import changes
from git_blackbird.git.change.merging import merge_trees
from git_blackbird.git.commit.branch import commit_tree
from git_blackbird.git.commit.create import inspect_commit, make_commit
from git_blackbird.git.commit.plan import CommitPlan
from git_blackbird.git.core import config, user_programs
from git_blackbird.git.core.output import Completed
from git_blackbird.git.core.repository import (
    Head,
    Repository,
    discover,
    list_all_tracked,
    list_paths,
    list_tracked,
)
from git_blackbird.git.hooks.install import view_hook
from git_blackbird.git.hooks.script import HookCommand
from git_blackbird.git.submodules.edits import uncommitted
from git_blackbird.git.worktree import log
from git_blackbird.git.worktree.base_commits import unmerged_paths
from git_blackbird.git.worktree.folders import list_ignored
from git_blackbird.git.worktree.index import read_index_state
from git_blackbird.git.worktree.remote_refs import list_refs, remote_url
from git_blackbird.git.worktree.saved_trees import list_our_refs
from git_blackbird.git.worktree.snapshot import SnapshotLimits, take_snapshot
from git_blackbird.model.run.summary import Trees
from tests.git.support import LIMITS, found, script
from tests.support import Prepared, commit, git, write

PACKAGE = Path(__file__).resolve().parents[2] / "git_blackbird"
# Where more than git prints: hooks do too, and the process that makes commits.
OF_PROGRAMS = {("create.py", name) for name in ("make_commit", "error_output", "commit_in_subprocess")}
RUN = "20260102T030405Z-aaaaaa"
NAMED = f"x\n\nBlackbird-Task: one\nBlackbird-Run: {RUN}"
POSITIONS = 5


def prepare(repo: Path) -> None:
    """Make a repository with something for each question."""
    write(repo, {".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = ../sub\n'})
    (repo / "sub").mkdir()
    git(repo / "sub", "init", "-q", "-b", "main")
    commit(repo / "sub", {"inner": "1\n"})
    write(repo, {".gitignore": "*.log\nout/\n", ".gitattributes": "*.t -diff\n"})
    commit(repo, {"a": "1\n2\n3\n", "b/c d": "1\n"})
    git(repo, "add", "--all")
    git(repo, "commit", "-q", "-m", "sub")
    git(repo, "branch", "side")
    commit(repo, {"a": "1\n2\nours\n", "n.t": "text\n"}, NAMED)
    commit(repo, {"b/e": "e\n"}, NAMED)
    git(repo, "checkout", "-q", "side")
    commit(repo, {"a": "1\n2\ntheirs\n", "b/c d": "2\n"}, "theirs")
    git(repo, "checkout", "-q", "main")
    write(repo, {"sub/inner": "2\n", "sub/new one": "1\n", "a": "mine\n", "new": "1\n"})
    write(repo, {"x.log": "", "out/y": ""})
    git(repo, "update-index", "--assume-unchanged", "b/e")
    git(repo, "update-ref", "refs/blackbird/runs/one", "HEAD")
    git(repo, "update-ref", "refs/blackbird/runs/two", "HEAD")
    git(repo, "config", "blackbird.agent", "claude")
    git(repo, "config", "extensions.worktreeConfig", "true")
    git(repo, "config", "--worktree", "blackbird.codex.model", "x")
    git(repo, "config", "pager.log", "less -S")
    git(repo, "config", "color.diff", "always")
    git(repo, "remote", "add", "origin", "https://example.com/x.git")


def in_conflict(repo: Repository) -> None:
    """Let two files be in conflict, in the index."""
    oid = git(repo.top, "rev-parse", "HEAD:a")
    lines = "".join(f"100644 {oid} {stage}\t{name}\n" for stage in (1, 2, 3) for name in ("a", "b/c d"))
    git(repo.top, "update-index", "--force-remove", "a", "b/c d")
    git(repo.top, "update-index", "--index-info", stdin=lines.encode())


def unfit_in_conflict(repo: Repository) -> None:
    """Let ``a`` be in conflict, and what no tree can hold."""
    in_conflict(repo)
    (repo.top / "a").unlink()
    os.mkfifo(repo.top / "a")


@dataclass(frozen=True)
class Case:
    """What is asked, the word by which its git command is known, and what may be missing unnoticed.

    Output that ends behind ``size`` records, or a multiple, is a shorter list; 0 if it is no list.
    """

    ask: Callable[[Repository], object]
    word: str
    end: bytes = b"\n"
    size: int = 0
    prepare: Callable[[Repository], None] = lambda _: None


def oid(repo: Repository, name: str = "main") -> str:
    return git(repo.top, "rev-parse", name)


def pair(repo: Repository) -> Trees:
    return Trees(oid(repo, "side^{tree}"), oid(repo, "main^{tree}"))


def merged(repo: Repository) -> object:
    base = oid(repo, "side~1^{tree}")
    ours, theirs = oid(repo, "main^{tree}"), oid(repo, "side^{tree}")
    return merge_trees(repo, base, [(ours, theirs), (ours, base), (theirs, ours)])


def plan_of(repo: Repository) -> CommitPlan:
    head = Head("main", oid(repo))
    return CommitPlan(head, oid(repo, "main^{tree}"), oid(repo, "side^{tree}"), {})


def committed(repo: Repository) -> object:
    """Make a commit, and put HEAD back."""
    before = oid(repo)
    try:
        return make_commit(repo, plan_of(repo), "made")
    finally:
        git(repo.top, "update-ref", "HEAD", before)


def inspected(repo: Repository) -> object:
    return inspect_commit(repo, plan_of(repo), oid(repo, "side"), oid(repo, "side^{tree}"))


def on_no_branch(repo: Repository) -> object:
    return commit_tree(repo, oid(repo, "side^{tree}"), oid(repo), "x")


def index(repo: Repository) -> object:
    return read_index_state(repo, repo.index)


def ignored(repo: Repository) -> object:
    return list_ignored(repo, ["*.log", "out/"])


def submodules(repo: Repository) -> object:
    return uncommitted(repo, SnapshotLimits())


def settings(repo: Repository) -> object:
    return config.read_config(replace(repo, config_memo={})).values


def snapshot(repo: Repository) -> object:
    return take_snapshot(repo, limits=LIMITS)


def snapshot_from_nothing(repo: Repository) -> object:
    shutil.rmtree(repo.private_dir, ignore_errors=True)
    return snapshot(repo)


NUL = b"\0"
CASES = {
    "discover": Case(lambda repo: discover(repo.top, repo.environ), "--absolute-git-dir"),
    "list_paths": Case(list_paths, "ls-files", NUL, 1),
    "list_all_tracked": Case(list_all_tracked, "ls-files", NUL, 1),
    "list_tracked": Case(lambda repo: list_tracked(repo, "b"), "ls-files", NUL, 1),
    "read_config": Case(settings, "--list", NUL, 3),
    "list_own_keys": Case(config.list_own_keys, "--get-regexp", NUL, 1),
    "own scopes": Case(config.list_own_keys, "extensions.worktreeConfig"),
    "git_identity": Case(config.git_identity, "GIT_COMMITTER_IDENT"),
    "pager_command": Case(user_programs.pager_command, "pager.log"),
    "default pager": Case(lambda repo: user_programs.pager_command(repo, "show"), "GIT_PAGER"),
    "editor_command": Case(user_programs.editor_command, "GIT_EDITOR"),
    "colours wanted": Case(changes.diff_colors, "--get-colorbool"),
    "colours": Case(changes.diff_colors, "--type=color"),
    "view_hook": Case(lambda repo: view_hook(repo, HookCommand(Path("x"), Path("y"))), "--git-path"),
    "find_commit": Case(lambda repo: log.find_commit(repo, "main"), "--verify"),
    "tree_of": Case(lambda repo: log.tree_of(repo, "main"), "--verify"),
    "commit_parts": Case(lambda repo: log.commit_parts(repo, "main"), "log"),
    "read_commits": Case(lambda repo: log.read_commits(repo, [oid(repo), oid(repo, "side")]), "log", NUL, 4),
    "reachable": Case(lambda repo: log.reachable(repo, [oid(repo), lost(repo)]), "rev-list", size=1),
    "commits_in_head": Case(
        lambda repo: log.commits_in_head(repo, [oid(repo), oid(repo, "main~1")], None), "rev-list", size=1
    ),
    "commits_between": Case(lambda repo: log.commits_between(repo, "side", "main"), "rev-list", size=1),
    "commit_of_run": Case(lambda repo: log.commit_of_run(repo, RUN, None), "rev-list", size=1),
    "list_our_refs": Case(list_our_refs, "for-each-ref", size=1),
    "list_refs": Case(lambda repo: list_refs(repo, str(repo.top), "refs/*"), "ls-remote", size=1),
    "remote_url": Case(lambda repo: remote_url(repo, "origin"), "get-url"),
    "unmerged_paths": Case(unmerged_paths, "ls-files", NUL, 1, in_conflict),
    "index in conflict": Case(index, "ls-files", NUL, 1, in_conflict),
    "read_index_state": Case(index, "ls-files", NUL, 1),
    "tree of an index": Case(index, "write-tree"),
    "diff_text": Case(lambda repo: changes.diff_text(repo, pair(repo)), "diff-tree", size=1),
    "submodules": Case(submodules, "ls-files", NUL, 1),
    "status of a snapshot": Case(snapshot_from_nothing, "status", NUL, 1),
    "flags of a snapshot": Case(snapshot_from_nothing, "ls-files", NUL, 1),
    "tree of a snapshot": Case(snapshot_from_nothing, "write-tree"),
    "conflict in a snapshot": Case(snapshot_from_nothing, "-u", NUL, 1, unfit_in_conflict),
    "snapshot again": Case(snapshot, "status", NUL, 1),
    "merge_trees": Case(merged, "merge-tree", NUL),
    "list_ignored": Case(ignored, "ls-files", NUL, 1),
    "what is ignored": Case(ignored, "check-ignore", NUL, 1),
    "commit_tree": Case(on_no_branch, "commit-tree"),
    "signing": Case(on_no_branch, "commit.gpgSign"),
    "inspect_commit": Case(inspected, "diff-tree", NUL, 2),
    "make_commit": Case(committed, "--verify"),
    "parent of a commit": Case(committed, "--format=%T"),
    "words of git commit": Case(committed, "commit"),
}


def lost(repo: Repository) -> str:
    return git(repo.top, "commit-tree", "-m", "lost", "side^{tree}")


@pytest.fixture
def there(repo: Path, prepared: Prepared) -> Repository:
    def everything() -> None:
        prepare(repo)

    return found(prepared.bring(repo, everything))


class Cutter:
    """A ``git`` that prints only the beginning of what git prints for the commands with some word."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.printed = folder / "bin", folder / "printed"
        self.folder.mkdir()
        real, printed = shlex.quote(str(shutil.which("git"))), shlex.quote(str(self.printed))
        script(
            self.folder / "git",
            f'case " $* " in\n*" $CUT_WORD"[\\ =]*) ;;\n*) exec {real} "$@" ;;\nesac\n'
            f'{real} "$@" >{printed}\nstatus=$?\nhead -c "$CUT_AT" {printed}\nexit $status',
        )

    def cutting(self, repo: Repository, word: str, position: int) -> Repository:
        """Return the repository as it is seen through this program."""
        path = f"{self.folder}:{repo.environ['PATH']}"
        return replace(
            repo, environ={**repo.environ, "PATH": path, "CUT_WORD": word, "CUT_AT": str(position)}
        )


def positions(printed: bytes, end: bytes) -> Iterator[int]:
    """Return the places to cut at: evenly, at the ends, and about the ends of the first records."""
    ends = [place + 1 for place, byte in enumerate(printed) if byte == end[0]]
    about = {place + step for place in islice(ends, 4) for step in (-1, 0, 1)}
    evenly = range(0, len(printed), max(1, len(printed) // POSITIONS))
    return (place for place in sorted({*evenly, *about, len(printed) - 1}) if 0 <= place < len(printed))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_what_is_cut_short_is_refused_or_makes_no_difference(
    name: str, there: Repository, tmp_path: Path
) -> None:
    case, cutter = CASES[name], Cutter(tmp_path)
    case.prepare(there)
    expected = case.ask(cutter.cutting(there, case.word, 1 << 30))
    printed = cutter.printed.read_bytes()
    assert printed
    refused = 0
    for position in positions(printed, case.end):
        cut = printed[:position]
        ended = cut.count(case.end)
        may_be_shorter = case.size and cut[-1:] in {b"", case.end} and ended % case.size == 0
        try:
            seen = case.ask(cutter.cutting(there, case.word, position))
        except BlackbirdError:
            refused += 1
        else:
            assert may_be_shorter or seen == expected, (position, cut)
    assert refused


@pytest.mark.parametrize(
    "out",
    [b"", b"1", b"x\n", b"1\n2\n", b"\xff\n", b"\0", b"a" * 39 + b"\n", b"a" * 40, b"a" * 40 + b"\nb"],
)
def test_what_is_no_object_id_is_refused_with_the_name_of_the_command(out: bytes) -> None:
    with pytest.raises(UnusableError, match=r"^git write-tree printed output that cannot be read$") as caught:
        Completed(0, out, b"", verb="write-tree").oid()
    assert caught.value.hint


@pytest.mark.parametrize("error", [ValueError, UnicodeError, IndexError, KeyError, StopIteration])
def test_no_other_error_comes_out_of_a_parser(error: type[Exception]) -> None:
    def parse(_: list[bytes]) -> None:
        raise error

    for read in (Completed(0, b"", b"").lines, Completed(0, b"", b"").records):
        with pytest.raises(UnusableError):
            read(parse)


def reads_of_output(module: Path) -> Iterator[str]:
    """The functions in which raw output is read."""
    for function in ast.walk(ast.parse(module.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and node.attr == "out":
                    yield function.name


def test_all_of_gits_output_is_read_in_one_place() -> None:
    readers = {(module.name, name) for module in PACKAGE.rglob("*.py") for name in reads_of_output(module)}
    assert readers == {*OF_PROGRAMS, ("output.py", "_read")}
