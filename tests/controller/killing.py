"""Killing a command at a chosen persistence step: a real SIGKILL in a real process."""

import itertools
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tests.sampling import EVERY_STEP

T = TypeVar("T")
# What the suite takes of the steps: each walk begins with the first.
STRIDE = 1 if EVERY_STEP else 24
# Into how many tests the cases of a generator are split, for several processes.
SHARDS = 4 if EVERY_STEP else 1
STEPS = frozenset({"os.rename", "os.remove", "os.rmdir", "os.mkdir", "subprocess.Popen"})


def sample(cases: Sequence[T], shard: int, usual: int) -> Sequence[T]:
    """Return the cases of one shard: of all, or about as many as are usual, from all over."""
    step = SHARDS if EVERY_STEP else len(cases) // usual
    return cases[(shard if EVERY_STEP else 7) % step :: step]


def run_killed(action: Callable[[], object], at: int) -> bool:
    """Run ``action`` in a child that is killed before its persistence step number ``at`` (from 1).

    A step is the rename or removal of a file, the making or removal of a folder, or the start of a process,
    as the interpreter's own audit events tell. Says whether it was killed; False means that it ended before.
    """
    steps = itertools.count(1)
    return run_killed_where(action, lambda: next(steps) == at)


def run_killed_where(action: Callable[[], object], holds: Callable[[], object]) -> bool:
    """Run ``action`` in a child that is killed before the first step at which this holds."""
    child = os.fork()
    if child == 0:
        _be_the_child(action, holds)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _be_the_child(action: Callable[[], object], holds: Callable[[], object]) -> None:
    def watch(event: str, args: tuple[object, ...]) -> None:
        if event in STEPS and _is_ours(event, args) and holds():
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        sys.addaudithook(watch)
        action()
    except BaseException:  # noqa: BLE001  # whatever it is, the child must say so and end
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _is_ours(event: str, args: tuple[object, ...]) -> bool:
    return event == "subprocess.Popen" or "__pycache__" not in str(args[0])


_STRIDE = 1 if EVERY_STEP else 37


def kills(repo: Path, action: Callable[[], object]) -> Iterator[int]:
    """Kill an action at one step after the other, each time from the same files."""
    kept = repo.parent.with_name(f"{repo.parent.name}-kept")
    shutil.copytree(repo.parent, kept, symlinks=True)
    at = 1
    while run_killed(action, at):
        yield at
        shutil.rmtree(repo.parent)
        shutil.copytree(kept, repo.parent, symlinks=True)
        at += _STRIDE
    assert at > _STRIDE
