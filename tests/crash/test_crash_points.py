"""A kill, or a failure of the system, at each step of a command: nothing is lost, and all can be finished.

The suite strikes a few steps of each command; with ``BLACKBIRD_EVERY_STEP`` set, each is struck in both ways.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from git_blackbird.agents import processes
from git_blackbird.controller.requests import ResumeRequest, reset_task, resume_loop
from git_blackbird.model.checkpoint import Checkpoint
from git_blackbird.model.choices import Decision
from git_blackbird.model.plan import Status
from git_blackbird.model.run import RunStatus
from tests.controller.killing import EVERY_STEP, leftover_files
from tests.controller.support import APPROVE, Person, execute, open_at, run_to_stop
from tests.crash.running import Ended, run, strike
from tests.crash.scenes import SCENES, Scene, ours
from tests.support import git

SHARES = 4 if EVERY_STEP else 1
STRIKES = 1
MODES = ("kill", "fail")
BUG = 70
KILLED = -9
_WORDS = re.compile(r"^(error|fatal|warning): ", re.MULTILINE)


class Final(NamedTuple):
    """What must come out, however often a command was struck."""

    tasks: dict[str, tuple[str, str, Status, tuple[str, ...]]]
    decisions: frozenset[tuple[str, str, str | None]]
    told: frozenset[str]
    commits: tuple[str, ...]
    files: str
    changed: str


def final(repo: Path) -> Final:
    image = open_at(repo).store.image()
    runs = [run for history in image.histories.values() for run in history.runs]
    return Final(
        {task.id: (task.title, str(task.parent), task.status, task.deps) for task in image.plan.tasks.values()},
        decisions(repo),
        frozenset(run.message for run in runs if run.message),
        tuple(git(repo, "log", "--format=%s%n%(trailers:key=Blackbird-Task)").splitlines()),
        git(repo, "ls-files", "-s"),
        git(repo, "status", "--porcelain"),
    )


def decisions(repo: Path) -> frozenset[tuple[str, str, str | None]]:
    """What was decided, less what nobody decides: that a run was overtaken."""
    histories = open_at(repo).store.image().histories.values()
    return frozenset(
        (run.task_id, str(run.decision_state), run.decision_feedback)
        for history in histories
        for run in history.runs
        if run.decision_resolved_at is not None
    )


class Approving(Person):
    """Approves whatever is shown."""

    async def decide(self, checkpoint: Checkpoint) -> Decision:
        return APPROVE


def finish(repo: Path) -> None:
    """Do what is due until every task is done; where nothing was begun, there is nothing to finish."""
    for _ in range(12):
        image = open_at(repo).store.image()
        if not image.histories or all(task.status is Status.DONE for task in image.plan.tasks.values()):
            return
        execute(repo, Approving())
        image = open_at(repo).store.image()
        owed = open_at(repo).standing(image).feedback
        for task in image.plan.leaves():
            if task.id in owed:
                workspace = open_at(repo)
                run_to_stop(workspace, resume_loop(workspace, Approving(), ResumeRequest(task.id)))
            elif task.status in {Status.FAILED, Status.WAITING_USER}:
                reset_task(open_at(repo), task.id)
    raise AssertionError(f"it could not be finished: {run(repo, ours('status')).said}")


def call(repo: Path, command: tuple[str, ...]) -> None:
    done = run(repo, command)
    assert done.code != BUG, done.said
    assert "Traceback" not in done.said, done.said


def examine(repo: Path) -> None:
    """Show that git is not in anyone's way, and that all that is kept can be read."""
    open_at(repo)
    locks = [str(path) for path in (repo / ".git").rglob("*.lock") if path.parent.name != "blackbird"]
    assert locks == []
    git(repo, "update-index", "-q", "--refresh", "--force-write-index")
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""
    image = open_at(repo).store.image()
    assert [history.faults for history in image.histories.values() if history.faults] == []


def examine_words(ended: Ended, usual: Ended) -> None:
    """Show that an error is one of ours, with a way out."""
    assert ended.code != BUG, ended.said
    assert "Traceback" not in ended.said, ended.said
    if ended.code not in {0, usual.code}:
        assert _WORDS.search(ended.said), ended.said
        assert "hint: " in ended.said, ended.said


def leftovers(repo: Path) -> Iterator[str]:
    """Name what is left though all is finished: agents, running records, temporary files."""
    image = open_at(repo).store.image()
    for history in image.histories.values():
        for one in history.runs:
            if one.status is RunStatus.RUNNING:
                yield f"{one.id} is running"
            yield from (f"process {pid} of {one.id}" for pid in processes.marked(one.id))
    if image.histories:
        yield from leftover_files(repo)


class Prepared(NamedTuple):
    """A scene's repository before its command, the steps of that, and what comes of it undisturbed."""

    repo: Path
    usual: Ended
    steps: tuple[str, ...]
    final: Final


def prepared(scene: Scene, place: Path) -> Prepared:
    repo = place / "original" / "repo"
    repo.parent.mkdir()
    scene.prepare(repo)
    undisturbed = place / "undisturbed" / "repo"
    shutil.copytree(repo, undisturbed, symlinks=True)
    ended, steps = strike(undisturbed, scene.command)
    assert ended.code != BUG, ended.said
    assert steps, ended.said
    run(undisturbed, scene.again)
    finish(undisturbed)
    return Prepared(repo, ended, steps, final(undisturbed))


def struck(scene: Scene, known: Prepared, place: Path, at: str) -> None:
    """Strike one step, and show that nothing but that was amiss."""
    repo = place / "struck" / "repo"
    shutil.copytree(known.repo, repo, symlinks=True)
    before = decisions(repo)
    ended, steps = strike(repo, scene.command, at)
    try:
        examine(repo)
        if at.startswith("fail"):
            examine_words(ended, known.usual)
        kept = decisions(repo)
        assert before <= kept
        call(repo, scene.again)
        finish(repo)
        assert kept <= decisions(repo)
        assert final(repo) == known.final
        assert list(leftovers(repo)) == []
    except AssertionError as error:
        number = int(at.partition(":")[2])
        step = steps[number - 1] if number <= len(steps) else "never reached"
        raise AssertionError(f"{at} of {len(known.steps)}: {step}\n{ended}\n{error}") from error
    finally:
        shutil.rmtree(repo.parent)


def chosen(total: int, share: int) -> range:
    if EVERY_STEP:
        return range(1 + share, total + 1, SHARES)
    return range(1, total + 1)


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SCENES)
def test_struck(name: str, mode: str, share: int, tmp_path: Path) -> None:
    scene = SCENES[name]
    known = prepared(scene, tmp_path)
    broken = []
    for number in chosen(len(known.steps), share):
        try:
            struck(scene, known, tmp_path, f"{mode}:{number}")
        except AssertionError as error:
            broken.append(str(error))
    report = os.environ.get("CRASH_REPORT")
    if report:
        with open(report, "a") as file:
            file.write(json.dumps([name, mode, share, len(known.steps), len(broken), broken]) + "\n")
    assert not broken, f"{len(broken)} broken:\n" + "\n----\n".join(broken)
