"""Checks with names and paths: a change runs those that it touches, a landing those that its merge does."""

import json
from pathlib import Path

import pytest

from tests.records import fact
from tests.support import commit
from tests.trial.program import Trial

CHECKS = {
    "api": ("api lock", "! grep -r bad api"),
    "web": ("./web/ lock", "! grep -r bad web"),
    "pages": ("**/*.md", "! grep -r bad README.md"),
}


@pytest.fixture
def trial(repo: Path, tmp_path: Path) -> Trial:
    """A repository of two parts and what both depend on, with a check for each part and one for pages."""
    files = {"api/a.py": "a\n", "web/w.py": "w\n", "lock": "1\n", "README.md": "read\n"}
    commit(repo, {**files, ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    for name, (paths, command) in CHECKS.items():
        noted = f"echo {name} >>{tmp_path}/ran; {command}"
        trial.configure({f"check.{name}.command": noted, f"check.{name}.paths": paths})
    return trial


def ran(tmp_path: Path) -> list[str]:
    """The checks that ran since this was asked last."""
    path = tmp_path / "ran"
    names = path.read_text().split() if path.exists() else []
    path.write_text("")
    return names


def verdicts(trial: Trial, task: str = "a") -> dict[str, str]:
    evidence = fact(trial.records(task)[-1], "evidence")
    return {check["name"]: check["outcome"] for check in evidence.get("checks", ())}


def test_landings_in_one_part_never_run_the_checks_of_the_other(trial: Trial, tmp_path: Path) -> None:
    tasks = [f"t{number:02}" for number in range(20)]
    trial.plan(dict.fromkeys(tasks, ()))
    trial.command('echo "$BLACKBIRD_TASK_ID" >"api/$BLACKBIRD_TASK_ID.py"')
    trial.configure({"check.mode": "gate", "check.slots": "8"})
    trial.expect(0, "execute", "--no-input", "--jobs", "4")
    assert all((trial.repo / "api" / f"{task}.py").exists() for task in tasks)
    names = ran(tmp_path)
    assert {*names} == {"api"}
    # Each on the change alone, and on the merge where that is another tree of these paths.
    assert 20 <= len(names) <= 40
    assert all(verdicts(trial, task) == {"api": "passed"} for task in tasks)


def test_a_change_runs_what_it_touches_and_nothing_twice(trial: Trial, tmp_path: Path) -> None:
    trial.plan({"a": (), "b": ("a",), "c": ("b",), "d": ("c",), "e": ("d",)})
    edits = {
        "a": "echo new >api/new.py",
        "b": "echo 2 >lock",
        "c": "echo page >web/page.md; echo new >other.txt",
        "d": "echo 1 >lock; rm api/new.py web/page.md",
        "e": "echo more >>other.txt",
    }
    trial.command(
        "\n".join(f'test "$BLACKBIRD_TASK_ID" != {task} || {{ {do}; }}' for task, do in edits.items())
    )
    said = trial.expect(0, "execute", "--no-input")
    assert "checking a, check api: echo api" in said
    assert "check api of a ended: exit 0 (" in said
    assert "e: no check is for its files" in said
    by_task = {task: verdicts(trial, task) for task in edits}
    assert by_task == {
        "a": {"api": "passed"},
        "b": {"api": "passed", "web": "passed"},
        "c": {"pages": "passed", "web": "passed"},
        "d": {"api": "passed", "pages": "passed", "web": "passed"},
        "e": {},
    }
    # What d left of web and of the pages nobody had looked at.
    assert ran(tmp_path) == ["api", "api", "web", "pages", "web", "api", "pages", "web"]
    trial.plan({"f": ()})
    trial.configure({"check.lib.command": "true", "check.lib.paths": "libs"})
    trial.command("rm other.txt; echo new >api/new.py")
    said = trial.expect(0, "execute", "--no-input")
    assert "check api of f ended: exit 0" in said
    assert "the check lib does not run: check.lib.paths names no file" in said
    assert ran(tmp_path) == []


def test_who_is_told_is_told_by_name(trial: Trial, tmp_path: Path) -> None:
    trial.plan({"a": ()})
    trial.configure({"check.mode": "gate", "check.maxRounds": "1", "check.command": "echo all; true"})
    trial.command("cat >>seen; echo bad >api/bad.py; echo bad >web/bad.py; echo more >>README.md")
    said = trial.expect(3, "execute", "--no-input")
    assert "check api of a failed: exit 1" in said
    sent = (trial.repo / "seen").read_text()
    assert all(f"The check {name} of your change failed (exit 1)" in sent for name in ("api", "web"))
    assert "The check pages" not in sent
    assert [*ran(tmp_path)].count("pages") == 2
    assert (trial.repo / "README.md").read_text() == "read\nmore\nmore\n"
    status = trial.expect(0, "status")
    assert "its check api failed: exit 1; its check web failed: exit 1" in status
    shown = trial.expect(0, "show", "a")
    assert "\ncheck\n  exit 0 (" in shown
    assert all(f"\n  {text}" in shown for text in ("api: failed: exit 1\n", "pages: exit 0 (", "web: failed"))
    evidence = json.loads(trial.expect(0, "runs", "a", "--json"))["data"]["runs"][0]["evidence"]
    assert evidence["outcome"] == "failed"
    assert [check.get("name") for check in evidence["checks"]] == [None, "api", "pages", "web"]
    run = trial.records("a")[0]["id"]
    assert "check.api" in trial.expect(0, "runs", "a", run)


def test_a_name_is_part_of_a_key_and_no_repository_may_set_one(trial: Trial) -> None:
    shown = trial.expect(0, "config", "check.api.paths")
    assert '["api", "lock"]' in shown
    assert "check.docs.command  (unset)  default\n" in trial.expect(0, "config", "check.docs.command")
    rows = [line.split()[0] for line in trial.expect(0, "config").splitlines() if "check." in line]
    assert rows[-12:] == [f"check.{name}.{key}" for name in ("api", "pages", "web") for key in KEYS]
    assert "only succeed" in trial.expect(0, "config", "check.docs.command", "true")
    misspelt = trial.expect(2, "config", "check.docs.comand", "x")
    assert "unknown key check.docs.comand\nhint: did you mean check.docs.command?" in misspelt
    assert "unknown key check.mode.command" in trial.expect(2, "config", "check.mode.command", "x")
    trial.expect(0, "config", "--global", "check.mine.command", "make mine")
    assert "make mine" in trial.expect(0, "config", "check.mine.command")
    refused = trial.expect(1, "config", "--project", "check.mine.paths", "web")
    assert "cannot be set in a repository's own file" in refused
    theirs = {"schemaVersion": 1, "check": {"theirs": {"command": "touch ran"}}}
    (trial.repo / ".blackbird").mkdir(exist_ok=True)
    (trial.repo / ".blackbird/config.json").write_text(json.dumps(theirs))
    assert "ignored: a repository's own file must not choose" in trial.expect(
        0, "config", "check.theirs.command"
    )


KEYS = ("command", "paths", "results", "coverage")
