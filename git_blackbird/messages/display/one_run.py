"""One run in full."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from git_blackbird.messages.display.change import file_lines, notes_on_change
from git_blackbird.messages.display.evidence import evidence_lines
from git_blackbird.messages.display.format import (
    landing_text,
    question_line,
    redacted_text,
    ruling_lines,
    run_seconds,
    verdict_word,
)
from git_blackbird.messages.display.quantities import format_cost, format_moment, format_seconds
from git_blackbird.messages.display.reviews import merged_lines, result_lines, verdict_lines
from git_blackbird.messages.display.runs import run_status
from git_blackbird.messages.document import (
    Line,
    Section,
    Span,
    Style,
    Table,
    block,
    facts,
    line,
    plain,
    section,
)
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunType, TerminalReason
from git_blackbird.model.run.summary import Summary

MAX_TEXT_LINES = 30


def run_document(
    run: Run, now: str, prompt: str, logs: Mapping[str, str], commits: Iterable[Line]
) -> Iterator[Section | Line | Table]:
    """Yield one run: its prompt, result, changes, commits, cost and decision."""
    name = Span(f"run {run.id}", Style.HEADING)
    yield line(name, "  ", run_status(run), f"  {run.task_id}")
    yield facts(_facts(run, now), "  ")
    yield section("sent", _bounded(prompt))
    yield section("decided itself", chain.from_iterable(map(ruling_lines, run.rulings)))
    yield section("told while it worked", _bounded(run.text_while_working or ""))
    yield section("asked", map(question_line, run.questions))
    yield section("verdict", verdict_lines(run))
    yield section("found", result_lines(run))
    on_merged = run.landing_evidence
    yield section("check", () if run.evidence is None else evidence_lines(run.evidence))
    yield section("check of the merged files", () if on_merged is None else evidence_lines(on_merged))
    yield section("reviews", merged_lines(run))
    yield section("answer", _bounded(run.final_text or ("" if logs else run.stdout or "")))
    summary = run.review_summary
    yield section("changed", () if summary is None else _change_lines(summary))
    yield section("committed", commits)
    for title, texts in notes_on_change(run, summary or Summary(), run.outside):
        yield section(title, texts)
    yield section("files", _files(run, logs))


def _facts(run: Run, now: str) -> Iterator[tuple[str, str]]:
    yield "type", f"{run.run_type.value}, by hand" if run.by_hand else run.run_type.value
    yield "agent", f"{run.provider} {run.agent_version or ''}".strip() or "-"
    yield "session", (run.provider_session_ref or "-")
    if run.resumes is not None:
        before = f" ({run.last_completion_status.value})" if run.last_completion_status else ""
        yield "resumes", f"run {run.resumes}{before}"
    yield "started", format_moment(run.started_at)
    yield "took", format_seconds(run_seconds(run, now))
    if run.start_branch or run.start_commit:
        branch = run.start_branch or "a detached HEAD"
        yield "on", f"{branch} {(run.start_commit or '')[:12]}".rstrip()
    if run.worktree_path is not None:
        yield "worktree", run.worktree_path
    if run.worker is not None:
        yield "worker", run.worker
    if run.exit_code is not None:
        yield "exit", str(run.exit_code)
    if run.error:
        yield "error", run.error
    if run.terminal_reason in _ENDS:
        yield "ended", _ENDS[run.terminal_reason]
    yield "cost", _cost_text(run)
    yield from _outcome(run)


def _outcome(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what became of the run's change, or of the review."""
    if run.decision_state is not None:
        yield "decision", _decision_text(run)
    if run.landing is not None:
        yield "landing", landing_text(run)
    if run.run_type is RunType.REVIEW:
        yield "verdict", verdict_word(run)
    if run.reviewed_run is not None:
        yield "about", f"run {run.reviewed_run}, round {run.review_round or 1}"
    if run.superseded_by is not None:
        when = format_moment(run.superseded_at or "")
        yield "superseded", f"by {run.superseded_by}, {when}"


def _cost_text(run: Run) -> str:
    usage, cost = run.usage, format_cost(run.cost_usd)
    if usage is None:
        return cost
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    return f"{cost}, {usage.input_tokens} tokens in{cached}, {usage.output_tokens} out"


_ENDS = {
    TerminalReason.INTERRUPTED: "interrupted",
    TerminalReason.TOLD: "it was stopped for what it was told",
    TerminalReason.WALL_LIMIT: "it reached its time limit",
    TerminalReason.IDLE_LIMIT: "it printed nothing for too long",
    TerminalReason.BUDGET: "its budget was spent",
    TerminalReason.CONTROLLER_LOST: "the program that ran it ended first",
    TerminalReason.AGENT_UNAVAILABLE: "its agent was unavailable",
    TerminalReason.SESSION_LOST: "its session was lost",
    TerminalReason.WORKER_LOST: "its worker was lost",
    TerminalReason.NOT_STARTED: "its agent was not started",
    TerminalReason.WITHOUT_WORK: "no model had done anything",
    TerminalReason.UNKNOWN_END: "by itself, but not as it does when it has finished",
}


def _decision_text(run: Run) -> str:
    if run.was_superseded_undecided:
        return "none: the run was superseded first"
    state = run.decision_state.words if run.decision_state is not None else "-"
    when = f", {format_moment(run.decision_resolved_at)}" if run.decision_resolved_at else ""
    words = f": {run.decision_feedback}" if run.decision_feedback else ""
    return f"{state}{when}{words}"


def _bounded(text: str) -> list[str]:
    lines = list(plain(block(text.strip())))
    if len(lines) <= MAX_TEXT_LINES:
        return lines
    return [*lines[:MAX_TEXT_LINES], f"[{len(lines) - MAX_TEXT_LINES} more lines; --json has all]"]


def _change_lines(summary: Summary) -> Iterator[str | Line]:
    if summary.minimal is not None:
        yield f"no summary: {summary.minimal}"
    if summary.minimal is None or summary.files:
        yield from file_lines(summary)
    yield from (f"cut: {cut}" for cut in summary.cut)


def _files(run: Run, logs: Mapping[str, str]) -> Iterator[str]:
    if run.printed_bytes is not None:
        for name, printed in (
            ("stdout", run.printed_bytes.stdout),
            ("stderr", run.printed_bytes.stderr),
        ):
            if printed:
                yield f"the record has only the end of {name}, which had {printed} bytes; its log has more"
    if run.unlogged_bytes is not None:
        for name, missing in (
            ("stdout", run.unlogged_bytes.stdout),
            ("stderr", run.unlogged_bytes.stderr),
        ):
            if missing:
                yield f"{missing} bytes of {name} were not kept"
    if (redacted := redacted_text(run)) is not None:
        yield f"redacted: {redacted}"
    for name, path in logs.items():
        yield f"{name}: {path}"
