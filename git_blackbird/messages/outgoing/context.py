"""The context pack about a task for a run's agent, in the Go program's form (PEER.md 1.3)."""

import re
from collections.abc import Sequence
from typing import Any

from git_blackbird.messages.incoming.questions import QUESTION_FORM
from git_blackbird.model.entities.change import Summary
from git_blackbird.model.entities.history import PendingMessages
from git_blackbird.model.entities.plan import Plan, Task

SNAPSHOT_BYTES = 32_768

SYSTEM_PROMPT = (
    "You are working without a user present on one task of a plan, in the git repository that is your "
    "working directory. You may edit files there and run non-destructive commands without asking for "
    "confirmation. Do everything the task asks and nothing else. Do not touch .blackbird/ or "
    "blackbird.plan.json. Check your work with the project's own tests and tools. End with a short "
    "summary of what you did.\n" + QUESTION_FORM
)


def build_context(plan: Plan, task: Task, snapshot: str | None) -> dict[str, Any]:
    """Build the context pack of a fresh run; empty parts are left out."""
    context: dict[str, Any] = {"schemaVersion": 1, "task": task_part(task)}
    if task.deps:
        context["dependencies"] = [
            {"id": dep, "title": plan.tasks[dep].title, "status": plan.tasks[dep].status.value}
            for dep in sorted(task.deps)
        ]
    if snapshot:
        context["projectSnapshot"] = snapshot
    context["systemPrompt"] = SYSTEM_PROMPT
    return context


def task_part(task: Task) -> dict[str, Any]:
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


def with_messages(context: dict[str, Any], messages: PendingMessages) -> dict[str, Any]:
    """Add pending messages: texts, the feedback of a parent's review, and answers with their questions.

    Feedback that an earlier run was sent is marked as repeated.
    """
    context = with_feedback(context, messages.texts)
    review = messages.review
    repeated = [text for text in messages.texts if text in messages.sent_texts]
    if repeated:
        context = {**context, "repeatedFeedback": repeated}
    if review is not None:
        part: dict[str, Any] = {
            "parentTaskId": review.parent_task_id,
            "reviewRunId": review.review_run_id,
            "feedback": review.feedback,
        }
        if messages.review_sent:
            part["repeated"] = True
        context = {**context, "parentReviewFeedback": part}
    if messages.answers:
        questions = [_filled(question.to_json()) for question in messages.questions]
        answers = [answer.to_json() for answer in messages.answers]
        context = {**context, "questions": questions, "answers": answers}
    return context


def bound_snapshot(text: str) -> str:
    """Trim the project snapshot and limit its size, noting a cut."""
    trimmed = text.strip()
    data = trimmed.encode()
    if len(data) <= SNAPSHOT_BYTES:
        return trimmed
    return data[:SNAPSHOT_BYTES].decode(errors="ignore") + "\n[cut: the file is longer]"


MAX_BYTES = 4096
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# Badges, pictures and HTML around a title do not describe the project.
_DECORATION = re.compile(r"\s*(?:$|!?\[!?|<)")


def first_section(text: str) -> str:
    """Return a Markdown text up to the heading after its first section with content.

    At most ``MAX_BYTES``, also of a text without headings, cut between paragraphs if possible.
    """
    lines = text.splitlines()
    end = next((place for place in _headings(lines) if _says_something(lines[:place])), len(lines))
    return _bounded("\n".join(lines[:end]).strip())


def _headings(lines: list[str]) -> list[int]:
    """Return the lines at which headings begin, except in code blocks."""
    found: list[int] = []
    fence = ""
    for place, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif _HEADING.match(line):
            found.append(place)
        elif place and _UNDERLINE.match(line) and lines[place - 1].strip() and place - 1 not in found:
            found.append(place - 1)
    return found


def _says_something(lines: list[str]) -> bool:
    """Whether there is a line that is neither heading nor decoration."""
    headings = set(_headings([*lines, ""]))
    return any(
        not _DECORATION.match(line) and not _UNDERLINE.match(line)
        for place, line in enumerate(lines)
        if place not in headings
    )


def _bounded(text: str) -> str:
    data = text.encode()
    if len(data) <= MAX_BYTES:
        return text
    cut = data[:MAX_BYTES].decode(errors="ignore")
    paragraphs = cut.rpartition("\n\n")[0]
    return (paragraphs or cut).rstrip()
