"""All runs of one task, the run that counts, and what is wrong with record files or could be adopted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import takewhile
from pathlib import PurePath
from types import MappingProxyType
from typing import Annotated, NamedTuple

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.base.timestamps import Moment, moment_of
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.parts import Moving
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    SUPERSEDED_BY_LOST_SESSION,
    SUPERSEDED_BY_UNAVAILABLE,
    ReviewState,
    RunStatus,
    RunType,
    TerminalReason,
)

MOVED_AWAY = ".unreadable"
"""What is added to the name of a file that no longer counts."""
UNREADABLE = "one of its records cannot be used"


class RecordError(NamedTuple):
    """A record that cannot be read."""

    path: Annotated[str, Shown("The path of the file.")]
    what: Annotated[str, Shown("What is wrong with it.")]

    @property
    def text(self) -> str:
        return f"unreadable record: {self.path}: {self.what}"

    @property
    def hint(self) -> str:
        """The command that lets the task go on; the content of an unusable record is lost then."""
        path = PurePath(self.path)
        if path.suffix != ".json":
            return f"make {shell_word(self.path)} a folder that can be read"
        move = f"mv -i {shell_word(self.path)} {shell_word(f'{self.path}{MOVED_AWAY}')}"
        return ShellLine(move, "or fix it; this keeps the file, but what it records no longer counts")


class AdoptableKind(StrEnum):
    """What can be adopted; a decision is one on a run of ours."""

    RUN = "run"
    REVIEW = "review"
    DECISION = "decision"
    FEEDBACK = "feedback"


class Adoptable(NamedTuple):
    """What another program or clone left below ``.blackbird/``, and would count if it were adopted.

    ``written`` is the time of its file in nanoseconds since 1970. ``becomes`` is the status that the task
    would have with it; None where that stays.
    """

    task_id: TaskId
    kind: AdoptableKind
    found: Run | Feedback
    written: int
    becomes: Status | None = None


_UNDER_REVIEW = frozenset({ReviewState.DUE, ReviewState.BY_HAND})
UNDELIVERED = frozenset({SUPERSEDED_BY_LOST_SESSION, SUPERSEDED_BY_UNAVAILABLE})


class SavedFeedback(NamedTuple):
    """The feedback files by leaf, and those that cannot be used."""

    by_leaf: Mapping[TaskId, Feedback] = MappingProxyType({})
    faults: tuple[RecordError, ...] = ()


NO_FEEDBACK = SavedFeedback()


class UndeliveredStart(NamedTuple):
    """A start that reached no agent: when it was under way, and when its task had changed before."""

    start: Moment
    end: Moment
    before: Moment

    def covers(self, moment: Moment) -> bool:
        return self.start <= moment < self.end


NO_OLDER: Callable[[], tuple[Run, ...]] = tuple


@dataclass(frozen=True)
class History:
    """The runs of one task, oldest first.

    ``recent`` are all of them, or only the latest that counts and those after it; ``older`` then reads the
    others. ``faults`` stop the task.
    """

    recent: tuple[Run, ...] = ()
    faults: tuple[RecordError, ...] = ()
    older: Callable[[], tuple[Run, ...]] = field(default=NO_OLDER, compare=False, repr=False)

    @property
    def is_whole(self) -> bool:
        return self.older is NO_OLDER

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return (*self.older(), *self.recent)

    @cached_property
    def work_runs(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if not run.is_review)

    @property
    def reviews(self) -> tuple[Run, ...]:
        """Valid reviews of a parent, oldest first."""
        return tuple(run for run in self.runs if run.run_type == RunType.REVIEW and not run.is_superseded)

    @cached_property
    def newest(self) -> Run | None:
        """The last run that is not a review, superseded or not."""
        return next((run for run in reversed(self.recent) if not run.is_review), None)

    @cached_property
    def latest(self) -> Run | None:
        """The last run that counts: neither a review nor superseded."""
        return next((run for run in reversed(self.recent) if run.counts), None)

    @cached_property
    def undelivered_starts(self) -> tuple[UndeliveredStart, ...]:
        """The resumes after the latest run that reached no agent, newest first."""
        later = takewhile(lambda run: not run.counts, reversed(self.recent))
        void = (run for run in later if run.superseded_by in UNDELIVERED)
        times = (map(moment_of, (run.started_at, run.superseded_at, run.task_since)) for run in void)
        known = ([moment for moment in three if moment is not None] for three in times)
        return tuple(UndeliveredStart(*three) for three in known if len(three) == 3)

    @cached_property
    def at_work(self) -> tuple[Run, ...]:
        return tuple(run for run in self.recent if run.status == RunStatus.RUNNING)

    @property
    def moving(self) -> Moving | None:
        """The begun move of the task's change, whichever of its runs notes it."""
        return next((run.moving for run in reversed(self.runs) if run.moving is not None), None)

    @property
    def is_undelivered(self) -> bool:
        """Whether the newest run reached no agent, so that nobody has heard what it was to say."""
        return self.newest is not None and self.newest.superseded_by in UNDELIVERED

    @cached_property
    def is_under_review(self) -> bool:
        """Whether the change of the latest run is being reviewed, or will be."""
        return self.latest is not None and self.latest.review_state in _UNDER_REVIEW

    @property
    def live(self) -> Run | None:
        """The run in which an agent is at work, according to the records."""
        return next((run for run in reversed(self.at_work) if not run.is_review), None)

    def find(self, run_id: RunId) -> Run | None:
        recent = (run for run in self.recent if run.id == run_id)
        return next(recent, None) or next((run for run in self.runs if run.id == run_id), None)

    def owes_decision(self, run: Run) -> bool:
        """Whether a person is to decide on a run, whatever is configured.

        They opened its session, or were to decide on what it goes on with: a run that was paused, or that
        asked, hands this on.
        """
        seen = {run.id}
        while not run.by_hand:
            before = None if run.resumes is None else self.find(run.resumes)
            if before is None or before.id in seen:
                return False
            if before.decision_required or before.status in {RunStatus.SUCCESS, RunStatus.FAILED}:
                return before.decision_required is True
            seen.add(before.id)
            run = before
        return True

    def since(self, run: Run) -> tuple[Run, ...]:
        """Return the runs that are not reviews and began after a run of this task or another."""
        first = next(iter(self.recent), None)
        runs = self.runs if first is None or first.sort_key > run.sort_key else self.recent
        return tuple(one for one in runs if one.sort_key > run.sort_key and not one.is_review)


NO_HISTORY = History()
"""The history of a task without runs."""


def is_session_lost(history: History, run: Run) -> bool:
    """Whether the provider refused to continue this run's conversation, or it never had one."""
    return run.provider_session_ref is None or any(
        later.resumes == run.id and later.terminal_reason == TerminalReason.SESSION_LOST
        for later in history.since(run)
    )
