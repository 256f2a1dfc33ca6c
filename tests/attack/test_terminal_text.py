"""No text of a record, a plan or a file reaches a terminal or a page with what a terminal acts on."""

import json
import re
from pathlib import Path
from typing import cast

import pytest

from git_blackbird.model.plan.plan import Task
from tests.attack.hostile import record, run_fields, states, task_fields
from tests.records import with_facts
from tests.support import commit, git, write
from tests.trial.program import Trial

COLOR = "\x1b[38;5;123m"
"""No colour of ours."""
HOSTILE = f"x\x1b]52;c;aGk=\x07{COLOR}y\x9b31m\u202e\u2066z\u200f\x85\u2028w\x7f\rv"
ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
STYLES = re.compile("\x1b\\[[0-9;]*m")
RUN = "01a2000000000001"
COMMANDS = (
    ("status",),
    ("list", "--all", "--tree"),
    ("show", "a"),
    ("show", "a", "--prompt"),
    ("runs",),
    ("runs", "a"),
    ("runs", "a", RUN),
    ("runs", "a", RUN, "--log"),
    ("runs", "a", RUN, "--log", "--raw"),
    ("runs", "a", RUN, "--diff"),
    ("runs", "a", "--diff"),
    ("review", "show", "a"),
    ("report",),
    ("worktrees",),
    ("execute", "--no-input", "--dry-run"),
    ("resume", "a", "--no-input"),
    ("decide", "a", "--approve"),
)
# What shows the state of a run, and what it is said to be.
OF_STATE = (("status",), ("show", "a"), ("runs", "a"), ("runs", "a", RUN), ("review", "show", "a"))


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"x": "1\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    trial.command("cat >/dev/null")
    return trial


def put(trial: Trial, fields: dict[str, object], *, ours: bool) -> None:
    top = trial.repo / (".git/blackbird" if ours else ".blackbird") / "runs/a"
    write(top, {f"{RUN}.json": json.dumps(record("a", RUN, fields))})


def hostile_change(repo: Path) -> dict[str, object]:
    """Make a change with hostile lines in hostile files; return the fields that name its trees."""
    before = git(repo, "rev-parse", "HEAD^{tree}")
    write(repo, {"x": f"{HOSTILE}\n", f"{HOSTILE}.txt": f"{HOSTILE}\n"})
    git(repo, "add", "x", "*.txt")
    after = git(repo, "write-tree")
    git(repo, "reset", "-q", "--hard")
    return {"base_tree": before, "head_tree": after}


def hostile_log(repo: Path) -> None:
    """Put what agents printed, as text and as the events of one that says what it does."""
    says = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": HOSTILE}]}}
    uses = {"type": "tool_use", "id": "c", "name": HOSTILE, "input": {HOSTILE: HOSTILE, "command": HOSTILE}}
    does = {"type": "assistant", "message": {"id": "n", "content": [uses]}}
    lines = "".join(json.dumps(event) + "\n" for event in (says, does))
    logs = {f"{RUN}.stdout": f"{lines}{HOSTILE}\n", f"{RUN}.stderr": f"{HOSTILE}\n"}
    write(repo / ".blackbird/runs/a/logs", logs)


def assert_harmless(said: str, command: tuple[str, ...]) -> None:
    found = ACTED_ON.search(said.replace("\0", ""))
    assert found is None, (command, said[max(0, found.start() - 200) : found.start() + 40])


@pytest.mark.parametrize(("ours", "names"), [(True, tuple(states(HOSTILE))), (False, ("pending",))])
def test_every_text_of_a_record_is_shown_cleaned(trial: Trial, ours: bool, names: tuple[str, ...]) -> None:
    fields = run_fields(HOSTILE)
    assert len(fields) + len(cast("dict[str, object]", fields["blackbird"])) > 25
    hostile_log(trial.repo)
    shown = 0
    for name in names:
        put(trial, states(HOSTILE)[name], ours=ours)
        for command in COMMANDS if name == "pending" else OF_STATE:
            code, said = trial.run(*command)
            assert code != 70, (command, said)
            assert_harmless(said, command)
            shown += said.count("xy") + said.count("aGk=")
        trial.expect(0, "report", "--html", "page.html")
        page = (trial.repo / "page.html").read_text()
        assert ACTED_ON.search(page) is None
    # What comes from elsewhere is named and counted.
    assert (shown > 20) if ours else shown == 0


def test_every_text_of_a_task_is_shown_cleaned(trial: Trial) -> None:
    put_hostile_task(trial)
    assert {"description", "prompt", "notes", "title", "acceptance_criteria"} <= set(Task.__annotations__)
    for command in COMMANDS:
        _, said = trial.run(*command)
        assert_harmless(said, command)


def put_hostile_task(trial: Trial) -> None:
    path = trial.repo / "blackbird.plan.json"
    plan = json.loads(path.read_bytes())
    plan["items"]["a"] |= task_fields(HOSTILE)
    path.write_text(json.dumps(plan))


@pytest.mark.exhaustive
@pytest.mark.parametrize("provider", ["command", "claude"])
def test_colours_are_those_of_the_program_alone(trial: Trial, provider: str) -> None:
    git(trial.repo, "config", "color.ui", "always")
    trial.environ["NO_COLOR"] = ""
    change = hostile_change(trial.repo)
    hostile_log(trial.repo)
    put_hostile_task(trial)
    colored: set[tuple[str, ...]] = set()
    for fields in states(HOSTILE).values():
        put(trial, with_facts(fields, **change, provider=provider), ours=True)
        for command in COMMANDS:
            _, said = trial.run(*command)
            assert COLOR not in said, (command, said)
            assert_harmless(STYLES.sub("", said), command)
            if STYLES.search(said):
                colored.add(command)
    assert colored >= {("status",), ("runs", "a"), ("runs", "a", "--diff")}, colored


@pytest.mark.parametrize("colored", ["true", "false"])
def test_a_diff_in_a_pager_that_git_started_is_cleaned(trial: Trial, colored: str) -> None:
    git(trial.repo, "config", "color.pager", colored)
    put(trial, with_facts(states(HOSTILE)["pending"], **hostile_change(trial.repo)), ours=True)
    trial.environ |= {"GIT_PAGER_IN_USE": "true", "TERM": "xterm"}
    said = trial.expect(0, "runs", "a", "--diff")
    assert_harmless(STYLES.sub("", said), ("runs",))
    assert "^[[38;5;123my" in said
    assert bool(STYLES.search(said)) is (colored == "true")


def test_a_diff_for_programs_is_the_patch_as_it_is(trial: Trial) -> None:
    put(trial, with_facts(states(HOSTILE)["pending"], **hostile_change(trial.repo)), ours=True)
    patch = trial.expect(0, "runs", "a", "--diff")
    assert f"+{HOSTILE}\n".replace("\r", "\n") in patch
