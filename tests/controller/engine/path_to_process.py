"""Run the program, and print the functions of ours between its start and the first process of an agent.

As an audit hook of the interpreter, it sees the start of the process; what waits in other asyncio tasks
belongs to the path as well.
"""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import git_blackbird
from git_blackbird.cli.main import run

ROOT = Path(git_blackbird.__file__).parent


def _called(frame: FrameType | None) -> Iterator[CodeType]:
    while frame is not None:
        yield frame.f_code
        frame = frame.f_back


def _awaited(coroutine: Any) -> Iterator[CodeType]:
    while hasattr(coroutine, "cr_code"):
        yield coroutine.cr_code
        coroutine = coroutine.cr_await


def _waiting() -> Iterator[CodeType]:
    """Yield what waits for the current task, and for the tasks that wait for it, the innermost task first."""
    task = asyncio.current_task()
    while task is not None:
        waiting = (other for other in asyncio.all_tasks() if getattr(other, "_fut_waiter", None) is task)
        task = next(waiting, None)
        if task is not None:
            yield from reversed([*_awaited(task.get_coro())])


def _print_path(event: str, args: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen" and args[1][:4:3] == ["/bin/sh", "gate"]:
        for code in (*_called(sys._getframe(1)), *_waiting()):
            if (file := Path(code.co_filename)).is_relative_to(ROOT):
                sys.stderr.write(f"path: {file.relative_to(ROOT)} {code.co_qualname}\n")


sys.addaudithook(_print_path)
run()
