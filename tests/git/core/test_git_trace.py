"""What git commands leave of themselves, and that it stays short."""

import os
import subprocess
from pathlib import Path

from git_blackbird.git.hooks.attribution import (
    MAX_TRACE_BYTES,
    drop_trace,
    read_trace,
    shorten_trace,
    start_trace,
)
from tests.git.support import found
from tests.support import commit, git


def traced(repo: Path, variables: dict[str, str], *args: str) -> None:
    subprocess.run(["git", *args], cwd=repo, env={**os.environ, **variables}, check=True, capture_output=True)


def files(repo: Path) -> list[str]:
    return sorted(path.name for path in (repo / ".git" / "blackbird").iterdir())


def test_only_what_may_move_head_here_is_told(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"a": "1"})
    other = tmp_path / "other"
    git(repo, "clone", "-q", ".", str(other))
    assert read_trace(found(repo)) is None
    variables = dict(start_trace(found(repo)))
    for place, *words in (
        (repo, "status"),
        (repo, "commit", "-q", "--allow-empty", "-m", "x"),
        (other, "commit", "-q", "--allow-empty", "-m", "x"),
        (repo, "switch", "-q", "-c", "side"),
    ):
        traced(place, variables, *words)
    told = read_trace(found(repo))
    assert told is not None
    assert [one.verb for one in told] == ["commit", "switch"]
    assert all(one.end is not None and one.start <= one.end for one in told)
    drop_trace(found(repo))
    assert files(repo) == []


def test_a_long_trace_is_shortened_and_loses_no_commit(repo: Path) -> None:
    commit(repo, {"a": "1"})
    at = found(repo)
    variables = dict(start_trace(at))
    traced(repo, variables, "commit", "-q", "--allow-empty", "-m", "first")
    trace = repo / ".git" / "blackbird" / "git-trace"
    with trace.open("ab") as file:
        file.write(b'{"event":"start","sid":"x","time":"2026-01-01T00:00:00Z"}\n' * 3)
        file.write(b"not JSON at all\n" * (MAX_TRACE_BYTES // 16))
    shorten_trace(at)
    traced(repo, variables, "commit", "-q", "--allow-empty", "-m", "second")
    shorten_trace(at)
    assert [one.verb for one in read_trace(at) or []] == ["commit", "commit"]
    assert sum(path.stat().st_size for path in trace.parent.iterdir()) < MAX_TRACE_BYTES // 4


def test_a_trace_of_the_users_own_stays_theirs(repo: Path) -> None:
    commit(repo, {"a": "1"})
    git(repo, "config", "--global", "trace2.eventTarget", "/dev/null")
    assert start_trace(found(repo)) == {}
    assert read_trace(found(repo)) is None


def test_nothing_is_written_through_a_link(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"a": "1"})
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (repo / ".git" / "blackbird").mkdir()
    (repo / ".git" / "blackbird" / "git-trace").symlink_to(victim)
    start_trace(found(repo))
    assert victim.read_text() == "mine"
