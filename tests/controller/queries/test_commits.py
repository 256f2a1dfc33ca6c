"""Commits of a run that is not over, which the hook noted and no record lists yet."""

from pathlib import Path

import pytest

from git_blackbird.cli.json_values import encode
from git_blackbird.cli.paint import painted_lines
from git_blackbird.cli.printed.runs import ShowCommitOutput
from git_blackbird.controller.queries.commits import commits_of, find_origin, with_live_commits
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.runs import commit_lines, origin_document
from git_blackbird.messages.document import plain
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.run.commits import CommitSource, Evidence
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType
from tests.controller.support import STAMP, leaf, open_at, put_plan, store_at
from tests.support import commit, git


@pytest.fixture
def at_work(repo: Path) -> Run:
    """A run whose agent made ``HEAD`` and is still there."""
    base = commit(repo, {"a.txt": "one\n"})
    put_plan(repo, leaf("a"))
    run = Run(
        id=RunId("0123456789abcdef"),
        task_id=TaskId("a"),
        provider="demo",
        started_at=STAMP,
        status=RunStatus.RUNNING,
        program="git-blackbird",
        start_commit=base,
    )
    with store_at(repo).transaction() as transaction:
        transaction.save_run(run)
    made = commit(repo, {"a.txt": "two\n"}, "by the agent\n\nBlackbird-Task: b\n")
    (repo / ".git/blackbird").mkdir(exist_ok=True)
    (repo / ".git/blackbird/commits").write_text(f"0123456789abcdef {made} 1\n")
    return run.updated(commits=(made,))


def test_a_commit_of_an_agent_at_work_is_its_runs(repo: Path, at_work: Run) -> None:
    origin = find_origin(open_at(repo), "HEAD")
    assert (origin.source, origin.makers) == (
        Evidence.NOTE,
        (CommitSource("a", "0123456789abcdef", at_work),),
    )
    assert list(painted_lines(origin_document(origin), None, colored=False))[2:] == [
        "known from the hook's notes; the run has not ended",
        "    git blackbird runs a 0123456789abcdef",
    ]
    assert encode(ShowCommitOutput(origin), STAMP)["knownFrom"] == Evidence.NOTE


def test_the_record_of_a_run_that_is_over_stands(repo: Path, at_work: Run) -> None:
    over = at_work.updated(status=RunStatus.SUCCESS).updated(commits=())
    with store_at(repo).transaction() as transaction:
        transaction.save_run(over)
    assert with_live_commits(open_at(repo), over) == over
    assert find_origin(open_at(repo), "HEAD").source is Evidence.TRAILERS


def test_notes_that_cannot_be_read_are_no_obstacle(repo: Path, at_work: Run) -> None:
    (repo / ".git/blackbird/commits").unlink()
    (repo / ".git/blackbird/commits").mkdir()
    commit(repo, {"a.txt": "three\n"}, "mine")
    with pytest.raises(RequestError, match="was not made by a run"):
        find_origin(open_at(repo), "HEAD")
    assert with_live_commits(open_at(repo), at_work) == at_work


def test_a_rebased_copy_of_work_by_hand_names_the_commit_that_the_run_lists(repo: Path) -> None:
    base = commit(repo, {"base": "1"})
    put_plan(repo, leaf("a"))
    made = commit(repo, {"a.txt": "one\n"}, "by hand\n\nBlackbird-Task: a\n")
    run = Run(
        id=RunId("0123456789abcdef"),
        task_id=TaskId("a"),
        run_type=RunType.MANUAL,
        started_at=STAMP,
        status=RunStatus.SUCCESS,
        program="git-blackbird",
        commits=(made,),
    )
    with store_at(repo).transaction() as transaction:
        transaction.save_run(run)
    assert [one.in_history for one in commits_of(open_at(repo), [run])] == [True]
    git(repo, "reset", "-q", "--hard", base)
    commit(repo, {"between": "1"})
    git(repo, "cherry-pick", made)
    assert list(plain(commit_lines(commits_of(open_at(repo), [run])))) == [
        f"{made[:12]}  by hand  (not in history any more: amended, rebased or dropped)"
    ]
    copy = git(repo, "rev-parse", "HEAD")
    assert list(painted_lines(origin_document(find_origin(open_at(repo), "HEAD")), None, colored=True)) == [
        f"\x1b[1mcommit {copy[:12]}\x1b[0m  by hand",
        "  task a  names no run",
        "known from the commit's own trailers",
        "run 0123456789abcdef of a lists another commit:",
        f"    {made[:12]}  by hand  (not in history any more: amended, rebased or dropped)",
        "    git blackbird runs a 0123456789abcdef",
    ]
    told = encode(ShowCommitOutput(find_origin(open_at(repo), "HEAD")), STAMP)
    listed = {
        "commit": made,
        "subject": "by hand",
        "inHistory": False,
        "task": "a",
        "run": "0123456789abcdef",
    }
    assert (told["inHistory"], told["runsListInstead"]) == (True, [listed])
    gone = find_origin(open_at(repo), made)
    assert (gone.source, gone.in_history, gone.instead) == (Evidence.RECORD, False, ())
    assert (
        list(painted_lines(origin_document(gone), None, colored=False))[2]
        == "not in history any more: amended, rebased or dropped"
    )
