"""What follows from all runs of one task: the run that counts, what is still owed, what belongs together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import NamedTuple

from git_blackbird.model.commands import ShellLine
from git_blackbird.model.conversation import Answer, Question
from git_blackbird.model.ids import RunId
from git_blackbird.model.provenance import UnconfirmedRecord
from git_blackbird.model.review import Feedback
from git_blackbird.model.run import (
    APPROVALS,
    OVERTAKEN_BY_STATUS,
    DecisionState,
    ReviewState,
    Run,
    RunStatus,
    RunType,
)
from git_blackbird.model.text import shell_word

_UNDER_REVIEW = frozenset({ReviewState.DUE, ReviewState.BY_HAND})


class RecordFault(NamedTuple):
    """A file among the records that cannot be used, and why. It stops its task.

    ``accept`` is the command that lets it count as it is, where there is one.
    """

    path: str
    what: str
    accept: str = ""

    @property
    def way_out(self) -> str:
        """The command that gets its task on without it; what it says is lost then."""
        if self.accept:
            return ShellLine(self.accept, "accepts it as it is now; or restore what it was, or remove it")
        path = PurePath(self.path)
        if path.suffix != ".json":
            return f"make {shell_word(self.path)} a folder that can be read"
        state = next((above for above in path.parents if above.name == ".blackbird"), path.parent)
        aside = shell_word(str(state / f"{path.name}.unreadable"))
        move = f"mv -i {shell_word(self.path)} {aside}"
        return ShellLine(move, "or fix it; moved away, it no longer counts")


@dataclass(frozen=True)
class History:
    """The runs of one task, oldest first, and what is not used among its records.

    ``faults`` stop the task, ``unconfirmed`` count for nothing.
    """

    runs: tuple[Run, ...] = ()
    faults: tuple[RecordFault, ...] = ()
    unconfirmed: tuple[UnconfirmedRecord, ...] = ()

    @cached_property
    def own(self) -> tuple[Run, ...]:
        """Runs that are no reviewer's."""
        return tuple(run for run in self.runs if not run.is_review)

    @property
    def reviews(self) -> tuple[Run, ...]:
        """Reviews of a parent that count, oldest first."""
        return tuple(run for run in self.runs if run.run_type == RunType.REVIEW and run.superseded_at is None)

    @cached_property
    def newest(self) -> Run | None:
        """The last run that is no reviewer's, superseded or not."""
        return next((run for run in reversed(self.runs) if not run.is_review), None)

    @cached_property
    def latest(self) -> Run | None:
        """The last run that counts: no reviewer's and not superseded."""
        counting = (run for run in reversed(self.runs) if not run.is_review)
        return next((run for run in counting if run.superseded_at is None), None)

    @property
    def is_under_review(self) -> bool:
        """Whether the change of the latest run is being reviewed, or is to be."""
        return self.latest is not None and self.latest.review_state in _UNDER_REVIEW

    @property
    def live(self) -> Run | None:
        """The run that says an agent is at work."""
        return next((run for run in reversed(self.own) if run.status == RunStatus.RUNNING), None)

    def find(self, run_id: RunId) -> Run | None:
        """Give the run of that id, as it is recorded now."""
        return next((run for run in self.runs if run.id == run_id), None)


NO_HISTORY = History()
"""That of a task without runs."""


def finished_the_task(run: Run) -> bool:
    """Whether the task was ``done`` after this run: nothing before it is owed or belongs to a new change."""
    if run.superseded_by == f"{OVERTAKEN_BY_STATUS}done":
        return True
    if run.review_state is ReviewState.DUE:
        return False
    if run.decision_state is not None:
        return run.decision_state in APPROVALS
    return run.status == RunStatus.SUCCESS


def since_done(history: History) -> tuple[Run, ...]:
    """Runs after the last one that finished the task; with that one when it is the newest and counts.

    They are the runs whose work is one *change*.
    """
    own = history.own
    earlier = own[:-1]
    for index in range(len(earlier), 0, -1):
        if finished_the_task(earlier[index - 1]):
            return own[index:]
    return own


class RequestedChange(NamedTuple):
    """What a person last asked for on a change, and the runs that began after it, oldest first."""

    text: str
    runs: tuple[Run, ...]


def requested_change(runs: Sequence[Run]) -> RequestedChange | None:
    """Return what a person last requested among the runs of one change; None before it was carried out.

    Reviewers' requests are passed over: nobody saw the change in between.
    """
    for index in range(len(runs) - 2, -1, -1):
        asked = runs[index]
        if asked.decision_state is DecisionState.CHANGES_REQUESTED and asked.requested_by is None:
            later = tuple(runs[index + 1 :])
            # Words of ``resume -m`` beside a request are a part of it.
            texts = (asked.decision_feedback, *(run.message for run in later))
            return RequestedChange("\n\n".join(text for text in texts if text), later)
    return None


class OwedWords(NamedTuple):
    """What a task must still hear: change requests and messages, oldest first, and answered questions.

    ``review`` is what the review of a parent left owed to it.
    """

    texts: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    answers: tuple[Answer, ...] = ()
    review: Feedback | None = None

    def __bool__(self) -> bool:
        return bool(self.texts or self.answers or self.review)


def owed_words(history: History, review: Feedback | None = None) -> OwedWords:
    """Give everything said to a task since it was last ``done``.

    It goes with every start and every resume until the task is ``done``, also what an overtaken or
    interrupted run was told: hearing something twice does no harm, never hearing it does.
    """
    if history.own and finished_the_task(history.own[-1]):
        return OwedWords(review=review)
    texts: list[str] = []
    for run in since_done(history):
        if run.message:
            texts.append(run.message)
        if run.decision_state == DecisionState.CHANGES_REQUESTED and run.decision_feedback:
            texts.append(run.decision_feedback)
    questions, answers = _answered(since_done(history))
    return OwedWords(tuple(dict.fromkeys(texts)), questions, answers, review)


def _answered(runs: Sequence[Run]) -> tuple[tuple[Question, ...], tuple[Answer, ...]]:
    """Pair every answer with the question it was given to.

    Agents use the same ids again: an answer is to the last run before it that asked under its id, and an id
    that several runs used is told together with the run.
    """
    asked: dict[str, tuple[Run, Question]] = {}
    questions: dict[str, Question] = {}
    answers: dict[str, Answer] = {}
    uses = Counter(question.id for run in runs for question in run.questions)
    for run in runs:
        for answer in run.answers:
            asker, question = asked.get(answer.id, (None, None))
            name = answer.id if asker is None or uses[answer.id] < 2 else f"{answer.id} ({asker.id})"
            if question is not None:
                questions[name] = replace(question, id=name)
            answers[name] = replace(answer, id=name)
        asked |= {question.id: (run, question) for question in run.questions}
    return tuple(questions.values()), tuple(answers.values())


def total_cost(runs: Sequence[Run]) -> float | None:
    """Dollars of these runs together; None when none of them told."""
    told = [run.cost_usd for run in runs if run.cost_usd is not None]
    return sum(told) if told else None
