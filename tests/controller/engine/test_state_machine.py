"""Random commands, agents and kills over small plans: whatever happens, everything can still be done.

``BLACKBIRD_EXAMPLES`` asks for more walks than the suite takes.
"""

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.controller.change.status_changes import reset_task, set_status
from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.controller.change.work.manual_commits import record_commit
from git_blackbird.controller.core.ui import Unanswered
from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.controller.engine.commands import (
    ResumeRequest,
    execute_loop,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.engine.recovery import recover, running_records
from git_blackbird.controller.engine.review_commands import dismiss_review, review_loop
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.change import Change, ends_change
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.change.stages import Due
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import queue
from git_blackbird.model.rules.reviews import (
    allows_done,
    current_review,
    feedback_of,
    latest_verdict,
    merged_or_none,
)
from git_blackbird.model.rules.scope import CallScope, next_item, review_stops
from git_blackbird.model.rules.state import PlanState, may_start
from git_blackbird.model.run.findings import FollowUp
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.parts import Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, Requester, ReviewState, RunStatus, RunType
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.events import Event, RunProgress, RunStarted
from tests.controller.killing import run_killed
from tests.controller.support import (
    APPROVE,
    QUIT,
    REJECT,
    Person,
    changes,
    configure,
    leaf,
    open_at,
    parent_of,
    put_plan,
    run_to_stop,
    store_at,
)
from tests.support import commit, git

AGENT = r"""#!/bin/sh
case "$1" in --version) echo "2.1.329 (Claude Code)"; exit 0;; esac
behaviour=$(cat "$(dirname "$0")/behaviour")
case "$behaviour$*" in lost*--resume*) echo "No conversation found with session ID: x" >&2; exit 1;; esac
prompt=$(cat)
succeeded='{"type":"result","subtype":"success","is_error":false,"result":'
working() {
  printf '{"type":"assistant","message":{"content":[{"type":"text","text":"working"}]}}\n'; sleep 600
}
case "$*" in *--json-schema*)
  verdict=$(cat "$(dirname "$0")/verdict-$BLACKBIRD_TASK_ID" 2>/dev/null || echo '{"passed":true}')
  printf '{"type":"system","subtype":"init","session_id":"x"}\n'
  case "$verdict" in
    crash) exit 3;;
    work) working;;
    {*) printf "$succeeded"'"","structured_output":%s,' "$verdict";;
    *) printf "$succeeded"'"fine",';;
  esac
  printf '"session_id":"x","usage":{"input_tokens":1,"output_tokens":1}}\n'; exit 0;;
esac
case "$*" in *--no-session-persistence*)
  case "$prompt" in *"<spec-review>"*) kind=spec;; *) kind=code;; esac
  opinion=$(cat "$(dirname "$0")/opinion-$kind" 2>/dev/null || echo approves)
  printf '{"type":"system","subtype":"init","session_id":"x"}\n'
  tell() {
    printf "$succeeded"'"<%s-review><verdict>%s</verdict><issues>%s</issues></%s-review>",' \
      "$kind" "$1" "$2" "$kind"
  }
  case "$opinion" in
    crash) exit 3;;
    work) working;;
    approves) tell APPROVED "";;
    wants) tell ISSUES "<issue type='bug' severity='critical'><description>more</description></issue>";;
    *) printf "$succeeded"'"I approve.",';;
  esac
  printf '"session_id":"x","usage":{"input_tokens":1,"output_tokens":1}}\n'; exit 0;;
esac
while [ "$1" != --session-id ] && [ "$1" != --resume ]; do shift; done
say() { printf '{"type":"result","subtype":"success","is_error":%s,"result":"%s",' "$1" "$2"
        printf '"session_id":"%s",' "$3"
        printf '"usage":{"input_tokens":1,"output_tokens":%s}}\n' "$4"; }
printf '{"type":"system","subtype":"init","session_id":"%s"}\n' "$2"
case "$behaviour" in
  away) say true "Not logged in. Please run /login" "$2" 0; exit 1;;
  pause) working;;
  fail) echo half >>"half-$BLACKBIRD_TASK_ID"; say true "API Error: 500" "$2" 1; exit 1;;
  ask) say false '{\"questions\":[{\"id\":\"q\",\"prompt\":\"Which?\"}]}' "$2" 1;;
  *) for file in out-*; do test -f "$file" && sed -i '/^[<|=>]\{7\}/d' "$file"; done
     echo done >>"out-$BLACKBIRD_TASK_ID"; say false ok "$2" 1;;
esac
"""
PLANS = {
    "leaf": (leaf("a"),),
    "chain": (leaf("a"), leaf("b", deps=["a"])),
    "parent": (
        parent_of("p", ["a", "b"]),
        leaf("a", parent="p"),
        leaf("b", parent="p"),
        leaf("c", deps=["p"]),
    ),
    "deep": (
        parent_of("q", ["p", "b"]),
        replace(parent_of("p", ["a"]), parent=TaskId("q")),
        leaf("a", parent="p"),
        leaf("b", parent="q"),
        leaf("c", deps=["q"]),
    ),
}
CHILDREN = {"parent": {"p": ["a", "b"]}, "deep": {"p": ["a"], "q": ["p", "b"]}}
EXAMPLES = int(os.environ.get("BLACKBIRD_EXAMPLES", "3"))  # read before the tests are sealed
BEHAVIOURS = st.sampled_from(["pause", "ask", "ok", "fail", "lost", "away"])
REPLIES = st.sampled_from(["changes", "nobody", "approve", "reject", "quit", "leave"])
REPLIES_OF: dict[str, Decision] = {"approve": APPROVE, "changes": APPROVE, "quit": QUIT, "reject": REJECT}
WAITING = frozenset({RunStatus.WAITING_USER, RunStatus.PAUSED})
EARLIER = frozenset(
    {Due.DECIDE, Due.REQUEST, Due.REVIEW, Due.REVIEW_PARENT, Due.REVIEW_AGAIN, Due.CONTINUE, Due.ASK_PAUSED}
)
STUCK = frozenset({Status.FAILED, Status.WAITING_USER, Status.IN_PROGRESS})
TASKS = st.sampled_from(["a", "a", "a", "b", "c", "p"])
PARENTS = st.sampled_from(["p", "p", "q"])
REVIEWED = st.sampled_from(["p", "p", "q", "a"])
OPINIONS = st.sampled_from(["approves", "approves", "wants", "prose", "crash", "work"])
VERDICTS = st.sampled_from(["pass", "first", "last", "all", "prose", "crash", "work"])
# What person and agents write: nothing else is ever beside it.
SEEN = {
    ".git",
    ".blackbird",
    "a.txt",
    "blackbird.plan.json",
    *(f"{kind}-{task}" for kind in ("out", "half") for task in "abcpq"),
}
CHECKS = {"passes": "true", "fails": "false", "is broken": "no-such-program", "is missing": ""}
STATUSES = st.sampled_from([Status.TODO, Status.DONE, Status.SKIPPED, Status.SKIPPED])


def heard(state: PlanState, task_id: TaskId, review: str) -> bool:
    """Whether a run that finished the task was told what this review said."""
    return any(
        (run.context.get("parentReviewFeedback") or {}).get("reviewRunId") == review
        and ends_change(run)
        and run.superseded_at is None
        for run in state.history(task_id).work_runs
    )


def texts_in(value: object) -> Iterator[str]:
    """Every text in a JSON value, as it was before it was written down."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from texts_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)


def leave_as_go_does(repo: Path) -> None:
    """A parent that is done although its review failed, and what that left owed."""
    stamp = "2026-01-02T00:00:00.5Z"
    context = {"schemaVersion": 1}
    with store_at(repo).transaction() as transaction:
        plan = transaction.plan()
        done = {name: replace(plan.tasks[TaskId(name)], status=Status.DONE) for name in "pab"}
        transaction.save_plan(plan.replaced(*done.values()))
        for number, name in enumerate("ab"):
            transaction.save_run(
                Run(
                    id=RunId(f"{number:016x}"),
                    task_id=TaskId(name),
                    provider="claude",
                    provider_session_ref="00000000-0000-4000-8000-000000000000",
                    started_at=stamp,
                    completed_at=stamp,
                    status=RunStatus.SUCCESS,
                    context=context,
                )
            )
        transaction.save_run(
            Run(
                id=RunId("f" * 16),
                task_id=TaskId("p"),
                run_type=RunType.REVIEW,
                provider="claude",
                started_at=stamp,
                completed_at=stamp,
                status=RunStatus.SUCCESS,
                context=context,
                parent_review_passed=False,
                parent_review_resume_task_ids=(TaskId("a"),),
                parent_review_feedback="left",
                parent_review_completion_signature="parent-review:v1:0",
            )
        )
        left = Feedback(
            parent_task_id=TaskId("p"),
            review_run_id=RunId("f" * 16),
            feedback="left",
            created_at=stamp,
            updated_at=stamp,
        )
        transaction.save_feedback(TaskId("a"), left)


class Player(Person):
    """A person who replies in one way, and presses Ctrl+C when an agent would work for ever."""

    def __init__(self, machine: "Machine", reply: str) -> None:
        super().__init__()
        self.machine, self.reply = machine, reply
        self.loop: Loop | None = None
        self.requests = 0
        self.plain = False

    def notify(self, event: Event) -> None:
        super().notify(event)
        if (
            isinstance(event, RunStarted)
            and event.run_type is RunType.EXECUTE
            and event.resumes is None
            and self.plain
        ):
            self.machine.check_start()
        if isinstance(event, RunProgress) and "working" in event.progress.text and self.loop is not None:
            asyncio.get_running_loop().call_soon(self.loop.interrupt)

    async def decide(self, checkpoint: Checkpoint) -> Decision | Unanswered | None:
        if self.reply == "changes" and checkpoint.request_blocked_reason is None and self.requests < 2:
            self.requests += 1
            return changes(self.machine.new_text())
        if self.reply == "leave" or self.shown_again(checkpoint):
            return Unanswered()
        return REPLIES_OF.get(self.reply)

    def shown_again(self, checkpoint: Checkpoint) -> bool:
        """Whether a change comes back too often, as where the person's own edits keep it from landing."""
        self.checkpoints.append(checkpoint)
        return [shown.run.id for shown in self.checkpoints].count(checkpoint.run.id) > 2

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | Unanswered | None:
        if self.reply in {"nobody", "leave"}:
            return None if self.reply == "nobody" else Unanswered()
        self.machine.behave("ok")
        return {question.id: "x" for question in questions}


class Machine(RuleBasedStateMachine):
    """The walk; its rules are what a person, an agent and a power cut can do."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="walk-"))
        self.repo = self.place / "repo"
        self.repo.mkdir()
        self.texts = 0
        self.decided: set[tuple[str, str]] = set()
        self.plan = ""
        self.reviews_by_hand = 0
        self.was_open = False
        self.set_by_hand: set[str] = set()

    @initialize(
        plan=st.sampled_from(sorted(PLANS)),
        checkpoints=st.booleans(),
        commits=st.booleans(),
        left_by_go=st.booleans(),
        reviews=st.booleans(),
        place=st.tuples(st.booleans(), st.sampled_from(sorted(CHECKS))),
    )
    def begin(
        self,
        plan: str,
        checkpoints: bool,
        commits: bool,
        left_by_go: bool,
        reviews: bool,
        place: tuple[bool, str],
    ) -> None:
        self.plan = plan
        git(self.repo, "init", "-q", "-b", "main")
        commit(self.repo, {"a.txt": "one\n"})
        (self.place / "claude").write_text(AGENT)
        (self.place / "claude").chmod(0o755)
        configure(self.repo, agent="claude", claude__path=str(self.place / "claude"))
        configure(
            self.repo, execution__stopGraceSeconds="0", execution__stopAfterEachTask=str(checkpoints).lower()
        )
        configure(self.repo, execution__commit="approved" if commits else "never")
        self.reviews_of_changes(reviews)
        configure(self.repo, reviews__maxIterations="2", check__mode="gate")
        self.places(place[0])
        self.check(place[1])
        put_plan(self.repo, *PLANS[plan])
        if left_by_go and plan == "parent":
            leave_as_go_does(self.repo)
            self.was_open = True

    def behave(self, behaviour: str) -> None:
        (self.place / "behaviour").write_text(behaviour)

    def judge(self, verdict: str) -> None:
        """Tell the reviewers what they find."""
        for parent, children in CHILDREN.get(self.plan, {}).items():
            flagged = {"first": children[:1], "last": children[-1:], "all": children}.get(verdict, [])
            told = {"passed": not flagged, "resumeTaskIds": flagged}
            told["feedbackForResume"] = self.new_text() if flagged else ""
            text = verdict if verdict in {"prose", "crash", "work"} else json.dumps(told)
            (self.place / f"verdict-{parent}").write_text(text)

    def new_text(self) -> str:
        self.texts += 1
        return f"wanted-{self.texts}."

    def state(self) -> PlanState:
        return open_at(self.repo).plan_state()

    def check_start(self) -> None:
        """No leaf starts while something earlier is due, nor before one that comes first in plan order."""
        state = self.state()
        self.check_plan_order(state)
        earlier = next_item(state, CallScope())
        assert earlier is None or earlier.due not in EARLIER, earlier
        assert earlier is not None or not review_stops(state, CallScope())
        self.check_parents(state)

    def check_plan_order(self, state: PlanState) -> None:
        for task in state.plan.leaves():
            run = state.history(task.id).live
            if run is not None and run.resumes is None:
                return
            assert not may_start(state, task), task.id

    def check_parents(self, state: PlanState) -> None:
        """No dependent of an unreviewed parent ever starts."""
        for task in state.plan.leaves():
            latest = state.history(task.id).live
            if latest is None or latest.resumes is not None or self.was_open:
                continue
            for dep in (state.plan.tasks[dep] for dep in task.deps):
                if dep.children and dep.id not in self.set_by_hand:
                    said = current_review(state.plan.tasks, dep, state.history(dep.id))
                    assert said is not None
                    assert allows_done(said)

    def play(self, player: Player, loop: Loop) -> None:
        player.loop = loop
        with contextlib.suppress(RequestError):
            run_to_stop(open_at(self.repo), loop)

    @rule(behaviour=BEHAVIOURS, reply=REPLIES)
    def execute(self, behaviour: str, reply: str) -> None:
        self.behave(behaviour)
        player = Player(self, reply)
        player.plain = True
        self.play(player, execute_loop(open_at(self.repo), player, [], None))

    @rule(task=TASKS, behaviour=BEHAVIOURS, words=st.booleans(), answer=st.booleans())
    def resume(self, task: str, behaviour: str, words: bool, answer: bool) -> None:
        self.behave(behaviour)
        player = Player(self, "approve")
        request = ResumeRequest(task, self.new_text() if words else None, {"q": "x"} if answer else {})
        self.play(player, resume_loop(open_at(self.repo), player, request))

    @rule(task=TASKS, behaviour=BEHAVIOURS, words=st.booleans())
    def restart(self, task: str, behaviour: str, words: bool) -> None:
        self.behave(behaviour)
        player = Player(self, "nobody")
        self.play(player, restart_loop(open_at(self.repo), player, task, self.new_text() if words else None))

    @rule(parent=PARENTS, behaviour=BEHAVIOURS, verdict=VERDICTS)
    def resume_all(self, parent: str, behaviour: str, verdict: str) -> None:
        self.behave(behaviour)
        self.judge(verdict)
        player = Player(self, "approve")
        with contextlib.suppress(RequestError):
            self.play(player, resume_all_loop(open_at(self.repo), player, parent))

    @rule(task=REVIEWED, verdict=VERDICTS)
    def review(self, task: str, verdict: str) -> None:
        self.judge(verdict)
        self.reviews_by_hand += 1
        player = Player(self, "nobody")
        self.play(player, review_loop(open_at(self.repo), player, task))

    @rule(parent=PARENTS)
    def dismiss(self, parent: str) -> None:
        with contextlib.suppress(RequestError):
            dismiss_review(open_at(self.repo), parent, "enough")

    @rule(on=st.booleans())
    def gate(self, on: bool) -> None:
        configure(self.repo, execution__parentReviewEnabled=str(on).lower())
        self.was_open = self.was_open or not on

    @rule(verdict=VERDICTS, spec=OPINIONS, code=OPINIONS)
    def reviewers_find(self, verdict: str, spec: str, code: str) -> None:
        self.judge(verdict)
        self.opine(spec, code)

    def opine(self, spec: str, code: str) -> None:
        """Tell the reviewers of changes what they find."""
        (self.place / "opinion-spec").write_text(spec)
        (self.place / "opinion-code").write_text(code)

    @rule(on=st.booleans())
    def reviews_of_changes(self, on: bool) -> None:
        configure(self.repo, reviews__mode="parallel" if on else "off")

    @rule(on=st.booleans())
    def places(self, on: bool) -> None:
        configure(self.repo, execution__worktrees=str(on).lower())

    @rule(verdict=st.sampled_from(sorted(CHECKS)))
    def check(self, verdict: str) -> None:
        configure(self.repo, check__command=CHECKS[verdict])

    @rule(task=TASKS)
    def undo(self, task: str) -> None:
        with contextlib.suppress(RequestError):
            undo_task(open_at(self.repo), task)

    @rule(task=TASKS)
    def redo(self, task: str) -> None:
        with contextlib.suppress(RequestError):
            redo_task(open_at(self.repo), task)

    @rule(task=TASKS)
    def edit(self, task: str) -> None:
        """Write a line where agents write theirs."""
        with (self.repo / f"out-{task}").open("a") as file:
            file.write(f"{self.new_text()}\n")

    @rule(task=TASKS)
    def do_by_hand(self, task: str) -> None:
        """Commit what a task asks for, and let the hook tell of it."""
        self.edit(task)
        git(self.repo, "add", f"out-{task}")
        git(self.repo, "commit", "-q", "-m", f"by hand\n\nBlackbird-Task: {task}", "--only", f"out-{task}")
        self.set_by_hand.add(task)
        record_commit(open_at(self.repo), git(self.repo, "rev-parse", "HEAD"), None)

    @rule(task=TASKS)
    def retry(self, task: str) -> None:
        with contextlib.suppress(RequestError):
            reset_task(open_at(self.repo), task)

    @rule(task=TASKS, status=STATUSES)
    def set_status(self, task: str, status: Status) -> None:
        self.set_by_hand.add(task)
        with contextlib.suppress(RequestError):
            set_status(open_at(self.repo), task, status)

    @rule(task=TASKS, reply=st.sampled_from(["approve", "reject", "changes"]))
    def decide(self, task: str, reply: str) -> None:
        decision = {"approve": APPROVE, "reject": REJECT, "changes": changes(self.new_text())}[reply]
        with contextlib.suppress(RequestError):
            record_decision(open_at(self.repo), task, decision)

    @rule(on=st.booleans())
    def checkpoints(self, on: bool) -> None:
        configure(self.repo, execution__stopAfterEachTask=str(on).lower())

    @rule(behaviour=BEHAVIOURS, reply=REPLIES, step=st.integers(1, 90))
    @precondition(lambda self: hasattr(os, "fork"))
    def power_cut(self, behaviour: str, reply: str, step: int) -> None:
        self.texts += 10
        run_killed(lambda: self.execute(behaviour, reply), step)

    @rule(
        task=TASKS,
        step=st.integers(1, 40),
        word=st.sampled_from(["undo", "redo", "do_by_hand", "resume", "restart"]),
    )
    def power_cut_of_a_command(self, task: str, step: int, word: str) -> None:
        actions = {
            "undo": lambda: self.undo(task),
            "redo": lambda: self.redo(task),
            "do_by_hand": lambda: self.do_by_hand(task),
            "resume": lambda: self.resume(task, "ok", words=False, answer=False),
            "restart": lambda: self.restart(task, "ok", words=False),
        }
        self.texts += 10
        self.set_by_hand.add(task)
        run_killed(actions[word], step)

    @rule(
        task=TASKS,
        step=st.integers(1, 12),
        word=st.sampled_from(["retry", "decide", "set_status", "dismiss"]),
    )
    def power_cut_between_writes(self, task: str, step: int, word: str) -> None:
        actions = {
            "retry": lambda: self.retry(task),
            "decide": lambda: self.decide(task, "approve"),
            "set_status": lambda: self.set_status(task, Status.TODO),
            "dismiss": lambda: self.dismiss("p"),
        }
        self.set_by_hand.add(task)
        run_killed(actions[word], step)

    @invariant()
    def everything_is_whole(self) -> None:
        if not (self.repo / "blackbird.plan.json").exists():
            return
        state = self.state()
        for history in state.histories.values():
            assert not history.faults
        self.nothing_owed_was_lost(state)
        self.nothing_was_committed_twice()
        self.git_is_in_order()
        self.verdicts_are_kept(state)
        self.nothing_missing_approves(state)
        decided = {
            (str(run.id), str(run.decision_state))
            for history in state.histories.values()
            for run in history.runs
            # What reviewers ask for, and cannot be told, becomes a person's decision.
            if run.decision_state not in {None, DecisionState.PENDING} and run.requested_by is None
        }
        assert self.decided <= decided
        self.decided = decided

    def verdicts_are_kept(self, state: PlanState) -> None:
        """A state of the children has one verdict, and what that left owed is owed until it was heard."""
        valid = [
            (str(run.task_id), run.parent_review_completion_signature)
            for history in state.histories.values()
            for run in history.runs
            if run.parent_review_passed is not None
        ]
        assert len(valid) - len(set(valid)) <= self.reviews_by_hand
        feedback = state.feedback
        for task_id, one in feedback.items():
            if state.plan.tasks[task_id].status == Status.DONE:
                assert not heard(state, task_id, one.review_run_id)
        for parent in (task for task in state.plan.tasks.values() if task.children):
            said = latest_verdict(state.history(parent.id))
            if said is None or allows_done(said):
                continue
            for task_id in feedback_of(state.plan, parent, said):
                assert (
                    feedback.get(task_id) is not None
                    or heard(state, task_id, said.id)
                    or task_id in self.set_by_hand
                )

    def nothing_missing_approves(self, state: PlanState) -> None:
        """A change whose reviews are over is either clear, sent back, or for a person."""
        for history in state.histories.values():
            for run in history.work_runs:
                merged = merged_or_none(run)
                if (
                    run.review_state is not ReviewState.DONE
                    or run.superseded_at is not None
                    or merged is None
                ):
                    continue
                if run.decision_state is None:
                    assert merged.action in {FollowUp.PROCEED, FollowUp.PROCEED_WITH_NOTES}
                if run.requested_by is Requester.REVIEWERS:
                    assert merged.action is FollowUp.FIX_AND_REREVIEW

    def git_is_in_order(self) -> None:
        """Show that git is in nobody's way, and that no two worktrees are at one place."""
        assert git(self.repo, "fsck", "--no-dangling") == ""
        git(self.repo, "status")
        listed = [
            line
            for line in git(self.repo, "worktree", "list", "--porcelain").splitlines()
            if line.startswith("worktree ")
        ]
        assert len(listed) == len(set(listed))
        assert not [place for place in self.repo.glob("*") if place.name not in SEEN]

    def nothing_was_committed_twice(self) -> None:
        named = git(self.repo, "log", "--format=%(trailers:key=Blackbird-Run,valueonly,separator=)").split()
        assert len(named) == len(set(named))

    def nothing_owed_was_lost(self, state: PlanState) -> None:
        """Where a run finished its task, that run's agent heard everything said since the last time."""
        for history in state.histories.values():
            last = history.newest
            if last is None or last.superseded_at is not None or not ends_change(last):
                continue
            if last.run_type is RunType.MANUAL:
                # A person did it, who was told nothing.
                continue
            told = last.prompt or "\n".join(texts_in(last.context))
            for run in Change.of(history).runs:
                if run.decision_state == DecisionState.CHANGES_REQUESTED:
                    assert (run.decision_feedback or "") in told
                assert (run.message or "") in told

    def teardown(self) -> None:
        try:
            if (self.repo / "blackbird.plan.json").exists():
                self.everything_can_be_done()
        finally:
            shutil.rmtree(self.place, ignore_errors=True)

    def everything_can_be_done(self) -> None:
        self.judge("pass")
        self.opine("approves", "approves")
        self.check("passes")
        for _ in range(40):
            self.repaired()
            state = self.state()
            if all(task.status == Status.DONE for task in state.plan.tasks.values()):
                return
            self.execute("ok", "approve")
            self.help_along(self.state())
        left = [(item.due, item.task.id, item.command) for item in queue(self.state())]
        raise AssertionError(f"stuck: {left}")

    def repaired(self) -> None:
        workspace = open_at(self.repo)
        with hold_controller(workspace, "test"):
            recover(workspace, Person(), CallScope())
        state = self.state()
        assert state.plan is state.saved
        assert not list(running_records(state.histories))

    def help_along(self, state: PlanState) -> None:
        """Do the one thing a person owes each task that is not done."""
        for task in state.plan.leaves():
            latest = state.history(task.id).latest
            if latest is not None and latest.status in WAITING:
                asked = latest.status is RunStatus.WAITING_USER
                self.resume(task.id, "ok", words=False, answer=asked)
            if latest is not None and latest.is_pending:
                # Approving may be refused where work from before was never committed: then a person does it.
                git(self.repo, "add", "-A")
                git(self.repo, "commit", "-q", "--allow-empty", "-m", "by hand")
                self.decide(task.id, "approve")
            if self.state().plan.tasks[task.id].status in STUCK:
                with contextlib.suppress(BlackbirdError):
                    reset_task(open_at(self.repo), task.id)
        for task_id in sorted(open_at(self.repo).plan_state().feedback):
            self.resume(task_id, "ok", words=False, answer=False)
            if task_id in open_at(self.repo).plan_state().feedback:
                self.restart(task_id, "ok", words=False)
        for task in state.plan.tasks.values():
            if task.status == Status.SKIPPED:
                set_status(open_at(self.repo), task.id, Status.TODO)


def test_from_every_state_everything_can_be_done(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
