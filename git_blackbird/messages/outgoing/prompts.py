"""Prompts for agents that read prose, and suggested change requests."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.entities.change import Summary
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.run import Answer, Question, Run

CONTINUE_TEXT = "You were interrupted. Continue the task where you stopped, and finish it."
_REPEATED = "repeated, since an earlier run was sent this and the task is not done yet"
_FIX = "Fix this in the existing work, and check that it is fixed."


def render_prompt(context: Mapping[str, Any]) -> str:
    """Format a context pack as the prompt of a fresh run."""
    task = context["task"]
    parts = [context.get("systemPrompt", ""), f"# Task {task['id']}: {task['title']}"]
    parts.append(task.get("description", ""))
    parts.append(task.get("prompt", ""))
    parts.append(
        render_section("Acceptance criteria", [f"- {line}" for line in task.get("acceptanceCriteria", ())])
    )
    parts.append(
        render_section(
            "Finished tasks that this one depends on",
            [f"- {dep['id']}: {dep['title']}" for dep in context.get("dependencies", ())],
        )
    )
    parts.append(render_section("Feedback on earlier work on this task", [context.get("feedback", "")]))
    parts.append(_found_wanting(context.get("parentReviewFeedback")))
    parts.append(_answered(context))
    parts.append(render_section("The project", [context.get("projectSnapshot", "")]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _answered(context: Mapping[str, Any]) -> str:
    """Format the previous session's questions and answers for a new session."""
    if not context.get("answers"):
        return ""
    asked = {question.get("id"): question.get("prompt") for question in context.get("questions", ())}
    lines = [
        f"- {asked.get(answer.get('id')) or answer.get('id')}\n  {answer.get('value')}"
        for answer in context["answers"]
    ]
    return render_section("Earlier questions about this task, and their answers", lines)


def _found_wanting(feedback: Mapping[str, Any] | None) -> str:
    if not feedback:
        return ""
    title = f"Changes to earlier work on this task, requested by the review of {feedback['parentTaskId']}"
    if feedback.get("repeated"):
        title = f"{title} ({_REPEATED})"
    return render_section(title, [f"{feedback['feedback'].rstrip()}\n\n{_FIX}"])


def render_section(title: str, lines: Sequence[str]) -> str:
    """Format a section of a prompt; "" if it is empty."""
    body = "\n".join(line for line in lines if line)
    return f"## {title}\n\n{body}" if body else ""


def render_change_request(text: str, change: Summary | None) -> str:
    """Format a change request: the person's text unchanged, then the files it is about (spec 2)."""
    if change is None or not change.files:
        return text
    more = change.totals.files - len(change.files)
    files = [f"- {name}" for name in change.files] + ([f"- and {more} more"] if more > 0 else [])
    return text.rstrip("\n") + "\n\nFiles of the change so far:\n" + "\n".join(files) + "\n"


def render_review_feedback(feedback: Feedback, *, is_repeated: bool = False) -> str:
    """Format the feedback of a parent's review, unchanged, for the session that did the work."""
    again = f" ({_REPEATED})" if is_repeated else ""
    return (
        f"The work on {feedback.parent_task_id}, which your task is part of, was reviewed, and changes to "
        f"your part were requested{again}:\n\n{feedback.feedback.rstrip()}\n\n{_FIX}\n"
    )


def render_answers(questions: Sequence[Question], answers: Sequence[Answer]) -> str:
    """Format the answers to an agent's questions."""
    asked = {question.id: question.prompt for question in questions}
    lines = [f"- {asked.get(answer.id, answer.id)}\n  {answer.value}" for answer in answers]
    return "Answers to your questions:\n\n" + "\n".join(lines) + "\n\nContinue with the task.\n"


def join_messages(*parts: str) -> str:
    """Join messages to one agent, leaving out empty ones."""
    return "\n\n".join(part.rstrip("\n") for part in parts if part.strip()) + "\n"


def render_earlier_requests(texts: Sequence[str]) -> str:
    """Repeat earlier requests for a task; sending them twice is harmless."""
    if not texts:
        return ""
    return "Earlier feedback on this task, repeated in case you have not received it:\n\n" + "\n\n".join(
        text.rstrip("\n") for text in texts
    )


if TYPE_CHECKING:
    # Imported on demand, because only reviews need it.
    from git_blackbird.model.entities.findings import MergedReview

MAX_OUTPUT_CHARACTERS = 8000
_REFUSED = (
    "A hook of the repository refused to commit your change. Fix what it reports, and check that it passes. "
    "The hook said:"
)


def bound_output(text: str) -> str:
    """Return the end of a hook's output, without control sequences."""
    output = strip_controls(text).strip()
    left_out = len(output) - MAX_OUTPUT_CHARACTERS
    return output if left_out <= 0 else f"({left_out} characters before)\n{output[left_out:]}"


def render_suggestion(run: Run, merged: "MergedReview | None") -> str | None:
    """Format a change request with the known problems of a change; None without any."""
    parts = []
    if run.hook_output is not None:
        parts.append(f"{_REFUSED}\n\n{bound_output(run.hook_output)}\n")
    if merged is not None and merged.findings:
        # Imported on demand, because only reviews need it.
        from git_blackbird.messages.display.merged_review import render_fix_request  # noqa: PLC0415

        parts.append(render_fix_request(merged))
    return "\n".join(parts) or None


def suggestion_source(run: Run, merged: "MergedReview | None") -> str:
    """Name the source of a suggested change request."""
    found = merged is not None and bool(merged.findings)
    if run.hook_output is None:
        return "what the reviewers found"
    return "what the hook printed and the reviewers found" if found else "what the hook printed"
