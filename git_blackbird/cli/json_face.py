"""A face for programs: one line of JSON per event. Programs answer with commands of their own."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from git_blackbird.cli.output import Output
from git_blackbird.cli.review_data import review_data
from git_blackbird.cli.step_data import step_data
from git_blackbird.cli.writer import Writer
from git_blackbird.controller.face import LeftOpen
from git_blackbird.model.agent_rights import RightsQuestion
from git_blackbird.model.checkpoint import Checkpoint, SinceRequest
from git_blackbird.model.choices import Decision
from git_blackbird.model.conversation import Question
from git_blackbird.model.events import (
    Decided,
    Event,
    Notice,
    ReviewsEnded,
    RunEnded,
    RunPrinted,
    RunProgressed,
    RunStarted,
)
from git_blackbird.model.plan import Task
from git_blackbird.model.recorded import plain


class JsonFace:
    """Tells everything and asks nothing: what is due is told, and the call stops there."""

    def __init__(self, output: Output, writer: Writer, *, wants_output: bool) -> None:
        self.wants_output = wants_output
        self._output = output
        self._writer = writer
        self._dropped = 0

    def notify(self, event: Event) -> None:
        """Print the event; output and progress are counted instead while the reader does not keep up."""
        name, fields = describe(event)
        line = self._output.event_line(name, fields)
        if isinstance(event, RunPrinted | RunProgressed) and self._writer.is_behind:
            self._dropped += 1
            return
        if self._dropped:
            self._writer.put(self._output.event_line("dropped", {"events": self._dropped}))
            self._dropped = 0
        self._writer.put(line)

    async def answer(
        self, task: Task, questions: tuple[Question, ...]
    ) -> Mapping[str, str] | LeftOpen | None:
        """Tell what is asked."""
        asked = [plain(question) for question in questions]
        self._writer.put(self._output.event_line("questions", {"task": task.id, "questions": asked}))
        return None

    async def agree(self, question: RightsQuestion) -> bool | None:  # noqa: ARG002  # the Protocol's
        """Ask nobody; a notice says it."""
        return None

    async def decide(self, checkpoint: Checkpoint) -> Decision | LeftOpen | None:
        """Tell what is to be decided."""
        self._writer.put(self._output.event_line("checkpoint", describe_checkpoint(checkpoint)))
        return None


def describe(event: Event) -> tuple[str, dict[str, Any]]:
    """Give an event's name and fields; raw output is text, U+FFFD where it was not UTF-8."""
    match event:
        case ReviewsEnded() | RunEnded():
            return _describe_end(event)
        case RunStarted():
            return "run_started", {
                "task": event.task_id,
                "title": event.title,
                "run": event.run_id,
                "type": event.run_type.value,
                "provider": event.provider,
                "resumes": event.resumes,
                "pid": event.pid,
            }
        case RunProgressed():
            step = event.progress
            return "progress", {
                "task": event.task_id,
                "run": event.run_id,
                "kind": step.kind.value,
                "text": step.text,
                "usage": None if step.usage is None else plain(step.usage),
                "costUsd": step.cost_usd,
            }
        case RunPrinted():
            text = event.data.decode(errors="replace")
            return "output", {
                "task": event.task_id,
                "run": event.run_id,
                "stream": event.stream,
                "text": text,
            }
        case Decided():
            return "decided", {
                "task": event.task_id,
                "run": event.run_id,
                "state": event.state.value,
                "elsewhere": event.elsewhere,
                "commit": None if event.commit is None else event.commit.oid,
            }
        case Notice():
            return "notice", _describe_notice(event)


def _describe_notice(event: Notice) -> dict[str, Any]:
    return {
        "weight": event.weight.value,
        "text": event.text,
        "hint": event.hint,
        "task": event.task_id,
    }


def _describe_end(event: ReviewsEnded | RunEnded) -> tuple[str, dict[str, Any]]:
    if isinstance(event, RunEnded):
        return "run_ended", {**_describe_run(event), "seconds": round(event.seconds, 3)}
    return "reviews_ended", {
        "task": event.task_id,
        "run": event.run.id,
        "round": event.run.review_round,
        "maxRounds": event.max_rounds,
        "reasons": list(event.reasons),
        "decisionState": event.run.decision_state,
        "review": plain(event.merged),
    }


def _describe_run(event: RunEnded) -> dict[str, Any]:
    run = event.run
    summary = run.review_summary
    totals = None
    if summary is not None and summary.minimal is None:
        totals = plain(summary.totals)
    return {
        "task": run.task_id,
        "title": event.title,
        "run": run.id,
        "type": run.run_type.value,
        "status": run.status.value,
        "terminalReason": run.terminal_reason,
        "exitCode": run.exit_code,
        "error": run.error,
        "decision": run.decision_state,
        "costUsd": run.cost_usd,
        "usage": None if run.usage is None else plain(run.usage),
        "changes": totals,
        "parentReview": review_data(run),
        "reviewedRun": run.reviewed_run,
        "reviewResult": run.review_result,
    }


def describe_checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    """Give everything a checkpoint shows, and the commands that decide it."""
    task, run = checkpoint.task, checkpoint.run
    return {
        "task": task.id,
        "title": task.title,
        "acceptanceCriteria": list(task.acceptance_criteria),
        "run": run.id,
        "status": run.status.value,
        "error": run.error,
        "result": run.result,
        "summary": plain(checkpoint.summary),
        "trees": None if checkpoint.pair is None else checkpoint.pair._asdict(),
        "moved": list(checkpoint.moved),
        "planChanges": list(run.plan_changes),
        "configChanges": list(run.config_changes),
        "notes": list(run.notes),
        "runs": checkpoint.runs,
        "costUsd": checkpoint.cost_usd,
        "commit": None if checkpoint.commit is None else asdict(checkpoint.commit),
        "review": None if checkpoint.merged is None else plain(checkpoint.merged),
        "suggestion": checkpoint.suggestion,
        "reasons": list(checkpoint.reasons),
        "sinceRequest": _since_request_data(checkpoint.since_request),
        "otherBranch": None if checkpoint.other_branch is None else checkpoint.other_branch._asdict(),
        "choices": [
            {
                "choice": offer.choice.value,
                "label": offer.label,
                **step_data(checkpoint.command_for(offer)),
                "obstacle": checkpoint.obstacle(offer.choice),
            }
            for offer in checkpoint.offers()
        ],
    }


def _since_request_data(since: SinceRequest | None) -> dict[str, Any] | None:
    if since is None:
        return None
    trees = None if since.pair is None else since.pair._asdict()
    return {"request": since.request, "summary": plain(since.summary), "trees": trees}
