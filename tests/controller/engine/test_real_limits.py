"""The real agents at a usage limit of their accounts: the call waits, and goes on in the same session."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.stop import StopReason
from tests.controller.limited import HOUR, SECOND, Waiter, call_at
from tests.controller.support import configure, leaf, put_plan, runs_of, status
from tests.standin.install import CLAUDE, CODEX, Program
from tests.standin.real import binary_of, model_of, real
from tests.standin.server import Reply, StandIn
from tests.support import commit


@pytest.fixture
def model(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with model_of(program) as standin:
        for name, value in standin.subscriber_environ(tmp_path / "config").items():
            monkeypatch.setenv(name, value)
        yield standin


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(CLAUDE, CODEX))
def test_a_run_that_a_limit_cut_off_goes_on_in_its_session(
    repo: Path, program: Program, model: StandIn
) -> None:
    commit(repo, {"old.txt": "old\n"})
    configure(repo, agent=program.agent, **{f"{program.agent}__path": binary_of(program)})
    configure(repo, codex__sandbox="danger-full-access", execution__stopAfterEachTask="false")
    put_plan(repo, leaf("a"))
    person = Waiter()
    at = person.clock.seconds() + 2 * HOUR
    work = Reply("I begin.", (model.dialect.shell("echo x >greet.py"),))
    model.tell(work, model.dialect.usage_limit(at), "It greets.")
    stop = call_at(repo, person, lambda workspace, ui: execute_loop(workspace, ui, (), None))
    assert (stop.reason, status(repo, "a")) == (StopReason.COMPLETED, Status.DONE), stop.text
    (waited,) = person.waits
    # Words name a minute, of which the whole is waited for.
    assert (waited.holds[0].is_guess, 0 <= waited.holds[0].until - at * SECOND < 60 * SECOND) == (False, True)
    cut, went_on = runs_of(repo, "a")
    assert (cut.status, went_on.status) == (RunStatus.PAUSED, RunStatus.SUCCESS)
    assert (went_on.resumes, went_on.provider_session_ref) == (cut.id, cut.provider_session_ref)
    assert went_on.final_text == "It greets."
    assert len(model.requests) == 3
