"""Rows 5 to 8: snapshots of worktrees, and what two of them say of a run."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

from benchmarks.bench import Bench, file_name, say
from benchmarks.measuring import Row, Sample, Turn, compare, in_turns, run_call, run_process
from benchmarks.orchestration_rows import build_task, task_id
from git_blackbird.git.core.repository import Repository, discover, open_libgit2
from git_blackbird.git.worktree.snapshot import SnapshotLimits, take_snapshot
from git_blackbird.git.worktree.summary import summarize
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.plan import Plan
from git_blackbird.storage.paths import HIDDEN
from git_blackbird.storage.plan_file import render_plan

FILES = 100_000
QUICK_FILES = 10_000
CHANGED = 20
_LIMITS = SnapshotLimits()
_STATUS = ("git", "status", "--porcelain")
_STAT = ("git", "diff", "--stat", "HEAD")
_numbers = count()


class Site:
    """A repository of so many files, and what is done in it."""

    def __init__(self, bench: Bench, files: int) -> None:
        say(f"making a repository of {files} files")
        self.bench = bench
        self.files = files
        self.top = bench.make_repository(f"files-{files}", files)
        self.repo: Repository = discover(self.top, bench.environ)
        self.base = self.snapshot()
        open_libgit2(self.repo).free()

    def change(self) -> None:
        """Return twenty files a content they never had, and let git's clock tell them from before."""
        for step in range(CHANGED):
            path = self.top / file_name(step * self.files // CHANGED)
            with path.open("a") as file:
                file.write(f"change {next(_numbers)}\n")

    def snapshot(self, since: str | None = None) -> str:
        return take_snapshot(self.repo, limits=_LIMITS, hidden=HIDDEN, since=since).tree

    def see_run(self) -> None:
        """What the end of a run asks for: the second snapshot, and what lies between the two."""
        head = self.snapshot(self.base)
        assert summarize(self.repo, TreePair(self.base, head)).totals.files == CHANGED

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

    def make_stale(self) -> None:
        """Return every file another time, as a copy or a restored cache does."""
        moment = time.time_ns() - 10**10
        for number in range(self.files):
            os.utime(self.top / file_name(number), ns=(moment, moment))


_sites: dict[int, Site] = {}


def _site(bench: Bench, files: int) -> Site:
    """Return the repository of that size; a large one takes a minute to make, so each is made once."""
    if files not in _sites:
        _sites[files] = Site(bench, files)
    return _sites[files]


def _large(bench: Bench) -> int:
    return QUICK_FILES if bench.quick else FILES


def one_snapshot(bench: Bench) -> Iterator[Row]:
    """Row 5."""
    site = _site(bench, _large(bench))
    what = f"one snapshot, {site.files} files, {CHANGED} changed / git status"
    yield compare(bench.ruler, "5", what, 1.7, site.turn(site.snapshot), site.git_turn(_STATUS))


def one_run(bench: Bench) -> Iterator[Row]:
    """Row 6."""
    site = _site(bench, _large(bench))
    what = f"second snapshot and summary, {site.files} files / git status"
    yield compare(bench.ruler, "6", what, 2.3, site.turn(site.see_run), site.git_turn(_STATUS))


def small_runs(bench: Bench) -> Iterator[Row]:
    """Row 7."""
    for files, limit in ((1_000, 1.8), (10_000, 1.5)):
        site = _site(bench, files)
        what = f"the same, {files} files / git status + git diff --stat"
        yield compare(bench.ruler, "7", what, limit, site.turn(site.see_run), site.git_turn(_STATUS, _STAT))


def stale_run(bench: Bench) -> Iterator[Row]:
    """Row 8: every file has another time than the index says, then ``git status`` has looked once."""
    site = _site(bench, _large(bench))
    sides = site.turn(site.see_run), site.git_turn(_STATUS)
    fresh, fresh_git = in_turns(sides, bench.ruler.rounds)
    site.make_stale()
    bench.git(site.top, "status", "--porcelain")
    stale, stale_git = in_turns(sides, bench.ruler.rounds)
    ruler = bench.ruler
    # Both against `git status` in the same rounds: the two phases lie minutes apart.
    ratio = ruler.ratio(stale, stale_git) / ruler.ratio(fresh, fresh_git)
    what = f"the same, {site.files} files, stale times / fresh"
    yield Row("8", what, ruler.figure(stale), ruler.figure(fresh), ratio, 1.1)


_UNTRACKED_ROUNDS = 3


def untracked(bench: Bench) -> Iterator[Row]:
    """Row 17: an execute of one task among untracked files; each is hashed at both ends of the run."""
    files = _large(bench)
    say(f"making {files} untracked files")
    top = bench.make_repository(f"untracked-{files}", 0)
    for number in range(files):
        path = top / file_name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n")
    rounds = min(bench.ruler.rounds, _UNTRACKED_ROUNDS)
    plan = {task_id(number): build_task(number) for number in range(rounds + 2)}
    (top / "blackbird.plan.json").write_bytes(render_plan(Plan(plan)))
    bench.git(top, "config", "blackbird.agent", "command")
    bench.git(top, "config", "blackbird.command.run", "true")
    one_task = (bench.program, "execute", "--no-input", "--limit", "1")
    status = ("git", "status", "--porcelain", "-uall")
    # The first one writes the objects of all files: that is paid once, as by `git add`.
    first = run_process(one_task, bench.environ, top).wall
    row = compare(
        replace(bench.ruler, rounds=rounds),
        "17",
        f"execute of a task, {files} untracked files / git status -uall",
        100,
        lambda: run_process(one_task, bench.environ, top),
        lambda: run_process(status, bench.environ, top),
    )
    yield replace(row, remark=f"the first one, which writes all objects: {first / 1000:.1f} s")
