"""Commits of a run that is not over, which the hook noted and no record lists yet."""

from pathlib import Path

import pytest

from git_blackbird.cli.commits_view import origin_data, origin_lines
from git_blackbird.controller.commit_views import Maker, Source, find_origin, with_noted
from git_blackbird.errors import RequestError
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.run import Run, RunStatus
from tests.controller.support import STAMP, leaf, open_at, put_plan
from tests.support import commit


@pytest.fixture
def at_work(repo: Path) -> Run:
    """A run whose agent made ``HEAD`` and is still there."""
    base = commit(repo, {"a.txt": "one\n"})
    put_plan(repo, leaf("a"))
    run = Run(
        id=RunId("ab12"),
        task_id=TaskId("a"),
        provider="demo",
        started_at=STAMP,
        status=RunStatus.RUNNING,
        recorder="git-blackbird",
        head_commit=base,
    )
    with open_at(repo).store.transaction() as transaction:
        transaction.save_run(run)
    made = commit(repo, {"a.txt": "two\n"}, "by the agent\n\nBlackbird-Task: b\n")
    (repo / ".git/blackbird").mkdir(exist_ok=True)
    (repo / ".git/blackbird/commits").write_text(f"ab12 {made} 1\n")
    return run.with_fields(commits=(made,))


def test_a_commit_of_an_agent_at_work_is_its_runs(repo: Path, at_work: Run) -> None:
    origin = find_origin(open_at(repo), "HEAD")
    assert (origin.source, origin.makers) == (Source.NOTE, (Maker("a", "ab12", at_work),))
    assert list(origin_lines(origin))[2:] == [
        "known from what the hook noted: the run is not over",
        "    git blackbird runs a ab12",
    ]
    assert origin_data(origin, STAMP)["knownFrom"] == "note"


def test_the_record_of_a_run_that_is_over_stands(repo: Path, at_work: Run) -> None:
    over = at_work.with_fields(status=RunStatus.SUCCESS, commits=())
    with open_at(repo).store.transaction() as transaction:
        transaction.save_run(over)
    assert with_noted(open_at(repo), over) == over
    assert find_origin(open_at(repo), "HEAD").source is Source.TRAILERS


def test_notes_that_cannot_be_read_are_no_obstacle(repo: Path, at_work: Run) -> None:
    (repo / ".git/blackbird/commits").unlink()
    (repo / ".git/blackbird/commits").mkdir()
    commit(repo, {"a.txt": "three\n"}, "mine")
    with pytest.raises(RequestError, match="was made by no run"):
        find_origin(open_at(repo), "HEAD")
    assert with_noted(open_at(repo), at_work) == at_work
