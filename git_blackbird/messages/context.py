"""The context pack: what a run's agent is told about its task, in the Go program's form (PEER.md 1.3)."""

from collections.abc import Sequence
from typing import Any

from git_blackbird.messages.questions import QUESTION_FORM
from git_blackbird.model.change import Summary
from git_blackbird.model.conversation import Answer, Question
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.recorded import plain
from git_blackbird.model.review import Feedback

SNAPSHOT_BYTES = 32_768

SYSTEM_PROMPT = (
    "You are working headless on one task of a plan, in the git repository that is your working directory. "
    "You are authorized to edit files there and to run non-destructive commands without asking for "
    "confirmation. Do what the task asks, whole and nothing beyond it; leave the files .blackbird/ and "
    "blackbird.plan.json alone. Check your work with the project's own means. End with a short account of "
    "what you did.\n" + QUESTION_FORM
)


def build_context(plan: Plan, task: Task, snapshot: str | None) -> dict[str, Any]:
    """Assemble the context pack of a fresh run; empty parts are left away."""
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
    """Give a task as a context pack has it; empty parts are left away."""
    told: dict[str, Any] = {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "acceptanceCriteria": list(task.acceptance_criteria),
        "prompt": task.prompt,
    }
    return _filled(told)


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def with_feedback(context: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
    """Add what the task must still hear."""
    return {**context, "feedback": "\n\n".join(texts)} if texts else context


def with_changed_files(context: dict[str, Any], change: Summary | None) -> dict[str, Any]:
    """Add the files that a change request is about, which prose names below it, and how many there are."""
    if change is None or not change.files:
        return context
    total = max(change.totals.files, len(change.files))
    return {**context, "changedFiles": list(change.files), "changedFilesTotal": total}


def with_review_feedback(context: dict[str, Any], feedback: Feedback | None) -> dict[str, Any]:
    """Add what a parent's review found wanting, where that is still owed to the task."""
    if feedback is None:
        return context
    told = {
        "parentTaskId": feedback.parent_task_id,
        "reviewRunId": feedback.review_run_id,
        "feedback": feedback.feedback,
    }
    return {**context, "parentReviewFeedback": told}


def with_answers(
    context: dict[str, Any], questions: Sequence[Question], answers: Sequence[Answer]
) -> dict[str, Any]:
    """Add the questions of the run before and what was answered."""
    return {
        **context,
        "questions": [_filled(plain(question)) for question in questions],
        "answers": [plain(answer) for answer in answers],
    }


def bound_snapshot(text: str) -> str:
    """Trim the project snapshot and bound it, saying so where it is cut."""
    trimmed = text.strip()
    data = trimmed.encode()
    if len(data) <= SNAPSHOT_BYTES:
        return trimmed
    return data[:SNAPSHOT_BYTES].decode(errors="ignore") + "\n[cut: the file is longer]"
