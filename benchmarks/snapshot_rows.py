"""Rows 5 to 8: snapshots of worktrees, and what two of them say of a run."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from benchmarks.bench import Bench, file_name, say
from benchmarks.measuring import Row, Sample, Turn, compare, run_call, run_process
from benchmarks.plans import build_tasks, choose_agent, execute, save_plan
from git_blackbird.git.core.repository import Repository, discover, open_libgit2
from git_blackbird.git.worktree.snapshot import SnapshotLimits, take_snapshot
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.run.summary import Trees

FILES = 100_000
QUICK_FILES = 10_000
_SIZES = (1_000, QUICK_FILES, FILES)
CHANGED = 20
_LIMITS = SnapshotLimits()
_STATUS = ("git", "status", "--porcelain")
_STAT = ("git", "diff", "--stat", "HEAD")
_numbers = count()


class Site:
    """A repository of so many files, and what is done in it."""

    def __init__(self, bench: Bench, files: int, top: Path) -> None:
        self.bench = bench
        self.files = files
        self.top = top
        self.repo: Repository = discover(top, bench.environ)
        open_libgit2(self.repo).free()

    def begin_run(self) -> None:
        self.base = self.snapshot()

    def change(self) -> None:
        """Return twenty files a content they never had, and let git's clock tell them from before."""
        for step in range(CHANGED):
            path = self.top / file_name(step * self.files // CHANGED)
            with path.open("a") as file:
                file.write(f"change {next(_numbers)}\n")

    def snapshot(self, since: str | None = None) -> str:
        return take_snapshot(self.repo, limits=_LIMITS, since=since).tree

    def see_run(self) -> None:
        """What the end of a run asks for: the second snapshot, and what lies between the two."""
        head = self.snapshot(self.base)
        assert summarize(self.repo, Trees(self.base, head)).totals.files == CHANGED

    def turn(self, work: Callable[[], object]) -> Turn:
        def taken() -> Sample:
            self.change()
            return run_call(work)

        return taken

    def git_turn(self, *commands: tuple[str, ...]) -> Turn:
        def taken() -> Sample:
            self.change()
            total = Sample(0, 0)
            for command in commands:
                total += run_process(command, self.bench.environ, self.top)
            return total

        return taken

    def stale_copy(self) -> "Site":
        """Copy all of it, which leaves each file another time than the copied index says."""
        say(f"copying {self.files} files")
        top = self.top.with_name(f"{self.top.name}-stale")
        self.bench.run("cp", "-r", str(self.top), str(top), cwd=self.top)
        return Site(self.bench, self.files, top)


_sites: dict[int, Site] = {}


def _site(bench: Bench, files: int) -> Site:
    """Return the repository of that size; a large one takes a minute to make, so each is made once."""
    if files not in _sites:
        say(f"making a repository of {files} files")
        _sites[files] = Site(bench, files, bench.make_repository(f"files-{files}", files))
        _sites[files].begin_run()
    return _sites[files]


def _large(bench: Bench) -> int:
    return QUICK_FILES if bench.quick else FILES


def _sizes(bench: Bench) -> tuple[int, ...]:
    return tuple(files for files in _SIZES if files <= _large(bench))


def one_snapshot(bench: Bench) -> Iterator[Row]:
    """Row 5; the limit is that of the largest repository, elsewhere a start of git is most of it."""
    for files in _sizes(bench):
        site, limit = _site(bench, files), 2.0 if files == _large(bench) else None
        what = f"one snapshot, {files} files, {CHANGED} changed / git status"
        yield compare(bench.ruler, "5", what, limit, site.turn(site.snapshot), site.git_turn(_STATUS))


def one_run(bench: Bench) -> Iterator[Row]:
    """Row 6; the same of the limit."""
    for files in _sizes(bench):
        site, limit = _site(bench, files), 2.6 if files == _large(bench) else None
        what = f"second snapshot and summary, {files} files / git status"
        yield compare(bench.ruler, "6", what, limit, site.turn(site.see_run), site.git_turn(_STATUS))


def with_stat(bench: Bench) -> Iterator[Row]:
    """Row 7."""
    limits = {1_000: 3.0, 10_000: 2.1}
    for files in _sizes(bench):
        site = _site(bench, files)
        what = f"the same, {files} files / git status + git diff --stat"
        sides = site.turn(site.see_run), site.git_turn(_STATUS, _STAT)
        yield compare(bench.ruler, "7", what, limits.get(files), *sides)


def stale_run(bench: Bench) -> Iterator[Row]:
    """Row 8: a run that begins where no file has the time that the index says, and nobody repairs that."""
    fresh = _site(bench, _large(bench))
    stale = fresh.stale_copy()
    # What the beginning of a run costs there, which is paid once.
    first = run_call(stale.begin_run).wall
    sides = stale.turn(stale.see_run), fresh.turn(fresh.see_run)
    row = compare(bench.ruler, "8", f"the same, {fresh.files} files, stale times / fresh", 1.1, *sides)
    git = run_process(_STATUS, bench.environ, stale.top).wall
    yield replace(row, remark=f"the first snapshot: {first:.0f} ms, git status there: {git:.0f} ms")


_UNTRACKED_ROUNDS = 3


def untracked(bench: Bench) -> Iterator[Row]:
    """Row 21: an execute of one task among untracked files; each is hashed at both ends of the run."""
    files = _large(bench)
    say(f"making {files} untracked files")
    top = bench.make_repository(f"untracked-{files}", 0)
    for number in range(files):
        path = top / file_name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n")
    rounds = min(bench.ruler.rounds, _UNTRACKED_ROUNDS)
    save_plan(top, build_tasks(range(rounds + 2)))
    choose_agent(bench, top, "command", command__run="true")
    status = ("git", "status", "--porcelain", "-uall")
    # The first one writes the objects of all files: that is paid once, as by `git add`.
    first = execute(bench, top, 1).wall
    row = compare(
        replace(bench.ruler, rounds=rounds),
        "21",
        f"execute of a task, {files} untracked files / git status -uall",
        None,
        lambda: execute(bench, top, 1),
        lambda: run_process(status, bench.environ, top),
    )
    yield replace(row, remark=f"the first one, which writes all objects: {first / 1000:.1f} s")
