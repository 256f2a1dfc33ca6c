"""A kill, or a failure of the system, at each step of a command: nothing is lost, and all can be finished.

The suite strikes a few steps of each command; with ``BLACKBIRD_EVERY_STEP`` set, each is struck in both ways.
"""

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from git_blackbird.agents.process import signals
from git_blackbird.controller.change.status_changes import reset_task
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.engine.commands import ResumeRequest, resume_loop
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.proof import HunkVerdict
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.views.checkpoint import Checkpoint
from tests.controller.support import APPROVE, Person, execute, make_world, open_at, run_to_stop
from tests.crash.running import Ended, run, step_like, strike
from tests.crash.scenes import SCENES, Scene, ours
from tests.sampling import EVERY_STEP
from tests.support import git, wait_until

SHARES = 4
KINDS = ("kill", "fail")
# What the suite strikes: the first step of that scene that looks so.
SAMPLE: Mapping[str, Mapping[str, str]] = {
    "commit": {"kill": r"worker os\.rename .*/\.git/index\.lock", "fail": r"worker os\.link"},
    "install": {"fail": r"open .*/info/attributes"},
    "commit status": {"kill": r"main os\.rename .*/\.git/blackbird/tmp/\w+\.json"},
    "land and commit status": {"kill": r"main os\.rename .*/tmp/blackbird\.plan"},
    "undo status": {"kill": r"worker os\.utime .*/next\."},
    "redo status": {"fail": r"worker os\.link"},
    "execute": {"kill": r"os\.rename .*/tmp/blackbird\.plan"},
    "edit": {"fail": r"os\.fsync"},
    "redo": {"kill": r"worker os\.utime .*/next\."},
    "undo": {"kill": r"os\.replace|os\.rename .*/x\.txt|os\.(remove|unlink) .*x\.txt"},
    "check": {"kill": r"os\.rmdir .*/tmp/git-blackbird-\w+/head"},
    "land": {"kill": r"os\.(link|rename) .*x\.txt", "fail": r"os\.mkdir .*/work/repo/d"},
    "hook": {"kill": r"fcntl\.flock .*/store\.lock"},
    "prune": {"kill": r"os\.(remove|unlink) .*/blackbird/runs/a/"},
    "tell": {"kill": r"os\.rename .*/tmp/\w+\.json"},
    "take edits": {"kill": r"main os\.rename .*/tmp/blackbird\.plan"},
    "parent review": {"kill": r"os\.rename .*/tmp/p?t\.json"},
}
BUG = 70
# An agent that cannot be started is a stop of `execute`, which has other words than an error.
WAYS_OUT = ("hint: ", "next step", "this completes it: ")
_WORDS = re.compile(r"^(error|fatal|warning): |^cannot start the agent: |^this is half done; ", re.MULTILINE)


class Final(NamedTuple):
    """What must come out, however often a command was struck."""

    tasks: dict[str, tuple[str, str, Status, tuple[str, ...]]]
    decisions: frozenset[tuple[str, str, str | None]]
    told: frozenset[str]
    proven: tuple[Mapping[HunkVerdict, int], ...]
    commits: tuple[str, ...]
    staged: str
    changed: str
    contents: dict[str, str]


def final(repo: Path) -> Final:
    state = open_at(repo).plan_state()
    runs = [run for history in state.histories.values() for run in history.runs]
    contexts = str([run.context for run in runs])
    texts = {text for _, _, text in decisions(repo) if text}.union(
        *(run.messages_while_working for run in runs)
    )
    # A plan in git has times: that git sees no edit of ours in it is in what it calls changed.
    others = ("--", ".", ":!blackbird.plan.json")
    listed = git(repo, "ls-files", "--cached", "--others", "--exclude-standard", *others)
    return Final(
        {
            task.id: (task.title, str(task.parent), task.status, task.deps)
            for task in state.plan.tasks.values()
        },
        decisions(repo),
        frozenset(text for text in texts if text in contexts),
        tuple(run.evidence.proof.counts for run in runs if run.evidence and run.evidence.proof),
        tuple(git(repo, "log", "--format=%s%n%(trailers:key=Blackbird-Task)").splitlines()),
        git(repo, "ls-files", "-s", *others),
        git(repo, "status", "--porcelain"),
        {name: (repo / name).read_text() for name in listed.splitlines()},
    )


def decisions(repo: Path) -> frozenset[tuple[str, str, str | None]]:
    """What was decided, less what nobody decides: that a run was overtaken, or could not land yet."""
    histories = open_at(repo).plan_state().histories.values()
    return frozenset(
        (run.task_id, str(run.decision_state), run.decision_feedback)
        for history in histories
        for run in history.runs
        if run.decision_resolved_at is not None and not run.is_pending
        if run.worktree is None or run.has_landed
    )


class Approving(Person):
    """Approves whatever is shown."""

    async def decide(self, checkpoint: Checkpoint) -> Decision:
        return APPROVE

    async def answer(self, task: Task, questions: tuple[Question, ...]) -> Mapping[str, str]:
        return {question.id: "a" for question in questions}


def finish(repo: Path) -> None:
    """Do what is due until every task is done; where nothing was begun, there is nothing to finish."""
    for _ in range(12):
        commit_what_landed(repo)
        state = open_at(repo).plan_state()
        if not state.histories or all(task.status is Status.DONE for task in state.plan.tasks.values()):
            return
        execute(repo, Approving())
        state = open_at(repo).plan_state()
        owed = state.feedback
        for task in state.plan.leaves():
            latest = state.history(task.id).latest
            waits = latest is not None and latest.status in {RunStatus.PAUSED, RunStatus.WAITING_USER}
            if task.id in owed or waits:
                resume(repo, task.id)
            elif task.status is Status.FAILED:
                reset_task(open_at(repo), task.id)
    raise AssertionError(f"it could not be finished: {run(repo, ours('status')).said}")


def commit_what_landed(repo: Path) -> None:
    """Approve again what has landed and could not be committed, as its warning says."""
    for task_id, history in open_at(repo).plan_state().histories.items():
        if history.latest is not None and stage_of(history.latest) is Stage.NOT_COMMITTED:
            run(repo, ours("decide", task_id, "--approve"))


def resume(repo: Path, task_id: TaskId) -> None:
    """Resume a task, or start it anew if its agent was stopped before it had a session."""
    workspace = open_at(repo)
    before = workspace.plan_state().history(task_id).latest
    run_to_stop(workspace, resume_loop(workspace, Approving(), ResumeRequest(task_id)))
    if open_at(repo).plan_state().history(task_id).latest == before:
        run(repo, ours("restart", task_id, "--no-input"))


def again(repo: Path, scene: Scene) -> None:
    """Do what a person does who does not know whether the command went through."""
    completed = run(repo, scene.again, scene.typed)
    assert completed.code != BUG, completed.said
    assert "Traceback" not in completed.said, completed.said


def examine(repo: Path) -> None:
    """Show that git is not in anyone's way, and that all that is kept can be read."""
    open_workspace(make_world(repo))  # as any command does
    assert [path for path in locks(repo) if path.parent.name != "hooks"] == []
    git(repo, "update-index", "-q", "--refresh", "--force-write-index")
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""
    state = open_at(repo).plan_state()
    assert [history.faults for history in state.histories.values() if history.faults] == []


def gits_at_work(repo: Path) -> list[psutil.Process]:
    """Return the gits in a repository, or its worktrees, that have outlived the program that started them."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()
            if command and Path(command[0]).name == "git" and any(str(repo) in word for word in command):
                found.append(process)
    return found


def locks(repo: Path) -> list[Path]:
    """Name the locks of git, and of an install of the hook, which is in nobody's way."""
    found = (repo / ".git").rglob("*.lock")
    return [path for path in found if path.parent.name not in {"blackbird", "tasks"}]


def examine_words(ended: Ended, usual: Ended) -> None:
    """Show that an error is one of ours, with a way out."""
    assert ended.code != BUG, ended.said
    assert "Traceback" not in ended.said, ended.said
    if ended.code not in {0, usual.code}:
        assert _WORDS.search(ended.said), ended.said
        assert any(words in ended.said for words in WAYS_OUT), ended.said


def leftovers(repo: Path) -> Iterator[str]:
    """Name what is left though all is finished: agents, running records, temporary files, locks."""
    yield from map(str, locks(repo))
    state = open_at(repo).plan_state()
    for history in state.histories.values():
        for one in history.runs:
            if one.status is RunStatus.RUNNING:
                yield f"{one.id} is running"
            yield from (f"process {pid} of {one.id}" for pid in signals.marked(one.id))
    yield from map(str, repo.parent.glob("repo.worktrees/*"))
    yield from map(str, repo.parent.glob("tmp/git-blackbird-*"))
    if state.histories:
        yield from (str(path) for path in repo.glob(".*/**/tmp/*.tmp"))


class Prepared(NamedTuple):
    """The steps of a scene's command, and what comes of it undisturbed."""

    usual: Ended
    steps: tuple[str, ...]
    final: Final


def prepared(scene: Scene, place: Path) -> Prepared:
    # Each strike is made in a copy at the same place, by which linked worktrees are known.
    repo = place / "work" / "repo"
    (repo.parent / "tmp").mkdir(parents=True)
    scene.prepare(repo)
    shutil.copytree(repo.parent, place / "prepared", symlinks=True)
    ended, steps = strike(repo, scene.command, scene.typed)
    assert ended.code != BUG, ended.said
    assert steps, ended.said
    run(repo, scene.again, scene.typed)
    finish(repo)
    known = Prepared(ended, steps, final(repo))
    shutil.rmtree(repo.parent)
    return known


def struck(scene: Scene, known: Prepared, place: Path, at: str) -> None:
    """Strike one step, and show that nothing but that was amiss."""
    repo = place / "work" / "repo"
    shutil.copytree(place / "prepared", repo.parent, symlinks=True)
    before = decisions(repo)
    ended, steps = strike(repo, scene.command, scene.typed, at)
    wait_until(lambda: not gits_at_work(repo), "git does not end")
    try:
        examine(repo)
        if at.startswith("fail"):
            examine_words(ended, known.usual)
        kept = decisions(repo)
        assert before <= kept
        again(repo, scene)
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


def every_case() -> Iterator[tuple[str, str, int | None]]:
    """Return scene and kind of each test, and its share of the steps; None for the sample of the suite."""
    for name, kinds in SAMPLE.items():
        yield from ((name, kind, None) for kind in kinds)
    if EVERY_STEP:
        yield from ((name, kind, share) for name in SCENES for kind in KINDS for share in range(SHARES))


def chosen(steps: tuple[str, ...], name: str, kind: str, share: int | None) -> range:
    """Return the numbers of the steps that a test strikes."""
    if share is not None:
        return range(1 + share, len(steps) + 1, SHARES)
    first = step_like(steps, SAMPLE[name][kind])
    return range(first, first + 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "kind", "share"), list(every_case()))
def test_struck(
    name: str, kind: str, share: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, ours("--version"))  # what starts programs has its socket elsewhere
    # Folders of runs are struck as well.
    monkeypatch.setenv("TMPDIR", str(tmp_path / "work/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "work/tmp"))
    scene = SCENES[name]
    known = prepared(scene, tmp_path)
    broken = []
    for number in chosen(known.steps, name, kind, share):
        try:
            struck(scene, known, tmp_path, f"{kind}:{number}")
        except AssertionError as error:
            broken.append(str(error))
    assert not broken, f"{len(broken)} of {len(known.steps)} steps:\n" + "\n----\n".join(broken)
