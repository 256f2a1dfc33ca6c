"""The command with which a person opens a session, and the files of a task's latest run."""

import shlex
from pathlib import Path

import pytest

from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.states import PROGRAM
from tests.cli.golden_harness import save
from tests.cli.plans import task
from tests.controller.support import open_at
from tests.records import STAMP, run_of
from tests.support import set_config
from tests.trial.program import Trial

FACTS = {"id": "0" * 16, "task_id": "a", "started_at": STAMP, "status": "success", "program": PROGRAM}
SESSION = "0b1c2d3e-0000-4000-8000-000000000000"


def shown(repo: Path, **facts: object) -> list[str]:
    save(repo, [task("a", status=Status.WAITING_USER)])
    with open_at(repo).store.transaction() as transaction:
        transaction.save_run(run_of(**FACTS, provider_session_ref=SESSION, **facts))
    lines = Trial(repo).expect(0, "show", "a").splitlines()
    return [line for line in lines if " && " in line]


@pytest.mark.parametrize(
    ("provider", "opens"), [("claude", "claude --resume"), ("codex", "'/my programs/codex' resume")]
)
def test_the_session_is_opened_where_its_files_are(repo: Path, provider: str, opens: str) -> None:
    set_config(repo, {"codex.path": "/my programs/codex"})
    expected = f"  cd {shlex.quote(str(repo))} && {opens} {SESSION}"
    assert shown(repo, provider=provider) == [expected]


def test_a_session_that_cannot_be_opened_is_not_offered(repo: Path) -> None:
    assert shown(repo, provider="command") == []
    assert shown(repo, provider="nobody") == []
    assert shown(repo, provider="claude", worktree="/gone/a") == []
