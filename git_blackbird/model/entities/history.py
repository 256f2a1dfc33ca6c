"""All runs of one task: the run that counts, pending messages, and the runs of a change."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from types import MappingProxyType
from typing import NamedTuple

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.timestamps import Moment, moment_of, seconds_between
from git_blackbird.model.entities.comment import ReviewComment
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.provenance import NOTHING_BESIDE, Beside, RecordError
from git_blackbird.model.entities.run import (
    APPROVALS,
    BY_LANDING,
    OPEN_DECISIONS,
    SUPERSEDED_BY_LOST_SESSION,
    SUPERSEDED_BY_STATUS,
    SUPERSEDED_BY_UNAVAILABLE,
    Answer,
    DecisionState,
    Question,
    ReviewState,
    Run,
    RunStatus,
    RunType,
)
from git_blackbird.model.entities.status import Status

_UNDER_REVIEW = frozenset({ReviewState.DUE, ReviewState.BY_HAND})
_WAITING = frozenset({RunStatus.WAITING_USER, RunStatus.PAUSED})
_UNDELIVERED = frozenset({SUPERSEDED_BY_LOST_SESSION, SUPERSEDED_BY_UNAVAILABLE})


class SavedFeedback(NamedTuple):
    """The feedback files by the leaf they are for, and those that cannot be used."""

    by_leaf: Mapping[TaskId, Feedback] = MappingProxyType({})
    faults: tuple[RecordError, ...] = ()


NO_FEEDBACK = SavedFeedback()


class Standing(NamedTuple):
    """The status of a task as its records have it, and when that began."""

    status: Status
    since: Moment | None


class Vain(NamedTuple):
    """A start that reached no agent: when it was under way, and when its task had changed before."""

    start: Moment
    end: Moment
    before: Moment

    def covers(self, moment: Moment) -> bool:
        """Whether what was written then is of this start."""
        return self.start <= moment < self.end


NO_OLDER: Callable[[], tuple[Run, ...]] = tuple


@dataclass(frozen=True)
class History:
    """The runs of one task, oldest first, and what lies ``beside`` their records.

    ``recent`` are all of them, or the latest that counts and what came after it; ``older`` reads the others
    for what looks further back. For ``faults`` the task stands still.
    """

    recent: tuple[Run, ...] = ()
    faults: tuple[RecordError, ...] = ()
    beside: Beside = NOTHING_BESIDE
    older: Callable[[], tuple[Run, ...]] = field(default=NO_OLDER, compare=False, repr=False)

    @property
    def is_whole(self) -> bool:
        """Whether every record was read."""
        return self.older is NO_OLDER

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """All runs."""
        return (*self.older(), *self.recent)

    @cached_property
    def own(self) -> tuple[Run, ...]:
        """Runs that are not reviews."""
        return tuple(run for run in self.runs if not run.is_review)

    @property
    def reviews(self) -> tuple[Run, ...]:
        """Valid reviews of a parent, oldest first."""
        return tuple(run for run in self.runs if run.run_type == RunType.REVIEW and run.superseded_at is None)

    @cached_property
    def newest(self) -> Run | None:
        """The last run that is not a review, superseded or not."""
        return next((run for run in reversed(self.recent) if not run.is_review), None)

    @cached_property
    def latest(self) -> Run | None:
        """The last run that counts: neither a review nor superseded."""
        return next((run for run in reversed(self.recent) if run.counts), None)

    @cached_property
    def standing(self) -> "Standing | None":
        """The status of a leaf by the latest run, and when it began; None if its runs do not determine it."""
        if self.faults or self.latest is None:
            return None
        return Standing(self.latest.task_status, self.latest.moved_at)

    @cached_property
    def in_vain(self) -> tuple[Vain, ...]:
        """The resumes after the latest run that reached no agent, newest first."""
        later = takewhile(lambda run: not run.counts, reversed(self.recent))
        void = (run for run in later if run.superseded_by in _UNDELIVERED)
        times = (map(moment_of, (run.started_at, run.superseded_at, run.task_since)) for run in void)
        known = ([moment for moment in three if moment is not None] for three in times)
        return tuple(Vain(*three) for three in known if len(three) == 3)

    @cached_property
    def at_work(self) -> tuple[Run, ...]:
        """The runs in which an agent is at work, according to the records."""
        return tuple(run for run in self.recent if run.status == RunStatus.RUNNING)

    @property
    def is_undelivered(self) -> bool:
        """Whether the newest run reached no agent, so that nobody has heard what it was to say."""
        return self.newest is not None and self.newest.superseded_by in _UNDELIVERED

    @cached_property
    def is_under_review(self) -> bool:
        """Whether the change of the latest run is being reviewed, or will be."""
        return self.latest is not None and self.latest.review_state in _UNDER_REVIEW

    @cached_property
    def is_closed(self) -> bool:
        """Whether the task is done by its records, and nothing else follows from any of them."""
        if not self.recent or self.faults:
            return False
        last = self.recent[-1]
        is_done = last.counts and last.task_status is Status.DONE
        return is_done and all(run.is_settled for run in self.recent)

    @property
    def foreign_latest(self) -> Run | None:
        """The latest run from elsewhere that is no review."""
        return next((run for run in reversed(self.beside.foreign) if not run.is_review), None)

    @property
    def foreign_waiting(self) -> Run | None:
        """That run, if it waits for a person, of a task without runs of ours."""
        run = self.foreign_latest
        if run is None or self.recent:
            return None
        is_waiting = run.status in _WAITING or run.decision_state in OPEN_DECISIONS
        return run if is_waiting else None

    @property
    def live(self) -> Run | None:
        """The run in which an agent is at work, according to the records."""
        return next((run for run in reversed(self.at_work) if not run.is_review), None)

    def find(self, run_id: RunId) -> Run | None:
        """Return the run with that id."""
        recent = (run for run in self.recent if run.id == run_id)
        return next(recent, None) or next((run for run in self.runs if run.id == run_id), None)

    def since(self, run: Run) -> tuple[Run, ...]:
        """Return the runs that are not reviews and began after a run of this task or another."""
        first = next(iter(self.recent), None)
        runs = self.runs if first is None or first.sort_key > run.sort_key else self.recent
        return tuple(one for one in runs if one.sort_key > run.sort_key and not one.is_review)


NO_HISTORY = History()
"""The history of a task without runs."""


class Histories(dict[TaskId, History]):
    """The runs of many tasks; those in ``open`` are not closed: of a large plan the few."""

    def __init__(self, histories: Mapping[TaskId, History], open_ones: Mapping[TaskId, History]) -> None:
        super().__init__(histories)
        self.open = open_ones


def open_histories(histories: Mapping[TaskId, History]) -> Mapping[TaskId, History]:
    """Return the histories from which more follows than that a task is done."""
    if isinstance(histories, Histories):
        return histories.open
    return {task_id: history for task_id, history in histories.items() if not history.is_closed}


def completed_task(run: Run) -> bool:
    """Whether the task was ``done`` after this run: a new change and new messages start after it."""
    if run.superseded_by == f"{SUPERSEDED_BY_STATUS}done":
        return True
    if run.awaits_verdict or run.awaits_landing:
        return False
    if run.decision_state is not None:
        return run.decision_state in APPROVALS
    return run.status == RunStatus.SUCCESS


def runs_in_change(history: History, *, commits: bool = False) -> tuple[Run, ...]:
    """Return the runs after the last one that finished the task, or with it if it is the newest that counts.

    Their work is one *change*. Where an approval ``commits``, runs that finished the task without an approval
    are part of it as long as their work is in no commit.
    """
    own = history.own
    earlier = own[:-1]
    for index in range(len(earlier), 0, -1):
        before = earlier[index - 1]
        is_over = completed_task(before) and not (commits and _is_left_uncommitted(before))
        if is_over or before.undone_at is not None:
            return own[index:]
    return own


def _is_left_uncommitted(run: Run) -> bool:
    """Whether a run finished its task without a decision, and nobody committed its work during it."""
    return (
        run.run_type is RunType.EXECUTE
        and run.status is RunStatus.SUCCESS
        and run.decision_state is None
        and run.superseded_by != f"{SUPERSEDED_BY_STATUS}done"
        and not run.commits
        and run.end_commit in {None, run.head_commit}
    )


class RequestedChange(NamedTuple):
    """A person's change request, and the runs that began after it until the next one, oldest first."""

    text: str
    runs: tuple[Run, ...]
    comments: tuple[ReviewComment, ...] = ()


def requested_changes(runs: Sequence[Run]) -> tuple[RequestedChange, ...]:
    """Return the change requests of a person in one change that were carried out, oldest first.

    Reviewers' requests are skipped: nobody saw the change in between.
    """
    indexes = [index for index, run in enumerate(runs[:-1]) if _is_request(run) and run.requested_by is None]
    ends = (*(index + 1 for index in indexes[1:]), len(runs))
    return tuple(
        _requested(runs[index], runs[index + 1 : end]) for index, end in zip(indexes, ends, strict=False)
    )


def requested_change(runs: Sequence[Run]) -> RequestedChange | None:
    """Return the last change request of a person in one change; None before one was carried out."""
    requests = requested_changes(runs)
    return requests[-1] if requests else None


def _requested(requested: Run, later: Sequence[Run]) -> RequestedChange:
    # The text of ``resume -m`` beside a request is part of it.
    texts = (requested.decision_feedback, *(run.message for run in later))
    text = "\n\n".join(text for text in texts if text)
    return RequestedChange(text, tuple(later), requested.review_comments)


def count_rounds(runs: Sequence[Run]) -> int:
    """Count how often one change was made: once, and again for each change request before its last run."""
    return 1 + sum(map(_is_request, runs[:-1]))


def _is_request(run: Run) -> bool:
    return run.decision_state is DecisionState.CHANGES_REQUESTED


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


def pending_messages(history: History, review: Feedback | None = None) -> PendingMessages:
    """Return all messages to a task since it was last ``done``.

    They are sent with every start and resume until the task is ``done``, including those of superseded and
    interrupted runs: sending a message twice is harmless, losing one is not. Only what a landing said of a
    worktree is not said of the next one.
    """
    review_sent = review is not None and any(_was_sent(run, review) for run in history.own)
    if history.own and completed_task(history.own[-1]):
        return PendingMessages(review=review, review_sent=review_sent)
    texts: list[str] = []
    sent: set[str] = set()
    runs = runs_in_change(history)
    for run in runs:
        if run.message:
            texts.append(run.message)
        if _reached_agent(run):
            sent.update(texts)
        is_request = run.decision_state == DecisionState.CHANGES_REQUESTED
        if run.requested_by == BY_LANDING and run.superseded_at is not None:
            is_request = False
        if is_request and run.decision_feedback:
            texts.append(run.decision_feedback)
            sent.discard(run.decision_feedback)
    questions, answers = _answered(runs)
    # An answer is recorded with the run that it was sent to.
    lost = {answer.value for run in runs if not _reached_agent(run) for answer in run.answers}
    return PendingMessages(
        tuple(dict.fromkeys(texts)),
        questions,
        answers,
        review,
        frozenset(sent),
        frozenset(answer.id for answer in answers if answer.value not in lost),
        review_sent,
    )


def _reached_agent(run: Run) -> bool:
    return run.run_type is RunType.EXECUTE and run.superseded_by not in _UNDELIVERED


def _was_sent(run: Run, review: Feedback) -> bool:
    """Whether an agent began to work after this feedback was written."""
    later = seconds_between(review.updated_at, run.started_at)
    return _reached_agent(run) and later is not None and later > 0


def _answered(runs: Sequence[Run]) -> tuple[tuple[Question, ...], tuple[Answer, ...]]:
    """Pair every answer with its question.

    Agents reuse ids: an answer belongs to the last run before it that asked under its id, and an id that
    several runs used is qualified with the run.
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
                questions[name] = question.model_copy(update={"id": name})
            answers[name] = answer.model_copy(update={"id": name})
        asked |= {question.id: (run, question) for question in run.questions}
    return tuple(questions.values()), tuple(answers.values())


def total_cost(runs: Sequence[Run]) -> float | None:
    """Return the cost of these runs in dollars; None if unknown for all."""
    costs = [run.cost_usd for run in runs if run.cost_usd is not None]
    return sum(costs) if costs else None
