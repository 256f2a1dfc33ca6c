"""Run programs of the user's, to which the terminal and Ctrl+C belong: hooks and signing, pager, editor."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from git_blackbird import trace
from git_blackbird.git.core.output import Completed
from git_blackbird.git.core.process import GitError, feed, not_started, operands, wait
from git_blackbird.git.core.repository import Repository

_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02


class ForegroundProcesses:
    """Processes running in sessions of their own, which no key of the terminal reaches."""

    def __init__(self) -> None:
        self.has_terminal = True
        self._signals: dict[int, int] = {}

    @property
    def is_apart(self) -> bool:
        return bool(self._signals)

    @contextlib.contextmanager
    def without_terminal(self) -> Iterator[None]:
        """Keep processes started in the block off the terminal, because the screen uses it.

        Two programs cannot share a keyboard: a program that asks there gets an error.
        """
        self.has_terminal = False
        try:
            yield
        finally:
            self.has_terminal = True

    @contextlib.contextmanager
    def tracking(self, session: int) -> Iterator[None]:
        """Track a session for the duration of the block; its leader is reaped only afterwards."""
        self._signals[session] = 0
        try:
            yield
        finally:
            if self._signals.pop(session):
                # Some of its processes may ignore the signal.
                deadline = time.monotonic() + _GRACE_SECONDS
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(session, signal.SIGTERM)
                    # Only children are reported; the rest of a session is no child of this process.
                    while time.monotonic() < deadline:
                        os.killpg(session, 0)
                        time.sleep(_POLL_SECONDS)
                    os.killpg(session, signal.SIGKILL)

    def interrupt(self) -> None:
        """Send every session SIGINT, and a stronger signal the second time."""
        for session, times in tuple(self._signals.items()):
            self._signals[session] = times + 1
            with contextlib.suppress(ProcessLookupError):
                os.killpg(session, signal.SIGTERM if times else signal.SIGINT)

    def was_interrupted(self, session: int) -> bool:
        return self._signals.get(session, 0) > 0

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for a new process; without a terminal, signing has none either."""
        return {name: value for name, value in environ.items() if self.has_terminal or name != "GPG_TTY"}


FOREGROUND = ForegroundProcesses()
"""The processes of this program, which has one terminal."""


def run_user_program(
    command: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    stdin: bytes | None = None,
    descriptors: tuple[int, ...] = (),
) -> Completed:
    """Run a program that runs the user's hooks or signing, and that outlives this process if that is killed.

    It stays in this process group, so that they can ask on the terminal, unless the screen has it. There is
    no time limit. Ctrl+C is left to the program, and SIGTERM or SIGHUP are passed on. Raises UnusableError if
    it cannot be started.
    """
    is_apart = not FOREGROUND.has_terminal
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=descriptors,
            start_new_session=is_apart,
        )
    except OSError as error:
        raise not_started(error, cwd) from error
    with (
        process,
        _passing_on(process),
        FOREGROUND.tracking(process.pid) if is_apart else contextlib.nullcontext(),
    ):
        interrupted, completed = False, None
        feed(process, stdin)
        while completed is None:
            try:
                completed = wait(process, None)
            except KeyboardInterrupt:
                interrupted = True
        trace.event("exit", process.pid, completed.code, time.monotonic() - began, command)
        return completed._replace(interrupted=interrupted or FOREGROUND.was_interrupted(process.pid))


@contextlib.contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Forward SIGTERM and SIGHUP to the process; in the main thread only."""

    def pass_on(number: int, _: object) -> None:
        process.send_signal(number)

    is_main = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _PASSED_ON if is_main and signal.getsignal(number) is not signal.SIG_IGN]
    before = [(number, signal.signal(number, pass_on)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


# What git sets for a pager if the user has not configured it.
_MANNERS = {"LESS": "FRX", "LV": "-c"}
_NO = frozenset({"false", "no", "off", "0"})
_YES = frozenset({"true", "yes", "on", "1"})


def pager_command(repo: Repository, verb: str = "log") -> str | None:
    """Return the shell command of the pager, as git chooses it for its command ``verb``; None without one."""
    if repo.is_in_pager:
        return None
    own = repo.git("config", *operands(f"pager.{verb}"), check=False).answer_if_any()
    if own.lower() in _NO:
        return None
    if own and own.lower() not in _YES:
        return None if own == "cat" else own
    pager = repo.git("var", "GIT_PAGER", check=False).answer_if_any()
    return None if pager in {"", "cat"} else pager


def page(repo: Repository, pager: str, pieces: Iterable[bytes]) -> None:
    """Send ``pieces`` to the pager until all is sent or the pager has ended."""
    environ = {**_MANNERS, **repo.git_environ}
    with subprocess.Popen(
        ["/bin/sh", "-c", pager], cwd=repo.top, env=environ, stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None  # noqa: S101  # a pipe was asked for
        # Leaving the pager early, or pressing Ctrl+C in it, is no error.
        with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
            for piece in pieces:
                process.stdin.write(piece)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        _wait_out(process)


def editor_command(repo: Repository) -> str:
    """Return the editor's shell command. Raises GitError if there is none, as on a dumb terminal."""
    try:
        return repo.git("var", "GIT_EDITOR").answer()
    except GitError as error:
        error.hint = "set core.editor in git's configuration, or EDITOR, to one that runs here"
        raise


# How editors are told a line; others open the file at its beginning.
_LINE_FIRST = frozenset(
    ("vi", "vim", "nvim", "nano", "pico", "emacs", "emacsclient", "ed", "kak", "micro", "joe")
)
_AFTER_COLON = frozenset(("hx", "helix", "subl", "zed"))
_GOTO = frozenset(("code", "codium", "cursor"))


def edit_file(repo: Repository, editor: str, path: Path, line: int = 0) -> int:
    """Open a file in the editor, at a line if given, and return its exit status; it gets Ctrl+C."""
    name, arguments = Path(editor.partition(" ")[0]).name, [os.fspath(path)]
    if line and name in _LINE_FIRST:
        arguments = [f"+{line}", *arguments]
    elif line and name in _GOTO | _AFTER_COLON:
        arguments = [*["--goto"] * (name in _GOTO), f"{path}:{line}"]
    # The shell must survive Ctrl+C, or it would report an error for an editor that goes on.
    command = ["/bin/sh", "-c", f'trap : INT QUIT; {editor} "$@"', editor, *arguments]
    with subprocess.Popen(command, cwd=repo.top, env=repo.git_environ) as process:
        _wait_out(process)
    return process.returncode


def _wait_out(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a program that gets Ctrl+C as well, and may go on after it."""
    while process.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):
            process.wait()
