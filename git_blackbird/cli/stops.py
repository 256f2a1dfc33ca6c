"""How a call's end is shown, and what would be or was done."""

from collections.abc import Iterator
from typing import Any

from git_blackbird.cli.output import Output, reader_may_leave
from git_blackbird.cli.step_data import step_data
from git_blackbird.controller.decide import Recorded
from git_blackbird.controller.forecast import Forecast
from git_blackbird.errors import ExitCode
from git_blackbird.messages.event_text import render_decided
from git_blackbird.messages.next_steps import render_next_steps
from git_blackbird.messages.review_text import render_failing, render_no_verdict
from git_blackbird.messages.undo_text import undo_lines
from git_blackbird.model.commands import runnable_steps
from git_blackbird.model.ids import RunId
from git_blackbird.model.plan import Task
from git_blackbird.model.recorded import plain
from git_blackbird.model.run import DecisionState
from git_blackbird.model.stop import Stop
from git_blackbird.model.text import clean_line

_THEN = {DecisionState.CHANGES_REQUESTED: "; `git blackbird execute` carries them out"}
_MAX_BLOCKED = 8
_LONGEST_LINE = 2000


def show_stop(output: Output, stop: Stop, told: frozenset[RunId] = frozenset()) -> ExitCode:
    """Say why the call ended and what to do next, less the reviews told already; gives the exit code."""
    with reader_may_leave():
        for line in _why(stop, told):
            output.say(line)
        _print_stop(output, stop)
    return stop.exit_code


def _why(stop: Stop, told: frozenset[RunId]) -> Iterator[str]:
    if not stop.held:
        yield from (clean_line(line, _LONGEST_LINE) for line in stop.text.splitlines())
    for one in stop.held:
        if one.run_id not in told:
            yield from (
                render_failing(one.task_id, one.resume, one.feedback)
                if one.fault is None
                else (render_no_verdict(one.task_id, one.fault),)
            )


def _print_stop(output: Output, stop: Stop) -> None:
    for line in render_next_steps(stop):
        output.say(line)
    for task_id, waits in sorted(stop.blocked.items())[:_MAX_BLOCKED]:
        output.say(f"blocked: {task_id} waits for {', '.join(waits)}")
    if len(stop.blocked) > _MAX_BLOCKED:
        output.say(f"and {len(stop.blocked) - _MAX_BLOCKED} more blocked (`git blackbird list --blocked`)")
    output.event("stop", _stop_data(stop))


def _stop_data(stop: Stop) -> dict[str, Any]:
    return {
        "reason": stop.reason.value,
        "text": stop.text,
        "task": stop.task_id,
        "nextSteps": runnable_steps(stop.next_steps),
        "steps": list(map(step_data, stop.next_steps)),
        "blocked": {task_id: list(waits) for task_id, waits in stop.blocked.items()},
        "held": [
            {
                "task": one.task_id,
                "run": one.run_id,
                "resume": list(one.resume),
                "feedback": one.feedback,
                "fault": one.fault,
            }
            for one in stop.held
        ],
        "exitCode": int(stop.exit_code),
    }


def show_forecast(output: Output, foreseen: Forecast) -> ExitCode:
    """Say what an execute would start, in order, if every task succeeded and every review passed."""
    order, stop = foreseen.order, foreseen.stop
    for number, (what, task) in enumerate(_steps(foreseen), start=1):
        output.say(f"{number}. {what}{task.id}  {clean_line(task.title)}")
    if not (order or foreseen.changes or foreseen.requests):
        output.say("nothing would be started")
    if stop is not None:
        for line in _why(stop, frozenset()):
            output.say(line)
        for line in render_next_steps(stop):
            output.say(line)
    output.data(
        {
            "wouldResume": [task.id for task in foreseen.resumed],
            "wouldStart": [task.id for task in order if task.is_leaf and task not in foreseen.continued],
            "wouldReview": [task.id for task in order if task.children],
            "wouldReviewChanges": [task.id for task in foreseen.changes],
            "stop": None if stop is None else _stop_data(stop),
        }
    )
    return ExitCode.OK


def _steps(foreseen: Forecast) -> Iterator[tuple[str, Task]]:
    """Yield what would be done, in order."""
    yield from (("resume of ", task) for task in foreseen.requests)
    yield from (("reviews of the change of ", task) for task in foreseen.changes)
    for task in foreseen.order:
        if task in foreseen.continued:
            yield "resume of ", task
        else:
            yield "review of " if task.children else "", task


def show_recorded(output: Output, recorded: Recorded) -> ExitCode:
    """Say what was decided, what moved since, and how a rejected change is taken back."""
    run = recorded.run
    if recorded.decided is not None:
        then = _THEN.get(recorded.decided.state, "")
        output.say(render_decided(recorded.decided) + then)
    for text in recorded.warnings:
        output.warn(text)
    for path in recorded.moved:
        output.say(f"  the worktree differs from the change in {clean_line(path)}")
    for line in undo_lines(recorded.undo):
        output.say(line)
    output.data(
        {
            "task": run.task_id,
            "run": run.id,
            "state": run.decision_state,
            "moved": list(recorded.moved),
            "undo": list(recorded.undo.commands),
            "undoLeaves": [plain(one) for one in recorded.undo.kept],
            "commit": None if recorded.commit is None else recorded.commit.oid,
        }
    )
    return ExitCode.OK
