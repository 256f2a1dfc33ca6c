"""An agent whose reviewers run no git: it is sent the whole change, and reviews no parents."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from git_blackbird.model.base.ids import TaskId
from tests.controller.support import leaf, put_plan
from tests.support import NOT_INSTALLED, commit, set_config, write
from tests.trial.program import Trial

APPROVAL = (
    "<spec-review><verdict>APPROVED</verdict><confidence>high</confidence><issues></issues>"
    "<summary>Good.</summary></spec-review>"
)
EVENTS = (
    {"type": "text", "sessionID": "ses_1", "part": {"text": APPROVAL}},
    {"type": "step_finish", "sessionID": "ses_1", "part": {"reason": "stop", "cost": 0.5}},
)
OPENCODE = f"""#!/bin/sh
test "$1" = --version && echo 1.18.33 && exit
{{ pwd -P; cat; }} >>"$HOME/asked"
cat <<'END'
{chr(10).join(map(json.dumps, EVENTS))}
END
"""


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    write(repo.parent, {"bin/opencode": OPENCODE})
    (repo.parent / "bin/opencode").chmod(0o755)
    trial = Trial(repo)
    trial.configure({"agent": "demo", "opencode.path": str(repo.parent / "bin/opencode")})
    return trial


def test_it_is_sent_the_whole_change_beside_the_worktree(trial: Trial, sealed: Path) -> None:
    put_plan(trial.repo, replace(leaf("a"), prompt="write new.txt two"))
    trial.configure({"reviews.mode": "parallel", "reviews.diffThresholdLines": "0"})
    trial.configure({"reviews.spec.agent": "opencode", "execution.stopAfterEachTask": "false"})
    trial.expect(0, "execute", "--no-input")
    spec, _ = sorted(trial.reviews("a"), key=lambda record: record["provider"], reverse=True)
    assert (spec["provider"], spec["status"]) == ("opencode", "success")
    place, *prompt = (sealed / "asked").read_text().splitlines()
    assert not Path(place).is_relative_to(trial.repo.resolve())
    assert prompt[0].startswith(f"The git repository is {trial.repo}.")
    assert "+two" in prompt


def test_it_is_refused_before_the_first_task_where_a_parent_would_be_reviewed(
    trial: Trial, sealed: Path
) -> None:
    parent = replace(leaf("p"), children=(TaskId("a"),))
    put_plan(trial.repo, parent, replace(leaf("a"), parent=TaskId("p")))
    set_config(trial.repo, NOT_INSTALLED)
    said = trial.expect(8, "execute", "--no-input", "--agent", "opencode")
    assert said.startswith("opencode cannot enforce the schema of a parent review\n")
    assert "  git blackbird agent    # says which agents there are, and how to take another\n" in said
    assert not (sealed / "asked").exists()
