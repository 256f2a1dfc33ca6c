"""What git commands leave of themselves, and that it stays short."""

import os
import subprocess
from pathlib import Path

from git_blackbird.git.hooks.attribution import (
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


def test_a_shortened_trace_loses_no_commit(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"a": "1"})
    at = found(repo)
    variables = dict(start_trace(at))
    git(repo, "config", "alias.ci", "commit -q --allow-empty")
    other = tmp_path / "other"
    git(repo, "clone", "-q", ".", str(other))
    trace = repo / ".git" / "blackbird" / "git-trace"
    for message in ("first", "second"):
        traced(repo, variables, "commit", "-q", "--allow-empty", "-m", message)
        traced(repo, variables, "ci", "-m", message)
        traced(other, variables, "commit", "-q", "--allow-empty", "-m", message)
        for _ in range(5):
            traced(repo, variables, "status")
        shorten_trace(at)
    assert [one.verb for one in read_trace(at) or []] == ["commit"] * 4
    assert len(list(trace.iterdir())) == 4


def test_what_an_agent_puts_into_the_trace_is_no_command(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"a": "1"})
    at = found(repo)
    variables = dict(start_trace(at))
    trace = repo / ".git" / "blackbird" / "git-trace"
    (trace / "link").symlink_to(tmp_path / "nothing")
    (trace / "folder").mkdir()
    os.mkfifo(trace / "pipe")
    (trace / "text").write_bytes(b'{"event":"start"\n{"event":"exit","time":1}\n\xff\n[[')
    (trace / "begun").write_bytes(b'{"event":"start","time":"2026-01-01T00:00:00Z"}\n')
    traced(repo, variables, "commit", "-q", "--allow-empty", "-m", "x")
    shorten_trace(at)
    assert [one.verb for one in read_trace(at) or []] == ["commit"]
    assert not (trace / "text").exists()
    assert (trace / "begun").exists()
    drop_trace(at)
    assert files(repo) == []


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
    drop_trace(found(repo))
    (repo / ".git" / "blackbird" / "git-trace").symlink_to(tmp_path)
    shorten_trace(found(repo))
    assert read_trace(found(repo)) is None
    drop_trace(found(repo))
    assert victim.read_text() == "mine"
