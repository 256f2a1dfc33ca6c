"""Notes which module of the program changes a file below a worktree; loaded by every Python of a test.

``WRITERS_TOPS`` are the folders to watch, one on a line, ``WRITERS_LOG`` is where each module is noted.
"""

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

_OURS = frozenset({".git", ".blackbird", "blackbird.plan.json"})
# Where the arguments have paths, each with the folder that it may be meant from.
_CHANGES = {
    "os.chmod": ((0, 2),),
    "os.link": ((1, 3),),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.symlink": ((1, 2),),
}
_TOPS = tuple(os.environ["WRITERS_TOPS"].splitlines())
# Opened for less than that, a file is only asked whether it could be written.
_WRITING = os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LOG = os.open(os.environ["WRITERS_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _is_below(path: object, folder: object) -> bool:
    if not isinstance(path, str | bytes):
        return False
    above = f"/proc/self/fd/{folder}" if isinstance(folder, int) and folder >= 0 else "."
    name = os.fsdecode(path)
    full = name if name.startswith("/") else f"{os.path.realpath(above)}/{name}"
    below = (full.removeprefix(f"{top}/") for top in _TOPS if full.startswith(f"{top}/"))
    return any(name.partition("/")[0] not in _OURS for name in below)


def _module(frame: FrameType | None) -> str:
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.startswith("git_blackbird"):
            return name
        frame = frame.f_back
    return "other"


def _watch(event: str, args: tuple[Any, ...]) -> None:
    if event == "open":
        # Of a relative one it is not said which folder it is meant from.
        path = args[0] if isinstance(args[0], str | bytes) else ""
        is_change = bool(args[2] & _WRITING) and os.fsencode(path).startswith(b"/") and _is_below(path, -1)
    else:
        is_change = any(_is_below(args[path], args[folder]) for path, folder in _CHANGES.get(event, ()))
    if is_change:
        name = _module(sys._getframe())
        if name != "other":
            os.write(_LOG, f"{name} {event} {args}\n".encode(errors="replace"))


if any(Path(word).name.startswith("git_blackbird") or "git_blackbird" in word for word in sys.orig_argv):
    sys.addaudithook(_watch)
