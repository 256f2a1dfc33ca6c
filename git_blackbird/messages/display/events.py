"""Events while agents run, as lines of text, and what an agent may do that is to start."""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from git_blackbird.messages.display.evidence import (
    NO_CHECK,
    check_details,
    check_word,
    lines_beside,
    proof_word,
)
from git_blackbird.messages.display.format import render_totals, review_word
from git_blackbird.messages.display.merged_review import review_lines
from git_blackbird.messages.display.quantities import counted, render_cost, render_duration, waiting_text
from git_blackbird.messages.display.reviews import render_failing, render_no_verdict, render_review_end
from git_blackbird.messages.document import Line, Style, block, line, plain, styled
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.next_steps import EXECUTE, Sentence
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.agent_io import Progress, ProgressKind, RightsQuestion, agent_in_text
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    APPROVALS,
    SUPERSEDED_BY_DELETE,
    SUPERSEDED_BY_RETRY,
    SUPERSEDED_BY_STATUS,
    DecisionState,
    Requester,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.run.summary import Summary
from git_blackbird.model.views.events import (
    CheckEnded,
    Decided,
    Event,
    LandingEnded,
    Level,
    LimitsHeld,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunPlaced,
    RunStarted,
)
from git_blackbird.model.views.stop import Stop

_DOES = frozenset({ProgressKind.READS, ProgressKind.EDITS, ProgressKind.RUNS})
# What was decided here, and elsewhere.
_DECIDED = {
    **dict.fromkeys(APPROVALS, ("approved {}", "{}: approved from another terminal")),
    DecisionState.CHANGES_REQUESTED: (
        "changes to {} requested",
        "{}: changes requested from another terminal",
    ),
    DecisionState.REJECTED: (
        "Rejected {}. Your files were left as they are.",
        "{}: rejected from another terminal",
    ),
}
_OVERTAKEN = {SUPERSEDED_BY_DELETE: "deleted", SUPERSEDED_BY_RETRY: f"set to {Status.TODO}"}
_WHY_PAUSED = {
    TerminalReason.TOLD: " for what it was told",
    TerminalReason.WALL_LIMIT: ": it reached its time limit",
    TerminalReason.IDLE_LIMIT: ": it printed nothing for too long",
    TerminalReason.BUDGET: ": its budget is spent",
    TerminalReason.AGENT_UNAVAILABLE: ": its agent is unavailable",
    TerminalReason.WORKER_LOST: ": its worker is gone",
    TerminalReason.NOT_STARTED: ": its agent was not started",
}


def render_event(event: Event, *, shows_checkpoints: bool = True) -> str | None:
    """Format an event on its lines; None for events too frequent for lines.

    What a checkpoint says of it as well is left to that, where one is shown.
    """
    return "\n".join(plain(map(line, _event_lines(event, shows_checkpoints=shows_checkpoints)))) or None


def _event_lines(event: Event, *, shows_checkpoints: bool) -> Iterable[str]:  # noqa: PLR0911  # a table
    match event:
        case RunStarted():
            about = "" if event.run_type is RunType.PLANNING else f" {event.task_id}"
            return (f"{_verb(event)}{about} (run {event.run_id}, {event.provider})",)
        case RunPlaced():
            return (f"{event.task_id} is worked on by {event.worker}",)
        case RunEnded():
            return _end_lines(event.run, event.seconds)
        case CheckEnded():
            return _check_lines(event, is_shown_later=shows_checkpoints and event.run.is_pending)
        case LandingEnded():
            return _landing_lines(event)
        case ReviewsEnded():
            return _reviews_lines(event)
        case Decided() if event.state in _DECIDED:
            return (render_decided(event),)
        case LimitsHeld(holds=(_, *_)):
            return (waiting_text(event.holds, event.now),)
        case Notice():
            return render_notice(event).split("\n")
        case _:
            return ()


def event_style(event: Event) -> Style:
    """Return the style of how an event ended, or of what it weighs."""
    match event:
        case RunEnded(run) if run.parent_review_passed is not False:
            return _ENDS.get(run.status, Style.WARNING)
        case RunEnded():
            return Style.WARNING
        case ReviewsEnded():
            return Style.PLAIN
        case Notice():
            return _WEIGHTS[event.weight]
        case _:
            return Style.HEADING


_ENDS = {RunStatus.SUCCESS: Style.DONE, RunStatus.FAILED: Style.FAULT}
_WEIGHTS = {Level.INFO: Style.PLAIN, Level.WARNING: Style.WARNING, Level.ERROR: Style.FAULT}


def render_decided(event: Decided) -> str:
    """Describe a decision, and what it committed."""
    text = _DECIDED[event.state][event.elsewhere]
    if event.is_of_failure and event.state in APPROVALS:
        where = " from another terminal" if event.elsewhere else ""
        text = f"accepted {{}} as it is{where}, though its run failed"
    if event.undoes:
        text = "Rejected {}."
    commit = event.commit
    if commit is None:
        return text.format(event.task_id)
    if commit.oid is None or not commit.paths:
        return f"{text.format(event.task_id)}; nothing was left to commit"
    return f"{text.format(event.task_id)}; committed {commit.oid[:12]} ({counted(commit.paths, 'path')})"


def overtaken_text(run: Run) -> str:
    """Return what a person did elsewhere with a task, which superseded the run shown here."""
    by = run.superseded_by or ""
    status = by.removeprefix(SUPERSEDED_BY_STATUS)
    what = f"superseded by {by}" if status == by else f"set to {status}"
    return f"{run.task_id}: {_OVERTAKEN.get(by, what)} from another terminal"


def render_told(run: Run, *, is_watched: bool) -> str:
    """Say what becomes of what a run was told; ``is_watched``: a call is at work, which stops it for that."""
    if is_watched:
        when = "at once" if run.stops_at_once else "when its present step ends, within a minute"
        paused = f"run {run.id} is paused for it {when}"
        return f"told {run.task_id}: {paused}, and goes on with it in its session"
    next_call = "so the next ", EXECUTE, " goes on with it in its session"
    return Sentence(f"told {run.task_id}: no call is at work, ", *next_call)


def _verb(event: RunStarted) -> str:
    if event.run_type is RunType.REVIEW:
        return "running parent review for"
    if event.run_type is RunType.PLANNING:
        return event.title
    if review := review_word(event.run_type):
        return f"running {review} of"
    if event.is_taken_up:
        return "taking up"
    return "starting" if event.resumes is None else "resuming"


def _end_lines(run: Run, seconds: float) -> Iterable[str]:
    """Describe the end of a run, on three lines for a failed review."""
    if run.is_of_change:
        # The findings of both reviewers are shown together later.
        end = f"finished ({render_duration(seconds)})"
        if run.status is not RunStatus.SUCCESS:
            end = f"gave no result: {run.error or 'it was stopped'}"
        return (f"{review_word(run.run_type)} of {run.task_id} {end}",)
    if run.run_type is RunType.REVIEW:
        return render_review_end(run, seconds)
    render = _render_planned if run.run_type is RunType.PLANNING else _render_work
    return (render(run, seconds),)


def _render_planned(run: Run, seconds: float) -> str:
    cost = (render_cost(run.cost_usd),) if run.cost_usd else ()
    took = ", ".join((render_duration(seconds), *cost))
    return f"planned ({took})" if run.error is None else f"planning failed ({took}): {run.error}"


def _render_work(run: Run, seconds: float) -> str:
    match run.status:
        case RunStatus.SUCCESS:
            changed = "no summary" if run.review_summary is None else _changed(run, run.review_summary)
            cost = (render_cost(run.cost_usd),) if run.cost_usd else ()
            return f"completed {run.task_id}: {', '.join((changed, *cost, render_duration(seconds)))}"
        case RunStatus.WAITING_USER:
            return f"{run.task_id} is waiting for user input"
        case RunStatus.PAUSED:
            why = _WHY_PAUSED.get(run.terminal_reason, "") if run.terminal_reason is not None else ""
            why = f": {run.provider} is at a usage limit" if run.limit is not None else why
            words = f": {run.error}" if run.error else ""
            return f"{run.task_id} is paused{why}{words}"
        case _:
            # The agent's refusal is not a failure of the task.
            word = "failed" if run.superseded_by is None else "could not run"
            return f"{word} {run.task_id}: {run.error or 'no reason was given'}"


def _changed(run: Run, summary: Summary) -> str:
    """Count what a run changed; one that changed nothing may continue a change."""
    nothing = run.tree_pair is not None and run.tree_pair.is_empty
    is_further = nothing and not run.no_change
    return "no further changes" if is_further else render_totals(summary)


def _check_lines(event: CheckEnded, *, is_shown_later: bool) -> Iterator[str]:
    """Return the verdict of the check, and who acts next."""
    for check in event.evidence.checks:
        yield f"{check.title} of {event.task_id}{' ended:' if check.is_bare else ''} {check_word(check)}"
    if not event.evidence.checks:
        yield f"{event.task_id}: {NO_CHECK}"
    if event.evidence.proof is not None and is_shown_later:
        yield f"hunks of {event.task_id}: {proof_word(event.evidence.proof)}"
    if event.run.requested_by is Requester.CHECK:
        yield f"changes to {event.task_id} requested by its check"
    if not is_shown_later:
        details = chain.from_iterable(map(check_details, event.evidence.checks))
        yield from (f"  {line}" for line in chain(details, lines_beside(event.evidence)))
    yield from (render_reason(reason) for reason in event.reasons)


def _landing_lines(event: LandingEnded) -> Iterator[str]:
    """Say that a change has landed, which in place is its commit alone, or who acts next."""
    run = event.run
    if run.has_landed:
        oid = None if event.commit is None else event.commit.oid
        word = "landed"
        if run.is_in_place:
            word = "committed" if oid else "nothing was left to commit of"
            word = "could not commit" if run.uncommitted_landing else word
        yield f"{word} {event.task_id}" + (f" (commit {oid[:12]})" if oid else "")
        yield from (f"  {reason}" for reason in event.reasons)
        return
    reasons = "; ".join(event.reasons)
    way = run.landing_words if run.is_pending else "goes back to its agent"
    yield f"{event.task_id} {way}: {reasons}"


def _reviews_lines(event: ReviewsEnded) -> Iterator[str]:
    """Return the result of both reviews, and who acts next."""
    yield from plain(review_lines(event.merged))
    run = event.run
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        number = f"round {run.review_round} of {event.max_rounds}"
        yield f"changes to {run.task_id} requested by its reviewers ({number})"
    yield from (render_reason(reason) for reason in event.reasons)


def render_verdicts(event: ReviewsEnded) -> str:
    """Return the result of both reviews on one line, if a checkpoint with all details follows."""
    sides = {"spec": event.merged.spec, "code": event.merged.code}
    verdicts = (f"{name} {'missing' if side is None else side.verdict.value}" for name, side in sides.items())
    return f"reviews of {event.task_id}: {', '.join(verdicts)}"


def render_reason(reason: str) -> str:
    """Return why a person is asked about a reviewed change."""
    return f"a decision is due: {reason}"


def render_step(step: Progress) -> str:
    """Describe what an agent does at present."""
    return line(f"{step.kind} {step.text}" if step.kind in _DOES else step.text).text


def step_lines(step: Progress, prefix: str = "", most: int | None = None) -> Iterator[Line]:
    """Yield what an agent said, up to so many characters, or did; what it has spent is no step."""
    if step.kind is ProgressKind.SAYS:
        yield from block(f"{prefix}{step.text[:most].strip()}")
    elif step.kind is not ProgressKind.SPENDS:
        yield styled(prefix + render_step(step), Style.FAINT)


def render_notice(notice: Notice) -> str:
    """Format a notice like git's messages on standard error, with hints below."""
    word = "" if notice.weight is Level.INFO else f"{notice.weight.value}: "
    hints = "".join(f"\nhint: {way}" for way in notice.ways_out)
    return f"{word}{notice.text}{hints}"


def stop_lines(stop: Stop, shown: Collection[RunId] = ()) -> Iterator[Line]:
    """Yield why a call ended, with the failed reviews that were not shown already, and what is next."""
    if not stop.held:
        yield from (line(text) for text in stop.text.splitlines())
    for parent in stop.held:
        if parent.run_id in shown or (flagged := parent.flagged) is None:
            continue
        if flagged.fault is None:
            yield from map(line, render_failing(parent.task.id, flagged.resume, flagged.feedback))
        else:
            yield line(render_no_verdict(parent.task.id, flagged.fault))
    yield from next_step_lines(stop)


def next_step_lines(stop: Stop) -> Iterator[Line]:
    """Yield a line for each step; alternatives stand together."""
    steps = list(stop.remarked_steps)
    is_choice = stop.is_choice and len(steps) > 1
    if is_choice:
        yield line("next step, one of:")
    yield from (line("  " if is_choice else "next step: ", step) for step in steps)


def rights_lines(question: RightsQuestion) -> tuple[Line, Line]:
    """Return what the agent may do, and whether the command stops after each task."""
    may = f"{agent_in_text(question.agent)} may {question.rights.description}."
    stops = "It does not stop after each task (--stop-after-each stops it)."
    if question.stops_after_each:
        stops = "It stops for a decision after each task."
    return line(may), line(stops)
