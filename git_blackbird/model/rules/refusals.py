"""Refusals in words that nobody listed: whether a start failed by its task or by its agent.

A start *without work* ended in an error before a model had said or done anything. One may be the fault of its
task. Two of one agent on different tasks, in the same words, are a refusal of the agent, and fail no task.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.model.run.run import Run

_WORD = re.compile(r"[\w-]+")
_DIGIT = re.compile(r"\d")


class AgentModel(NamedTuple):
    """An agent and the model that it is configured to use; None for its own choice."""

    agent: str
    model: str | None = None

    @classmethod
    def of(cls, run: Run) -> "AgentModel":
        """Return those of a run."""
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
    return _WORD.sub(lambda word: "#" if _DIGIT.search(word[0]) else word[0], text)
