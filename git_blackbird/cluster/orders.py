"""The messages between a call and the worker of a run, their references, and who begins it: the fence.

Whoever sets the reference of a run on the remote first makes it, so that it starts at most once.
"""

import hmac
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from git_blackbird.agents.protocol import Assignment
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.core.process import GitError, revisions
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.base_commits import write_commit
from git_blackbird.git.worktree.remote_refs import fetch, list_refs, push
from git_blackbird.model.base.timestamps import SECOND
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.ended import Ended

T = TypeVar("T")
_REFS = "refs/blackbird/cluster"
_LARGEST = 2.0**63
ALL_REFS = f"{_REFS}/*"


class RunRefs(NamedTuple):
    """The references of one run on the remote.

    ``base`` are the files that its agent is to find. ``fence`` is set once, by who starts the agent or
    decides that nobody does. ``end`` are the files that the agent left, and its ``RunEnd``.
    """

    base: str
    fence: str
    end: str

    @classmethod
    def of(cls, run_id: str) -> "RunRefs":
        return cls(*(f"{_REFS}/{run_id}/{name}" for name in cls._fields))


@dataclass(frozen=True)
class RunOrder:
    """One run to be made by a worker.

    ``remote`` is where ``base`` is, a commit whose tree are the files to find and whose only parent is what
    HEAD is at. ``settings`` are those of the home that are not defaults. With ``key`` the worker signs
    what it brings home.
    """

    remote: str
    base: str
    assignment: Assignment
    settings: tuple[tuple[str, Any], ...]
    key: str = field(repr=False)


def signature(key: str, run_id: str, base: str, commit: str) -> str:
    """Sign the commit that brings home a run which began with the commit ``base``."""
    return hmac.new(bytes.fromhex(key), f"{run_id}\n{base}\n{commit}".encode(), "sha256").hexdigest()


@dataclass(frozen=True)
class RunEnd:
    """How a run ended on a worker; without ``ended`` no agent was started, for the reason in ``fault``.

    ``is_set_up`` is false if its worktree could not be set up. ``notes`` are for its record.
    """

    worker: str
    ended: Ended | None
    fault: str | None = None
    hint: str | None = None
    notes: tuple[str, ...] = ()
    is_set_up: bool = True


_ORDER, _END, _STEP = TypeAdapter(RunOrder), TypeAdapter(RunEnd), TypeAdapter(Progress)


def write_order(order: RunOrder) -> bytes:
    return _ORDER.dump_json(order)


def read_order(data: bytes) -> RunOrder:
    """Parse an order. Raises UnusableError."""
    return _parsed(_ORDER, data, "an order")


def write_end(end: RunEnd) -> bytes:
    return _END.dump_json(end)


def read_end(data: bytes) -> RunEnd:
    """Parse the end of a run. Raises UnusableError."""
    return _parsed(_END, data, "the end of a run")


def write_step(step: Progress) -> bytes:
    return _STEP.dump_json(step)


def read_step(data: bytes) -> Progress:
    """Parse a step of an agent. Raises UnusableError."""
    return _parsed(_STEP, data, "a step of an agent")


def _bounded(number: str) -> float:
    """Refuse a number that cannot be a count, cost or time. Raises ValueError."""
    if not abs(float(number)) < _LARGEST:
        raise ValueError(f"{number[:40]} is too large a number")
    return 0.0


def _parsed(adapter: TypeAdapter[T], data: bytes, what: str) -> T:
    try:
        json.loads(data, parse_int=_bounded, parse_float=_bounded, parse_constant=_bounded)
        return adapter.validate_json(data)
    except (ValidationError, ValueError, RecursionError) as error:
        hint = "the same version of git-blackbird belongs on every machine"
        raise UnusableError(f"{what} from the cluster cannot be read: {error}", hint=hint) from error


HOME = "/home"
"""Has a run that no worker is to begin; no name of a worker has a slash."""


class FencedError(RequestError):
    """The run was started before, or given up: no agent starts for it."""


def claim(workspace: Workspace, remote: str, run_id: str, who: str) -> str:
    """Claim a run on the remote, and return the commit that says so. Raises FencedError, GitError."""
    repo, now, ref = workspace.repo, workspace.environment.now(), RunRefs.of(run_id).fence
    nonce = workspace.environment.random_bits(64)
    mine = write_commit(repo, TreeStore(repo).save({}), (), f"{who} {nonce:016x}\n", now // SECOND)
    try:
        push(repo, remote, {ref: mine}, {ref: ""})
    except GitError:
        # The push may have succeeded although its reply was lost.
        there = list_refs(repo, remote, ref).get(ref)
        if there is None:
            raise
        if there != mine:
            raise FencedError(f"run {run_id} was started before, or given up") from None
    return mine


def owner(workspace: Workspace, remote: str, run_id: str) -> str | None:
    """Return the worker that owns a run, or ``HOME``; None while nobody does. Raises GitError."""
    ref = RunRefs.of(run_id).fence
    if ref not in list_refs(workspace.repo, remote, ref):
        return None
    fetch(workspace.repo, remote, [ref])
    subject = workspace.repo.git("log", "-1", "--format=%s", *revisions(ref)).answer("replace")
    return subject.rpartition(" ")[0]
