"""A unique beginning of an id names its task wherever one is typed."""

from pathlib import Path

import pytest

from tests.controller.support import leaf, put_plan
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    put_plan(repo, leaf("an-api"), leaf("an-app"), leaf("docs"), leaf("doc"), leaf("root-tasks"))
    return Trial(repo)


@pytest.mark.parametrize("command", ["show an-ap", "runs an-ap", "edit an-ap --title x", "retry an-ap"])
def test_a_beginning_of_several_is_refused_with_their_names(trial: Trial, command: str) -> None:
    assert 'error: "an-ap" begins several ids: an-api, an-app' in trial.expect(1, *command.split())


def test_a_unique_beginning_or_the_id_itself_is_taken(trial: Trial) -> None:
    trial.expect(0, "edit", "an-app", "--title", "An app")
    trial.expect(0, "edit", "an-api", "--title", "An API")
    trial.expect(0, "set-status", "doc", "skipped")
    trial.expect(0, "deps", "set", "docs", "an-api", "an-ap" + "p")
    trial.expect(0, "add", "Below it", "--parent", "root", "--dep", "an-api")
    trial.expect(0, "move", "an-api", "--parent", "root")
    trial.expect(0, "delete", "root-", "--cascade-children", "--force")
    assert "unknown id" in trial.expect(1, "show", "zz")
    assert "the task of a run stands before it" in trial.expect(1, "runs", "01a2291533a3c654")
    assert sorted(trial.statuses()) == ["an-api", "an-app", "doc", "docs"]
