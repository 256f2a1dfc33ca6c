"""Planning with an agent on a terminal, as programs see it, and when it is stopped or killed."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from git_blackbird.agents.process import signals
from git_blackbird.model.base.ids import PLANNING
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason
from tests.cli.golden_harness import store_at
from tests.cli.terminal import ALT_ENTER, CTRL_C, ENTER, Terminal
from tests.trial.program import Trial

CHOICES = "3) Edit it as a page"


@pytest.fixture
def trial(repo: Path) -> Trial:
    trial = Trial(repo, {"BLACKBIRD_AGENT_PROVIDER": "demo"})
    trial.init()
    return trial


def titles(repo: Path) -> list[str]:
    return [task.title for _, task in store_at(repo).plan().walk()]


def runs_at(repo: Path) -> tuple[Run, ...]:
    return store_at(repo).records.history(PLANNING).runs


def planning(repo: Path, request: str, *options: str, editor: str = "true") -> Terminal:
    environ = {"BLACKBIRD_AGENT_PROVIDER": "demo", "GIT_EDITOR": editor}
    return Terminal(repo, "plan", "generate", "-m", request, *options, environ=environ)


def editor_script(repo: Path, *lines: str) -> str:
    path = repo.parent / "editor"
    path.write_text("\n".join(["#!/bin/sh", "set -e", *lines, ""]))
    path.chmod(0o755)
    return shlex.quote(str(path))


@pytest.mark.exhaustive
def test_questions_revision_and_consent_lead_to_a_plan(repo: Path, trial: Trial) -> None:
    del trial
    request = "ask db Which database? | sqlite | mysql\n- Use it | With the database."
    with planning(repo, request) as terminal:
        terminal.wait_to_see("The planner asks")
        terminal.wait_to_see("3) Other...")
        terminal.type("2", ENTER)
        terminal.wait_to_see(CHOICES)
        assert "use-it  Use it" in terminal.text
        terminal.type("2", ENTER)
        terminal.wait_to_see("What should be different")
        terminal.type("- Docs", ALT_ENTER)
        terminal.wait_to_see("docs  Docs")
        terminal.wait_for(CHOICES, times=2)
        terminal.type("1", ENTER)
        terminal.wait_to_see("the plan is changed")
        assert terminal.end() == 0
    assert titles(repo) == ["Use it", "Docs"]
    told = [run.context for run in runs_at(repo)]
    assert [one["answers"] for one in told] == [[], *[[{"id": "db", "value": "mysql"}]] * 2]
    assert [one["planning"].get("change") for one in told] == [None, None, "- Docs"]
    assert all(run.status is RunStatus.SUCCESS and not run.has_changed_files for run in runs_at(repo))


def test_enter_changes_nothing_and_the_proposal_is_taken_up_later(repo: Path, trial: Trial) -> None:
    trial.environ["GIT_EDITOR"] = editor_script(repo, 'printf "## Lost\\nafter: Nothing\\n" >"$1"')
    # A page that was left before it is offered after it.
    trial.expect(1, "edit", "--plan")
    with planning(repo, "- Use it | With the database.") as terminal:
        terminal.wait_to_see(CHOICES)
        terminal.type(ENTER)
        terminal.wait_to_see("nothing was changed")
        assert terminal.end() == 1
    assert titles(repo) == []
    trial.environ["GIT_EDITOR"] = editor_script(repo, 'sed -i "s/## Use it/## Use it well/" "$1"')
    with Terminal(repo, "add", environ=trial.environ) as terminal:
        assert terminal.end() == 0
    assert titles(repo) == ["Use it well"]


@pytest.mark.exhaustive
def test_a_proposal_is_edited_as_a_page(repo: Path, trial: Trial) -> None:
    trial.expect(0, "add", "First")
    trial.environ["GIT_EDITOR"] = "true"
    editor = editor_script(repo, 'grep -q "id: use-it" "$1"', 'sed -i "s/^## First/## The first/" "$1"')
    # An earlier page that was left is not what is edited.
    with planning(repo, "- Other") as terminal:
        terminal.wait_to_see(CHOICES)
        terminal.type(ENTER)
        assert terminal.end() == 1
    with planning(repo, "- Use it | With the database.", editor=editor) as terminal:
        terminal.wait_to_see(CHOICES)
        terminal.type("3", ENTER)
        terminal.wait_to_see("added use-it")
        terminal.wait_to_see("updated first: title")
        assert terminal.end() == 0
    assert titles(repo) == ["The first", "Use it"]


def test_what_cannot_be_accepted_is_no_choice(repo: Path, trial: Trial) -> None:
    trial.expect(0, "add", "First")
    with planning(repo, "- First\n- Second\nafter second third") as terminal:
        terminal.wait_to_see("first is there already")
        terminal.wait_to_see("- Accept it")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert titles(repo) == ["First"]


@pytest.mark.exhaustive
def test_what_others_changed_meanwhile_stays(repo: Path, trial: Trial) -> None:
    trial.expect(0, "add", "First")
    trial.expect(0, "add", "Second")
    meanwhile = [
        ([["edit", "first", "--prompt", "Theirs."], ["delete", "second"]], 0, "the plan is changed"),
        ([["edit", "first", "--title", "Theirs"]], 1, "changed by someone else meanwhile: title"),
    ]
    for number, (commands, code, said) in enumerate(meanwhile):
        request = f"set first title Mine {number}"
        with Terminal(repo, "plan", "refine", "-m", request, environ=trial.environ) as terminal:
            terminal.wait_to_see(CHOICES)
            for command in commands:
                trial.expect(0, *command)
            terminal.type("1", ENTER)
            terminal.wait_to_see(said)
            assert terminal.end() == code
        (task,) = store_at(repo).plan().tasks.values()
        assert (task.title, task.prompt) == (("Mine 0", "Theirs")[code], "Theirs.")


def test_a_proposal_survives_what_is_asked_of_it_in_vain(repo: Path, trial: Trial) -> None:
    del trial
    with planning(repo, "- Use it") as terminal:
        for wish in ("- Docs", "- More", "fail 3"):
            terminal.wait_to_see(CHOICES)
            terminal.type("2", ENTER)
            # The one that is open is the last thing there.
            terminal.wait_to_match(r"\(Alt\+Enter or Ctrl\+S sends.*(\n.*){0,2}\Z")
            terminal.type(wish, ALT_ENTER)
        terminal.wait_to_see("no plan was made: told to fail")
        assert terminal.end() == 1
    assert [run.context["planning"].get("change") for run in runs_at(repo)][-1] == "- Docs\n- More\nfail 3"
    page = (repo / ".git/blackbird/drafts/.new.md").read_text()
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Use it",
        "## Docs",
        "## More",
    ]


@pytest.mark.exhaustive
def test_the_description_is_written_in_the_editor_and_kept_until_it_is_used(repo: Path, trial: Trial) -> None:
    del trial
    environ = {"BLACKBIRD_AGENT_PROVIDER": "demo", "GIT_EDITOR": editor_script(repo, 'echo "- Docs" >>"$1"')}
    draft = repo / ".git/blackbird/drafts/texts/.plan/message.md"
    with Terminal(repo, "plan", "generate", environ=environ) as terminal:
        terminal.wait_to_see(CHOICES)
        terminal.type(ENTER)
        assert terminal.end() == 1
    assert draft.read_text() == "- Docs\n"
    with Terminal(repo, "plan", "generate", "--yes", environ={**environ, "GIT_EDITOR": "true"}) as terminal:
        assert terminal.end() == 0
    assert (titles(repo), draft.exists()) == (["Docs"], False)


def wait_for_run(repo: Path) -> Run:
    deadline = time.monotonic() + 30
    while not (found := [run for run in runs_at(repo) if run.status is RunStatus.RUNNING]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found[0]


def end(process: subprocess.Popen[str], number: signal.Signals) -> int:
    process.send_signal(number)
    process.communicate(timeout=30)
    return process.returncode


def test_ctrl_c_stops_the_agent(repo: Path, trial: Trial) -> None:
    process = trial.start("plan", "generate", "-m", "sleep 60\n- A", "--yes")
    run = wait_for_run(repo)
    assert end(process, signal.SIGINT) == 130
    (closed,) = runs_at(repo)
    assert closed.terminal_reason is TerminalReason.INTERRUPTED
    assert (titles(repo), signals.marked(run.id)) == ([], [])


def test_what_a_killed_call_left_is_stopped_and_closed_by_the_next(repo: Path, trial: Trial) -> None:
    process = trial.start("plan", "generate", "-m", "sleep 60\n- A", "--yes")
    run = wait_for_run(repo)
    end(process, signal.SIGKILL)
    said = trial.expect(0, "execute")
    assert f".plan: planning in run {run.id} was interrupted" in said
    (closed,) = runs_at(repo)
    assert (closed.status, closed.terminal_reason) == (RunStatus.FAILED, TerminalReason.CONTROLLER_LOST)
    assert (titles(repo), signals.marked(run.id)) == ([], [])
    process = trial.start("plan", "generate", "-m", "sleep 60\n- A", "--yes")
    run = wait_for_run(repo)
    end(process, signal.SIGKILL)
    said = trial.expect(0, "plan", "generate", "-m", "- B", "--yes")
    assert f"planning in run {run.id} was interrupted" in said
    assert (titles(repo), signals.marked(run.id)) == (["B"], [])
    assert not list(Path(os.environ["TMPDIR"]).glob(f"*{run.id}*"))


def test_an_agent_that_writes_is_seen_and_changes_no_plan(repo: Path, trial: Trial) -> None:
    """The command works in a copy; it may still reach the plan by its path."""
    plan = repo / "blackbird.plan.json"
    answer = json.dumps({"tasks": [{"title": "A", "criteria": ["it is"]}], "remarks": "I wrote \x1b[31mtoo."})
    writes = f"echo > made.txt; echo '{{}}' > {shlex.quote(str(plan))}"
    script = f"cat >/dev/null; {writes}; printf %s {shlex.quote(answer)}"
    trial.environ = {"BLACKBIRD_AGENT_CMD": script}
    trial.configure({"command.schema": "true"})
    said = trial.expect(0, "plan", "generate", "-m", "A", "--yes")
    assert "remark: I wrote too." in said
    assert titles(repo) == ["A"]
    assert not (repo / "made.txt").exists()
    assert "the plan was made invalid during the run" in trial.expect(0, "runs", ".plan", runs_at(repo)[0].id)


def test_prose_around_a_plan_is_no_matter_and_two_plans_are_none(repo: Path, trial: Trial) -> None:
    trial.configure({"command.schema": "true", "planning.maxPlanAutoRefinePasses": "0"})
    one = 'Here it is:\n```json\n{"tasks": [{"title": "A", "criteria": ["it is"]}]}\n```\nFine?'
    for text, code in ((one + one.replace("A", "B"), 1), ('{"tasks": [', 1), (one, 0)):
        trial.environ = {"BLACKBIRD_AGENT_CMD": f"cat >/dev/null; printf %s {shlex.quote(text)}"}
        trial.expect(code, "plan", "generate", "-m", "A", "--yes")
    assert titles(repo) == ["A"]


@pytest.mark.exhaustive
def test_an_agent_that_always_asks_is_asked_no_third_time(repo: Path, trial: Trial) -> None:
    trial.configure({"command.schema": "true"})
    answer = '{"tasks": [], "questions": [{"id": "q", "prompt": "Again?"}]}'
    script = f"cat >/dev/null; printf %s {shlex.quote(answer)}"
    with Terminal(repo, "plan", "generate", "-m", "A", environ={"BLACKBIRD_AGENT_CMD": script}) as terminal:
        terminal.wait_to_see("Start the agent")
        terminal.type("2", ENTER)
        for number in (1, 2):
            terminal.wait_for("The planner asks", times=number)
            terminal.wait_to_match(r"\? q:\Z")
            terminal.type("yes", ENTER)
        terminal.wait_to_see("asked again after 2 rounds")
        assert terminal.end() == 1
    assert (titles(repo), len(runs_at(repo))) == ([], 3)
