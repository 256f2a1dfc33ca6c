"""``status --conflicts``: what would conflict, of changes that have not landed."""

import json
from pathlib import Path

import pytest

from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.messages.display.checkpoint import GOES_BACK
from tests.cli.ui.test_plain_and_json import run
from tests.controller.support import agree_to_agent, configure, leaf, open_at, put_plan
from tests.support import commit, write
from tests.tui.driver import started


def test_changes_that_conflict_are_named_with_each_other_and_with_the_worktree(repo: Path) -> None:
    commit(repo, {"x.txt": "one\n", "y.txt": "one\n"})
    configure(repo, agent="demo", execution__jobs="3", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("a", "write x.txt a"), leaf("b", "write x.txt b"), leaf("c", "write y.txt c"))
    run(repo, "execute", "--no-input")
    write(repo, {"y.txt": "mine\n"})
    shown = run(repo, "status", "--conflicts")
    assert shown.stdout.endswith("\nconflicts\n  c and your worktree  y.txt\n  a and b  x.txt\n"), shown
    data = json.loads(run(repo, "status", "--conflicts", "--json").stdout)["data"]
    assert data["conflicts"] == [
        {"task": "c", "other": None, "paths": ["y.txt"]},
        {"task": "a", "other": "b", "paths": ["x.txt"]},
    ]
    assert json.loads(run(repo, "status", "--json").stdout)["data"]["conflicts"] is None


def test_no_conflicts_are_said_to_be_none(repo: Path) -> None:
    commit(repo, {"x.txt": "one\n"})
    put_plan(repo, leaf("a"))
    assert run(repo, "status", "--conflicts").stdout.endswith("none between changes that have not landed\n")


@pytest.mark.exhaustive
def test_agents_at_work_are_compared_as_they_are_now(repo: Path) -> None:
    commit(repo, {"x.txt": "one\n"})
    beside = repo.parent
    script = (
        f"cat >/dev/null; echo $BLACKBIRD_TASK_ID >x.txt; touch {beside}/$BLACKBIRD_TASK_ID.here; "
        f"until [ -e {beside}/go ]; do sleep 0.02; done"
    )
    configure(repo, agent="command", command__run=script, execution__jobs="2")
    agree_to_agent(repo)
    put_plan(repo, leaf("a"), leaf("b"))
    with started(repo, "execute", "--no-input") as program:
        while not all((beside / f"{name}.here").exists() for name in "ab"):
            assert program.poll() is None
        shown = run(repo, "status", "--conflicts").stdout
        (beside / "go").touch()
    assert shown.endswith("\nconflicts\n  a and b  x.txt\n"), shown
    assert f"    in {beside}/{repo.name}.worktrees/a\n" in shown


@pytest.mark.exhaustive
def test_what_sessions_left_unresolved_is_named_and_what_becomes_of_each_decision(repo: Path) -> None:
    commit(repo, {"a.txt": "one\n", "b.txt": "one\n"})
    script = 'cat >/dev/null; [ "$BLACKBIRD_RESUME" ] || echo theirs >$BLACKBIRD_TASK_ID.txt'
    configure(repo, agent="command", command__run=script, execution__jobs="2", landing__maxRounds="1")
    agree_to_agent(repo)
    put_plan(repo, leaf("a"), leaf("b"))
    run(repo, "execute", "--stop-after-each", "--no-input")
    write(repo, {"a.txt": "mine\n", "b.txt": "mine\n"})
    for is_resolved in (True, False):
        for task_id in "ab":
            remark = "" if is_resolved else f"  the conflict in {task_id}.txt is not resolved: {GOES_BACK}\n"
            with hold_controller(open_at(repo), "execute"):
                said = run(repo, "decide", task_id, "--approve").stdout
            decided, _, others = said.partition("another git-blackbird is running here: ")
            assert (decided, others.count("\n")) == (f"approved {task_id}\n{remark}", 1)
        ended = run(repo, "execute", "--jobs", "1", "--no-input").stdout
        assert ended.endswith("""decisions are due on a, b
next step: git blackbird decide a --approve    # or --request-changes -m TEXT, or --reject
next step: git blackbird decide b --approve    # or --request-changes -m TEXT, or --reject
next step: git blackbird decide    # asks for each
""")
    for task_id in "ab":
        assert (
            f"{task_id} has not landed: the conflict in {task_id}.txt is not resolved; sent back 1 of 1 "
            f"times (landing.maxRounds); resolve it in its worktree (`git blackbird worktrees open {task_id}"
            "` says where), and approve\n"
        ) in ended
    shown = run(repo, "status", "--conflicts").stdout
    assert shown.endswith("\nconflicts\n  a and your worktree  a.txt\n  b and your worktree  b.txt\n"), shown
