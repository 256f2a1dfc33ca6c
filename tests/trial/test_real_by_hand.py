"""Claude Code's own interface, opened by hand in a session that it worked in, its model a script."""

import json
from pathlib import Path

import pytest

from tests.cli.terminal import CTRL_C, ENTER, Terminal
from tests.records import fact
from tests.standin.install import CLAUDE, Program
from tests.standin.real import real
from tests.standin.server import Reply, StandIn
from tests.support import commit
from tests.trial.program import Trial
from tests.trial.real_trial import assert_one_session, enlist


@pytest.fixture
def trial(repo: Path, tmp_path: Path, program: Program, model: StandIn) -> Trial:
    commit(repo, {"README.md": "# Here\n"})
    trial = Trial(repo)
    enlist(trial, program, model, tmp_path / "config")
    trial.configure({"agent": program.agent, "claude.permissionMode": "acceptEdits"})
    trial.plan({"greet": ()})
    return trial


def know_the_folder(trial: Trial) -> None:
    """Answer beforehand what the program asks at its first start in a folder."""
    config = Path(trial.environ["CLAUDE_CONFIG_DIR"], ".claude.json")
    known = json.loads(config.read_text())
    key = trial.environ["ANTHROPIC_API_KEY"]
    known |= {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": [key[-20:]]}}
    known["projects"] = {str(trial.repo): {"hasTrustDialogAccepted": True}}
    config.write_text(json.dumps(known))


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(CLAUDE), indirect=True)
def test_a_person_goes_on_with_the_session_and_decides(
    program: Program, trial: Trial, model: StandIn
) -> None:
    greet, more = trial.repo / "greet.py", trial.repo / "more.py"
    model.tell(Reply("I write.", (model.dialect.writes(greet, "print('hello')\n"),)), "It greets.")
    trial.expect(0, "execute", "--no-input")
    know_the_folder(trial)
    model.tell(Reply("More.", (model.dialect.writes(more, "print('more')\n"),)), "As you said.")
    with Terminal(trial.repo, "resume", "greet", "--interactive", environ=trial.environ) as terminal:
        terminal.wait_to_see("accept edits on")
        terminal.type("More of it, please")
        terminal.wait_to_see("More of it, please")
        terminal.type(ENTER)
        terminal.wait_to_see("As you said.")
        terminal.type(CTRL_C)
        terminal.wait_to_see("again to exit")
        terminal.type(CTRL_C)
        terminal.wait_for_list()
        terminal.wait_to_see("A more.py  +1 -0")
        terminal.type("1", ENTER)
        assert terminal.end() == 0
    first, second = records = trial.records("greet")
    assert_one_session(records)
    assert more.read_text() == "print('more')\n"
    assert (second["status"], second["decision_state"]) == ("success", "approved_continue")
    assert [change["path"] for change in second["review_summary"]["changes"]] == ["more.py"]
    assert (fact(first, "cost_usd") is None, fact(second, "cost_usd")) == (False, None)
