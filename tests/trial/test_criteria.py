"""Criteria that are commands: run like a check, once a person agreed to their texts on this machine."""

import json
from pathlib import Path

import pytest

from tests.cli.terminal import ENTER, Terminal
from tests.records import fact
from tests.support import commit
from tests.trial.program import Trial

HAS_NEW, HAS_SAME = "$ test -e new.txt", "$ grep -q old old.txt"


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.command("echo new >new.txt; echo more >>other.txt")
    return trial


def planned(trial: Trial, **criteria: list[str]) -> None:
    """Write a plan of these tasks, of which each has these criteria."""
    trial.plan(dict.fromkeys(criteria, ()))
    path = trial.repo / "blackbird.plan.json"
    plan = json.loads(path.read_bytes())
    for task, texts in criteria.items():
        plan["items"][task]["acceptanceCriteria"] = texts
    path.write_text(json.dumps(plan))


def verdicts(trial: Trial, task: str) -> list[tuple[str, str]]:
    evidence = fact(trial.records(task)[-1], "evidence") or {}
    return [(check["command"], check["outcome"]) for check in evidence.get("checks", ())]


def agreed(trial: Trial, *shown: str, yes: bool = True, status: int = 0) -> str:
    """Execute on a terminal, be shown these commands, and answer."""
    with Terminal(trial.repo, "execute") as terminal:
        if "agreements.json" not in {path.name for path in (trial.repo / ".git/blackbird").glob("*")}:
            terminal.wait_for("2) Yes, start it")
            terminal.type("2", ENTER)
        terminal.wait_for("2) Yes, run them")
        seen = terminal.text
        assert [line.strip() for line in seen.splitlines() if line.startswith("  $ ")][-len(shown) :] == [
            *shown
        ]
        terminal.type("2" if yes else "1", ENTER)
        assert terminal.end() == status
        return terminal.text


def test_a_criterion_runs_once_its_text_is_agreed_to_and_is_asked_again_when_it_changes(trial: Trial) -> None:
    trial.configure({"check.criteria": "true"})
    planned(trial, a=["It is there.", HAS_NEW, f" {HAS_SAME} "], b=[f"`{HAS_SAME}`", "$ test -e b.txt"])
    said = agreed(trial, HAS_NEW, HAS_SAME, "$ test -e b.txt")
    assert "criterion $ test -e new.txt of a ended: exit 0 (" in said
    assert "criterion $ test -e b.txt of b failed: exit 1" in said
    assert verdicts(trial, "a") == [(HAS_NEW[2:], "passed"), (HAS_SAME[2:], "passed")]
    assert verdicts(trial, "b") == [(HAS_SAME[2:], "passed"), ("test -e b.txt", "failed")]
    # Agreed to, wherever they stand; the new one nobody was shown.
    planned(trial, c=[HAS_NEW, "$ rm -rf ~; test -e new.txt"])
    said = trial.expect(0, "execute", "--no-input")
    assert "1 command of criteria not run, as nobody agreed on this machine" in said
    assert verdicts(trial, "c") == [(HAS_NEW[2:], "passed"), ("rm -rf ~; test -e new.txt", "not_run")]
    shown = trial.expect(0, "show", "c")
    assert "criterion $ test -e new.txt: exit 0 (" in shown
    assert "criterion $ rm -rf ~; test -e new.txt: not run: nobody agreed to it on this machine" in shown
    assert "1 not run" in trial.expect(0, "report")
    planned(trial, d=["$ test -e other.txt", "$ echo fine"])
    said = agreed(trial, "$ test -e other.txt", "$ echo fine    can only succeed", yes=False)
    # Before its agent starts, and once.
    assert said.index("Run them?") < said.index("completed d") < said.index("not run: nobody agreed")
    assert said.count("Run them? No") == 1
    assert verdicts(trial, "d") == [("test -e other.txt", "not_run"), ("echo fine", "not_run")]


def test_what_is_not_run_has_not_passed(trial: Trial, tmp_path: Path) -> None:
    ran = f"$ touch {tmp_path}/ran"
    planned(trial, a=[ran])
    trial.configure({"check.mode": "gate"})
    trial.expect(0, "execute", "--no-input")
    assert fact(trial.records("a")[-1], "evidence") is None
    trial.configure({"check.criteria": "true", "execution.commit": "checked"})
    planned(trial, aa=["It is good."], b=[ran, f"$ touch\u202e {tmp_path}/ran", "$ true\n$ false"])
    said = trial.expect(3, "execute", "--no-input")
    reason = "the criterion $ touch /"
    assert reason in said
    assert "is not run: nobody agreed to it on this machine" in said
    assert "is not run: it has characters that cannot be shown, or too many" in said
    assert {outcome for _, outcome in verdicts(trial, "b")} == {"not_run"}
    assert trial.statuses()["b"] == "waiting_user"
    assert fact(trial.records("aa")[-1], "evidence") is None
    assert not (tmp_path / "ran").exists()
    trial.expect(0, "decide", "b", "--approve", "--no-commit")
    assert trial.statuses()["b"] == "done"


def test_a_criterion_that_fails_goes_back_and_counts_where_the_change_lands(trial: Trial) -> None:
    trial.configure({"check.criteria": "true", "check.mode": "gate", "check.maxRounds": "1"})
    trial.command("cat >>seen; test ! -e tried || touch done.txt; touch tried")
    planned(trial, a=["$ test -e done.txt"])
    said = agreed(trial, "$ test -e done.txt")
    assert "criterion $ test -e done.txt of a failed: exit 1" in said
    assert "criterion $ test -e done.txt of a ended: exit 0" in said
    assert "The criterion $ test -e done.txt of your change failed (exit 1): test -e done.txt" in (
        trial.repo / "seen"
    ).read_text().replace("\\n", "\n")
    trial.command("echo x >x.txt; rm -f old.txt")
    planned(trial, b=["$ test -e done.txt", "$ test ! -e old.txt"])
    trial.configure({"execution.worktrees": "true"})
    said = trial.expect(3, "execute", "--no-input")
    assert verdicts(trial, "b") == [("test -e done.txt", "passed"), ("test ! -e old.txt", "not_run")]
    assert (trial.repo / "old.txt").exists()
    trial.expect(0, "decide", "b", "--approve")
    assert not (trial.repo / "old.txt").exists()


def test_no_repository_switches_them_on(trial: Trial) -> None:
    (trial.repo / ".blackbird").mkdir(exist_ok=True)
    (trial.repo / ".blackbird/config.json").write_text(json.dumps({"check": {"criteria": True}}))
    planned(trial, a=[HAS_NEW])
    said = trial.expect(0, "execute", "--no-input")
    assert "check.criteria: ignored: a repository's own file must not choose" in said
    assert fact(trial.records("a")[-1], "evidence") is None
