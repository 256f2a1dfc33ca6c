"""What one leg is to tell its agent."""

from dataclasses import dataclass, replace
from typing import Any

from git_blackbird.controller.project_overview import load_project_overview
from git_blackbird.controller.workspace import Workspace
from git_blackbird.messages.context import (
    build_context,
    with_answers,
    with_changed_files,
    with_feedback,
    with_review_feedback,
)
from git_blackbird.messages.prompts import (
    CONTINUE_TEXT,
    join_messages,
    render_answers,
    render_change_request,
    render_earlier_requests,
    render_prompt,
    render_review_feedback,
)
from git_blackbird.messages.questions import questions_of
from git_blackbird.model.change import Summary
from git_blackbird.model.conversation import Answer
from git_blackbird.model.history import OwedWords
from git_blackbird.model.plan import Task
from git_blackbird.model.run import Run
from git_blackbird.model.standing import Standing

_OF_ONE_RUN = frozenset(
    {"questions", "answers", "feedback", "parentReviewFeedback", "changedFiles", "changedFilesTotal"}
)


@dataclass(frozen=True)
class Order:
    """One start or resume: the task, the run whose session goes on, and what is told.

    ``prompt`` is for agents that read prose, ``context`` for those that read JSON. ``message`` and
    ``answers`` are a person's words given with this order; the record keeps them until the task is done.
    """

    task: Task
    context: dict[str, Any]
    prompt: str
    resumes: Run | None = None
    message: str | None = None
    answers: tuple[Answer, ...] = ()
    gated: bool = False

    def with_message(self, message: str) -> "Order":
        """Give the order with a person's further words after its own."""
        context = with_feedback(self.context, (*filter(None, [self.context.get("feedback")]), message))
        return replace(self, context=context, prompt=join_messages(self.prompt, message), message=message)


@dataclass(frozen=True)
class Restart:
    """A task to start again in a new session, with a person's further words."""

    task: Task
    message: str | None


def order_start(workspace: Workspace, standing: Standing, task: Task, message: str | None) -> Order:
    """Order a fresh session, told everything the task is owed."""
    owed = _with_message(standing.owed_words(task.id), message)
    project = load_project_overview(workspace)
    context = _told(build_context(standing.plan, task, None if project is None else project.text), owed)
    return Order(task, context, render_prompt(context), message=message)


def order_continue(run: Run, task: Task, owed: OwedWords, message: str | None) -> Order:
    """Order the same session to go on, with a person's words, what a review left owed, or the fixed ones."""
    said = message or ("" if owed.review else CONTINUE_TEXT)
    prompt = join_messages(said, _earlier(owed, message))
    return _resumed(run, task, _with_message(owed, message), prompt, message)


def order_answers(run: Run, task: Task, owed: OwedWords, answers: tuple[Answer, ...]) -> Order:
    """Order the same session to go on with the answers to its questions."""
    asked = questions_of(run)
    answered = owed._replace(questions=(*owed.questions, *asked), answers=(*owed.answers, *answers))
    prompt = join_messages(render_answers(asked, answers), _earlier(owed._replace(answers=()), None))
    return replace(_resumed(run, task, answered, prompt, None), answers=answers)


def order_changes(
    run: Run, task: Task, owed: OwedWords, message: str | None, change: Summary | None
) -> Order:
    """Order the same session to carry out the change request on ``run``."""
    request = run.decision_feedback or ""
    current = join_messages(request, message) if message else request
    request_text = render_change_request(current, change)
    earlier = _earlier(owed, request)
    prompt = join_messages(request_text, earlier) if earlier else request_text
    order = _resumed(run, task, _with_message(owed, message), prompt, message)
    return replace(order, context=with_changed_files(order.context, change))


def _resumed(run: Run, task: Task, owed: OwedWords, prompt: str, message: str | None) -> Order:
    fresh = {name: value for name, value in run.context.items() if name not in _OF_ONE_RUN}
    gated = run.decision_required is True
    return Order(task, _told(fresh, owed), prompt, run, message, gated=gated)


def _with_message(owed: OwedWords, message: str | None) -> OwedWords:
    if not message or message in owed.texts:
        return owed
    return owed._replace(texts=(*owed.texts, message))


def _told(context: dict[str, Any], owed: OwedWords) -> dict[str, Any]:
    told = with_review_feedback(with_feedback(context, owed.texts), owed.review)
    return with_answers(told, owed.questions, owed.answers) if owed.answers else told


def _earlier(owed: OwedWords, said_now: str | None) -> str:
    """Repeat what was asked and answered before: it may never have been heard."""
    texts = [text for text in owed.texts if text != said_now]
    answers = render_answers(owed.questions, owed.answers) if owed.answers else ""
    review = render_review_feedback(owed.review) if owed.review else ""
    return join_messages(review, render_earlier_requests(texts), answers).strip("\n")
