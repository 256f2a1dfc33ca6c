"""What a task's agent has yet to be told, from its runs and the feedback of its parent's review."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from git_blackbird.model.base.timestamps import seconds_between
from git_blackbird.model.run.history import UNDELIVERED
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.parts import Answer, Question
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, Requester, RunType


class PendingMessages(NamedTuple):
    """Messages for a task that is not done: change requests and messages, oldest first, answered questions.

    ``review`` is the feedback of the parent's review. An earlier run was already sent ``sent_texts``,
    ``sent_answers``, the answers of these ids, and with ``review_sent`` that feedback.
    """

    texts: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    answers: tuple[Answer, ...] = ()
    review: Feedback | None = None
    sent_texts: frozenset[str] = frozenset()
    sent_answers: frozenset[str] = frozenset()
    review_sent: bool = False

    def __bool__(self) -> bool:
        return bool(self.texts or self.answers or self.review)

    def select(self, *, sent: bool) -> "PendingMessages":
        """Return only what an earlier run was sent, or only what none was."""
        return PendingMessages(
            tuple(text for text in self.texts if (text in self.sent_texts) == sent),
            self.questions,
            tuple(answer for answer in self.answers if (answer.id in self.sent_answers) == sent),
            self.review if self.review_sent == sent else None,
        )


def messages_of(runs: Sequence[Run]) -> PendingMessages:
    """Return all that was said to a task in these runs of one change.

    It is sent with every start and resume until the task is ``done``, including that of superseded and
    interrupted runs: sending a message twice is harmless, losing one is not. Only what a landing said of a
    worktree is not said of the next one.
    """
    texts: list[str] = []
    sent: set[str] = set()
    for run in runs:
        if run.message:
            texts.append(run.message)
        if _reached_agent(run):
            sent.update(texts)
        is_request = run.decision_state == DecisionState.CHANGES_REQUESTED
        if run.requested_by is Requester.LANDING and run.is_superseded:
            is_request = False
        if is_request and run.decision_feedback:
            texts.append(run.decision_feedback)
            sent.discard(run.decision_feedback)
        if (told := run.text_while_working) is not None:
            texts.append(told)
            sent.discard(told)
    questions, answers = _answered(runs, texts)
    # An answer is recorded with the run that it was sent to.
    lost = {answer.value for run in runs if not _reached_agent(run) for answer in run.answers}
    return PendingMessages(
        tuple(dict.fromkeys(texts)),
        questions,
        answers,
        sent_texts=frozenset(sent),
        sent_answers=frozenset(answer.id for answer in answers if answer.value not in lost),
    )


def was_sent(runs: Sequence[Run], review: Feedback) -> bool:
    """Whether an agent began to work after this feedback was written."""
    lengths = (seconds_between(review.updated_at, run.started_at) for run in runs if _reached_agent(run))
    return any(length is not None and length > 0 for length in lengths)


def _reached_agent(run: Run) -> bool:
    is_sent = run.superseded_by not in UNDELIVERED and not run.by_hand
    return run.run_type is RunType.EXECUTE and is_sent


def _answered(
    runs: Sequence[Run], requests: Sequence[str]
) -> tuple[tuple[Question, ...], tuple[Answer, ...]]:
    """Pair every answer with its question; a ruling is none once a request overrules it.

    Agents reuse ids: an answer belongs to the last run before it that asked under its id, and an id that
    several runs used is qualified with the run.
    """
    asked: dict[str, tuple[Run, Question]] = {}
    questions: dict[str, Question] = {}
    answers: dict[str, Answer] = {}
    uses = Counter(question.id for run in runs for question in run.questions)
    for run in runs:
        rulings = run.rulings
        overruled = [ruling.answer for ruling in rulings if ruling.is_overruled(requests)]
        for answer in (*run.answers, *(ruling.answer for ruling in rulings)):
            asker, question = asked.get(answer.id, (None, None))
            name = answer.id if asker is None or uses[answer.id] < 2 else f"{answer.id} ({asker.id})"
            if question is not None:
                questions[name] = question.model_copy(update={"id": name})
            answers[name] = answer.model_copy(update={"id": name})
            if answer in overruled:
                del answers[name]
        asked |= {question.id: (run, question) for question in run.questions}
    return tuple(questions[name] for name in answers if name in questions), tuple(answers.values())
