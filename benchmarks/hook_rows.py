"""Rows 3 and 4: what the post-commit hook adds to a commit."""

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

from benchmarks.bench import Bench, file_name
from benchmarks.measuring import Row, Sample, Turn, compare, run_process
from benchmarks.plans import build_tasks, save_plan

_FILES = 50
_RUN_ID = "0199f3a0c0000001"
_numbers = count()


def idle_commit(bench: Bench) -> Iterator[Row]:
    """Row 3: no run is active; against a hook that does nothing at all."""
    ours, other = (bench.make_repository(f"row-3-{side}", _FILES) for side in ("ours", "exit-0"))
    # Without a plan the hook looks at no message.
    save_plan(ours, build_tasks(range(10)))
    save_plan(other, build_tasks(range(10)))
    install(bench, ours)
    hook = other / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    what = "git commit with the hook, no run active / hook `exit 0`"
    yield compare(bench.ruler, "3", what, 1.10, committing(bench, ours), committing(bench, other))


def agents_commit(bench: Bench) -> Iterator[Row]:
    """Row 4: an agent commits while its run is active; against no hook."""
    ours, other = (bench.make_repository(f"row-4-{side}", _FILES) for side in ("ours", "plain"))
    install(bench, ours)
    (ours / ".git" / "blackbird" / "active").mkdir(parents=True)
    what = "git commit with the hook, in a run / no hook"
    turn = committing(bench, ours, {"BLACKBIRD_RUN_ID": _RUN_ID})
    yield compare(bench.ruler, "4", what, 1.9, turn, committing(bench, other))
    noted = (ours / ".git" / "blackbird" / "commits").read_text().count(_RUN_ID)
    assert noted == bench.ruler.rounds + 1, noted


def install(bench: Bench, repo: Path) -> None:
    bench.run(bench.program, "hooks", "install", cwd=repo)


def committing(bench: Bench, repo: Path, variables: Mapping[str, str] | None = None) -> Turn:
    """Commit a change of one file; only the commit itself is timed."""
    environ = {**bench.environ, **(variables or {})}

    def turn() -> Sample:
        number = next(_numbers)
        (repo / file_name(number % _FILES)).write_text(f"change {number}\n")
        bench.git(repo, "add", "-u")
        return run_process(("git", "commit", "-q", "-m", f"Change {number}"), environ, repo)

    return turn
