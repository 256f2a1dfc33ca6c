"""Which agents cannot work: those at a usage limit, from the records and the time, and unlisted refusals.

A start *without work* ended in an error before a model had said or done anything. One may be the fault of its
task. Two of one agent on different tasks, in the same words, are a refusal of the agent, and fail no task.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

from git_blackbird.model.base.shown import Shown
from git_blackbird.model.base.timestamps import SECOND, format_timestamp, moment_of
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import UsageLimit
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus


class AgentModel(NamedTuple):
    """An agent and its model."""

    agent: Annotated[str, Shown("The agent.")]
    model: Annotated[
        str | None, Shown("The model that it is told to use; null for its own choice, and in a session.")
    ] = None

    @classmethod
    def of(cls, run: Run) -> "AgentModel":
        return cls(run.provider, run.agent_model)


def repeats(start: Run, other: Run) -> bool:
    """Whether a start without work is another task's, of the same agent, in the same words but for ids."""
    if AgentModel.of(start) != AgentModel.of(other) or start.task_id == other.task_id:
        return False
    ids = sorted({*_ids(start), *_ids(other)}, key=len, reverse=True)
    return _without_ids(start, ids) == _without_ids(other, ids)


def _ids(run: Run) -> Iterator[str]:
    yield from filter(None, (run.task_id, run.provider_session_ref, run.worktree_path))


def _without_ids(run: Run, ids: list[str]) -> str:
    text = run.error or ""
    for each in ids:
        text = re.sub(rf"(?<!\w){re.escape(each)}(?!\w)", "#", text)
    # Nearly all other ids have a digit.
    return re.sub(r"[\w-]+", lambda word: "#" if re.search(r"\d", word[0]) else word[0], text)


_MARGIN, _LONGEST = 15 * SECOND, 8 * 86_400 * SECOND
_FIRST_GUESS, _LAST_GUESS = 300 * SECOND, 3600 * SECOND
_WORKED = frozenset({RunStatus.SUCCESS, RunStatus.WAITING_USER})


class LimitHold(NamedTuple):
    """An agent and model that a usage limit keeps from working.

    ``until`` is in nanoseconds since 1970; ``is_guess``: the provider named no time that can be believed.
    ``run`` is one that the limit ended.
    """

    run: Run
    until: int
    is_guess: bool

    @property
    def by(self) -> AgentModel:
        return AgentModel.of(self.run)


def limit_reached(now: int, named: float | None) -> UsageLimit:
    """Return the limit of a run that ends ``now``, in nanoseconds; ``named`` is its end in seconds."""
    try:
        until = format_timestamp(int(named) * SECOND) if named else None
    except OverflowError:
        until = None
    return UsageLimit(at=format_timestamp(now), until=until)


def believed_end(limit: UsageLimit | None) -> int | None:
    """Return when a limit is over by what was said, in nanoseconds; None without a time that is believed.

    It is believed up to eight days ahead, and never less than a few seconds after it was said.
    """
    at, named = (moment_of(limit.at), moment_of(limit.until)) if limit else (None, None)
    if at is None or named is None or not 0 < named.nanoseconds - at.nanoseconds <= _LONGEST:
        return None
    return max(named.nanoseconds, at.nanoseconds + _MARGIN)


def held_agents(state: PlanState, reviews: Sequence[Run], now: int) -> Mapping[AgentModel, LimitHold]:
    """Return the agents at a limit at this moment; ``reviews`` are those of changes under review.

    A limit is over at its time, or once a run that began after it has worked.
    """
    recent = [run for history in state.open_histories.values() for run in history.recent]
    limited = [run for run in (*recent, *reviews) if run.limit is not None]
    if not limited:
        return {}
    worked = _last_work(state, reviews)
    limited = [run for run in limited if _reached(run) > worked.get(AgentModel.of(run), 0)]
    tries = Counter((run.task_id, AgentModel.of(run)) for run in limited if believed_end(run.limit) is None)
    holds = [_hold(run, tries[run.task_id, AgentModel.of(run)]) for run in sorted(limited, key=_reached)]
    # Of several for one agent the last to end counts.
    return {hold.by: hold for hold in sorted(holds, key=lambda hold: hold.until) if hold.until > now}


def _last_work(state: PlanState, reviews: Sequence[Run]) -> Mapping[AgentModel, int]:
    """Return when the last run of each agent began that worked."""
    began: dict[AgentModel, int] = {}
    for run in (*(run for history in state.histories.values() for run in history.recent), *reviews):
        tokens = run.usage.output_tokens if run.usage else 0
        if run.status in _WORKED or tokens or (run.limit and run.status is RunStatus.PAUSED):
            agent = AgentModel.of(run)
            began[agent] = max(began.get(agent, 0), run.sort_key[0])
    return began


def _reached(run: Run) -> int:
    at = None if run.limit is None else moment_of(run.limit.at)
    return 0 if at is None else at.nanoseconds


def _hold(run: Run, tries: int) -> LimitHold:
    """Return the hold by a limit; without a known end it is twice as long after each try in vain."""
    if (until := believed_end(run.limit)) is not None:
        return LimitHold(run, until, is_guess=False)
    guess = min(_FIRST_GUESS * 2 ** min(tries - 1, 8), _LAST_GUESS)
    return LimitHold(run, _reached(run) + guess, is_guess=True)
