"""A run's commits on its record; a run does not fail for want of them."""

from pathlib import Path

import pytest

from git_blackbird.model.views.stop import StopReason
from tests.controller.support import Person, configure, execute, leaf, put_plan, runs_of
from tests.support import commit, git


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"a.txt": "one\n"})
    put_plan(repo, leaf("a"))
    return repo


def note(oid: str, owner: str = "$BLACKBIRD_RUN_ID") -> str:
    """The line of a shell script that does what the hook does."""
    return f'echo "{owner} {oid} 1" >>.git/blackbird/commits'


def agent(repo: Path, *lines: str) -> None:
    configure(repo, agent="command", command__run="\n".join(lines), execution__acceptNoChange="true")


def test_what_was_noted_for_a_run_is_on_its_record(planned: Path) -> None:
    one = "git commit -q --allow-empty -m one"
    agent(planned, one, note("$(git rev-parse HEAD)"), one, note("$(git rev-parse HEAD)", "-"))
    execute(planned)
    (run,) = runs_of(planned, "a")
    assert run.commits == (git(planned, "rev-parse", "HEAD~1"),)
    left = [path.name for path in (planned / ".git" / "blackbird").iterdir()]
    assert not {"active", "commits", "commits.old"}.intersection(left)


def test_notes_that_cannot_be_read_are_said_and_the_run_is_closed(planned: Path) -> None:
    agent(planned, "mkdir .git/blackbird/commits")
    person = Person()
    assert execute(planned, person).reason is StopReason.COMPLETED
    (run,) = runs_of(planned, "a")
    assert person.notices() == [f"the commits of run {run.id} are not known: Is a directory"]


def test_a_mark_that_cannot_be_made_is_said_and_the_run_goes_on(planned: Path) -> None:
    (planned / ".git" / "blackbird").mkdir(exist_ok=True)
    (planned / ".git" / "blackbird" / "active").touch()
    agent(planned, "true")
    person = Person()
    assert execute(planned, person).reason is StopReason.COMPLETED
    (run,) = runs_of(planned, "a")
    assert person.notices() == [f"commits of run {run.id} may be attributed to a person: Not a directory"]
