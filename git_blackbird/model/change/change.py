"""The change of a task: what its runs since it was last done did together, and what was said of it.

It is made from the task's records alone. What people approve, reviewers read, a check judges, a landing
brings and an approval commits is this.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import Moment
from git_blackbird.model.change.messages import PendingMessages, messages_of, was_sent
from git_blackbird.model.change.stages import Stage, due_of, is_closed, stage_before_undo, stage_of, status_of
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.parts import ConflictMerge, ReviewComment, Ruling
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_STATUS, DecisionState, Requester, RunStatus, RunType
from git_blackbird.model.run.summary import Trees

if TYPE_CHECKING:
    from git_blackbird.model.run.commits import HeadMove

MAX_RULING_RUNS = 3
"""In so many runs of one change an agent decides itself what it asks; then a person is asked."""
# The attribute of a history that keeps its change.
_KEPT = "_change"
_WITHOUT_REVIEWS = frozenset({Requester.CHECK, Requester.LANDING})


class Standing(NamedTuple):
    """The status of a task by its records, and when it began."""

    status: Status
    since: Moment | None


class Contribution(NamedTuple):
    """What one run did, and the moves of HEAD by others since then: at its paths they are not its change."""

    trees: Trees
    moves: "tuple[HeadMove, ...]" = ()


class RequestedChange(NamedTuple):
    """A person's change request, and the runs that began after it until the next one, oldest first."""

    text: str
    runs: tuple[Run, ...]
    comments: tuple[ReviewComment, ...] = ()


class Asked(NamedTuple):
    """A request beside the task itself; ``by`` is the parent for its review, and None for a person."""

    text: str
    by: Requester | TaskId | None = None


class Told(NamedTuple):
    """What a person said to a run at work; ``is_late``: it had ended by then, and was sent back with it.

    Unless it ``is_sent``, no agent has read it yet.
    """

    text: str
    is_late: bool
    is_sent: bool


@dataclass(frozen=True)
class Change:
    """The change of one task; a view of its history, which reads only what is needed."""

    history: History

    @classmethod
    def of(cls, history: History) -> "Change":
        """Return the change in this history; always the same object for one history."""
        # Of a large plan most histories stay as they are from one turn of the loop to the next.
        kept = vars(history)
        change: Change = kept.get(_KEPT) or kept.setdefault(_KEPT, cls(history))
        return change

    @cached_property
    def standing(self) -> Standing | None:
        """The status of a leaf by its newest run, and since when; None if its runs do not determine it."""
        run = self.history.latest
        return None if self.history.faults or run is None else Standing(status_of(run), run.moved_at)

    @cached_property
    def is_closed(self) -> bool:
        """Whether the task is done by its records, and nothing else follows from any of them."""
        recent = self.history.recent
        if not recent or self.history.faults:
            return False
        is_done = recent[-1].counts and stage_of(recent[-1]) is Stage.DONE
        return is_done and due_of(recent[-1]) is None and all(map(is_closed, recent))

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs since the task was done or its change was taken back, superseded ones too, oldest first.

        Of a task that is done these are the last of the change with which it is.
        """
        own = self.history.work_runs
        return own[_end_before(own, [_is_end(run) for run in own[:-1]]) :]

    @cached_property
    def uncommitted(self) -> tuple[Run, ...]:
        """The runs before these that finished the task, and whose work was never committed.

        An approval that commits includes them.
        """
        own = self.history.work_runs
        ends = [
            _is_end(run) and (run.undone is not None or not _is_left_uncommitted(run)) for run in own[:-1]
        ]
        return own[_end_before(own, ends) : len(own) - len(self.runs)]

    @cached_property
    def requests(self) -> tuple[RequestedChange, ...]:
        """The change requests of a person that were carried out, oldest first.

        Those of reviewers are left out: nobody saw the change in between.
        """
        runs = self.runs
        starts = [at for at, run in enumerate(runs[:-1]) if _is_request(run) and run.requested_by is None]
        ends = (*(start + 1 for start in starts[1:]), len(runs))
        return tuple(
            _requested(runs[start], runs[start + 1 : end]) for start, end in zip(starts, ends, strict=False)
        )

    @property
    def last_request(self) -> RequestedChange | None:
        """The last change request of a person that was carried out."""
        return self.requests[-1] if self.requests else None

    def last_asked(self, review: Feedback | None) -> Asked | None:
        """Return the last request to the runs, by anyone; None if they had only the task.

        Messages sent to a run at work do not count. ``review`` is the parent's review, whose feedback came
        before all runs.
        """
        last, befores = self.last_request, (None, *self.runs[:-1])
        for before, run in reversed(tuple(zip(befores, self.runs, strict=True))):
            message = run.message
            if before is not None and (before.text_while_working or "") in {
                message,
                before.decision_feedback,
            }:
                continue
            if last is not None and (run is last.runs[0] or message):
                return Asked(last.text)
            if message:
                return Asked(message)
            if before is not None and _is_sent_back(before):
                return Asked(before.decision_feedback or "", before.requested_by)
        return None if review is None else Asked(review.feedback, review.parent_task_id)

    @property
    def last_merge(self) -> ConflictMerge | None:
        """The last merge with the user's files that its worktree was brought to, with its conflicts."""
        return next((run.brought for run in reversed(self.runs) if run.brought is not None), None)

    @property
    def told(self) -> tuple[Told, ...]:
        """What a person said to the runs while they worked, oldest first."""
        sent = messages_of(self.runs).sent_texts
        return tuple(
            Told(text, is_late=_is_request(run), is_sent=text in sent)
            for run in self.runs
            if (text := run.text_while_working) is not None
        )

    @property
    def rulings(self) -> tuple[Ruling, ...]:
        """The questions that the agents decided themselves, or were told to, in the order of their runs."""
        rulings: dict[tuple[str, str], Ruling] = {}
        for run in self.runs:
            for ruling in run.rulings:
                asked = ruling.question.id, ruling.question.prompt
                if ruling.decision is not None or asked not in rulings:
                    rulings[asked] = ruling
            # What it asks once more it has not decided.
            for question in run.questions:
                rulings.pop((question.id, question.prompt), None)
        return tuple(rulings.values())

    @property
    def standing_rulings(self) -> tuple[Ruling, ...]:
        """The rulings that no request overrules."""
        texts = messages_of(self.runs).texts
        return tuple(ruling for ruling in self.rulings if not ruling.is_overruled(texts))

    def is_rulable(self, run: Run) -> bool:
        """Whether its agent may decide all questions of a run itself; only in so many runs of a change."""
        questions = run.questions
        ruled = sum(bool(one.rulings) for one in self.runs if one.counts)
        is_harmless = all(question.destructive is False for question in questions)
        return bool(questions) and is_harmless and ruled < MAX_RULING_RUNS

    def messages(self, review: Feedback | None = None) -> PendingMessages:
        """Return what the task's agent has yet to be told; ``review`` is the feedback of its parent's review.

        Nothing but that once the newest run has finished the task.
        """
        own = self.history.work_runs
        is_over = bool(own) and ends_change(own[-1])
        messages = PendingMessages() if is_over else messages_of(self.runs)
        return messages._replace(review=review, review_sent=review is not None and was_sent(own, review))

    @cached_property
    def _sent_back(self) -> tuple[Run, ...]:
        """The runs before the newest whose change was sent back."""
        newest = self.history.latest
        if newest is None:
            return ()
        return tuple(run for run in self.runs if run.sort_key < newest.sort_key and _is_request(run))

    @property
    def requests_before_newest(self) -> tuple[Run, ...]:
        """The runs before the newest whose change was sent back since a person's last request."""
        requests = self._sent_back
        persons = [at for at, one in enumerate(requests, 1) if one.requested_by is None]
        return requests[persons[-1] if persons else 0 :]

    def count_sent_back(self, by: str) -> int:
        """Count how often ``by`` sent it back before the newest run, since a person's last request."""
        return sum(run.requested_by == by for run in self.requests_before_newest)

    @property
    def review_round(self) -> int:
        """The round of reviews that the newest run is in, from 1; a person's request restarts the count."""
        for request in reversed(self._sent_back):
            if request.requested_by not in _WITHOUT_REVIEWS:
                return (request.review_round or 1) + 1 if request.requested_by is Requester.REVIEWERS else 1
        return 1


def ends_change(run: Run) -> bool:
    """Whether the task was ``done`` after this run: a new change and new messages start after it."""
    return run.superseded_by == f"{SUPERSEDED_BY_STATUS}done" or stage_before_undo(run) is Stage.DONE


def contributions(runs: Sequence[Run]) -> tuple[Contribution, ...]:
    """Return what each of these runs of one task did, oldest first, with what others moved HEAD to since.

    Of runs in a worktree of their own the last has all that has not landed.
    """
    if runs and runs[-1].worktree is not None:
        landed = [run.change_in_place for run in runs if run.change_in_place is not None]
        whole = runs[-1].change_elsewhere
        trees = landed if runs[-1].change_in_place is not None or whole is None else [whole]
        return tuple(map(Contribution, trees))
    done = [(run, run.tree_pair) for run in runs if run.tree_pair is not None and run.is_in_place]
    moves = [tuple(_moves_since(before, run)) for (before, _), (run, _) in pairwise(done)]
    return tuple(Contribution(trees, tuple(chain(*moves[at:]))) for at, (_, trees) in enumerate(done))


def contributions_since(runs: Sequence[Run]) -> tuple[Contribution, ...]:
    """Return what the last runs of a change did since those before them."""
    began, ended = runs[0].base_tree, runs[-1].head_tree
    if runs[-1].worktree is None or began is None or ended is None:
        return contributions(runs)
    return (Contribution(Trees(began, ended)),)


def count_rounds(runs: Sequence[Run]) -> int:
    """Count how often one change was made: once, and again for each change request before its last run."""
    return 1 + sum(map(_is_request, runs[:-1]))


def total_cost(runs: Sequence[Run]) -> float | None:
    """Return the cost of these runs in dollars; None if unknown for all."""
    costs = [run.cost_usd for run in runs if run.cost_usd is not None]
    return sum(costs) if costs else None


def _end_before(own: Sequence[Run], is_end: Sequence[bool]) -> int:
    return next((at for at in range(len(own) - 1, 0, -1) if is_end[at - 1]), 0)


def _is_end(run: Run) -> bool:
    return ends_change(run) or run.undone is not None


def _is_left_uncommitted(run: Run) -> bool:
    """Whether a run finished its task without a decision, and nobody committed its work during it."""
    return (
        run.run_type is RunType.EXECUTE
        and run.status is RunStatus.SUCCESS
        and run.decision_state is None
        and run.superseded_by != f"{SUPERSEDED_BY_STATUS}done"
        and not run.commits
        and run.end_commit in {None, run.start_commit}
    )


def _is_request(run: Run) -> bool:
    return run.decision_state is DecisionState.CHANGES_REQUESTED


def _is_sent_back(run: Run) -> bool:
    """Whether the next run is told what this one has to change: of a superseded landing it is not."""
    return _is_request(run) and not (run.requested_by is Requester.LANDING and run.is_superseded)


def _requested(requested: Run, later: Sequence[Run]) -> RequestedChange:
    # The text of ``resume -m`` beside a request is part of it.
    told = {run.text_while_working for run in later}
    messages = (run.message for run in later if run.message not in told)
    texts = (requested.decision_feedback, *messages)
    text = "\n\n".join(text for text in texts if text)
    return RequestedChange(text, tuple(later), requested.comments)


def _moves_since(before: Run, run: Run) -> "Iterator[HeadMove]":
    """Yield what others moved HEAD to between two runs, and during the second."""
    from git_blackbird.model.run.commits import HeadMove  # readers compose no changes

    if before.end_commit and run.start_commit and before.end_commit != run.start_commit:
        yield HeadMove(before.end_commit, run.start_commit)
    for move in () if run.review_summary is None else run.review_summary.head_moves:
        if not move.in_change:
            yield HeadMove(move.old, move.new, move.text)


class Histories(dict[TaskId, History]):
    """The runs of many tasks; those in ``open`` are not closed: of a large plan the few."""

    def __init__(self, histories: Mapping[TaskId, History], open_ones: Mapping[TaskId, History]) -> None:
        super().__init__(histories)
        self.open = open_ones


def open_histories(histories: Mapping[TaskId, History]) -> Mapping[TaskId, History]:
    """Return the histories from which more follows than that a task is done."""
    if isinstance(histories, Histories):
        return histories.open
    return {task_id: history for task_id, history in histories.items() if not Change.of(history).is_closed}
