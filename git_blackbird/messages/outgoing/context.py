"""The context pack about a task for a run's agent, in the Go program's form (PEER.md 1.3)."""

from collections.abc import Sequence
from typing import Any

from git_blackbird.messages.incoming.questions import QUESTION_FORM
from git_blackbird.model.entities.agent_io import Answer, Question
from git_blackbird.model.entities.change import Summary
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.plan import Plan, Task

SNAPSHOT_BYTES = 32_768

SYSTEM_PROMPT = (
    "You are working headless on one task of a plan, in the git repository that is your working directory. "
    "You are authorized to edit files there and to run non-destructive commands without asking for "
    "confirmation. Do what the task asks, whole and nothing beyond it; leave the files .blackbird/ and "
    "blackbird.plan.json alone. Check your work with the project's own means. End with a short account of "
    "what you did.\n" + QUESTION_FORM
)


def build_context(plan: Plan, task: Task, snapshot: str | None) -> dict[str, Any]:
    """Build the context pack of a fresh run; empty parts are left out."""
    context: dict[str, Any] = {"schemaVersion": 1, "task": told_of_task(task)}
    if task.deps:
        context["dependencies"] = [
            {"id": dep, "title": plan.tasks[dep].title, "status": plan.tasks[dep].status.value}
            for dep in sorted(task.deps)
        ]
    if snapshot:
        context["projectSnapshot"] = snapshot
    context["systemPrompt"] = SYSTEM_PROMPT
    return context


def told_of_task(task: Task) -> dict[str, Any]:
    """Return a task in the form of a context pack; empty parts are left out."""
    part: dict[str, Any] = {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "acceptanceCriteria": list(task.acceptance_criteria),
        "prompt": task.prompt,
    }
    return _filled(part)


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def with_feedback(context: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Add pending messages."""
    return {**context, "feedback": "\n\n".join(texts)} if texts else context


def with_changed_files(context: dict[str, Any], change: Summary | None) -> dict[str, Any]:
    """Add the files and their number for a change request, which prose lists below it."""
    if change is None or not change.files:
        return context
    total = max(change.totals.files, len(change.files))
    return {**context, "changedFiles": list(change.files), "changedFilesTotal": total}


def with_review_feedback(context: dict[str, Any], feedback: Feedback | None) -> dict[str, Any]:
    """Add pending feedback of a parent's review."""
    if feedback is None:
        return context
    part = {
        "parentTaskId": feedback.parent_task_id,
        "reviewRunId": feedback.review_run_id,
        "feedback": feedback.feedback,
    }
    return {**context, "parentReviewFeedback": part}


def with_answers(
    context: dict[str, Any], questions: Sequence[Question], answers: Sequence[Answer]
) -> dict[str, Any]:
    """Add the questions of the previous run with their answers."""
    return {
        **context,
        "questions": [_filled(question.to_json()) for question in questions],
        "answers": [answer.to_json() for answer in answers],
    }


def bound_snapshot(text: str) -> str:
    """Trim the project snapshot and limit its size, noting a cut."""
    trimmed = text.strip()
    data = trimmed.encode()
    if len(data) <= SNAPSHOT_BYTES:
        return trimmed
    return data[:SNAPSHOT_BYTES].decode(errors="ignore") + "\n[cut: the file is longer]"
