"""The one place that prints: text for people, envelopes for programs, errors as git words them, yes or no."""

import contextlib
import json
import os
import re
import select
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

import click

from git_blackbird.cli.stdio import OutputError
from git_blackbird.controller.core.environment import Environment
from git_blackbird.errors import BlackbirdError, ExitCode, UnusableError, error_notes

if TYPE_CHECKING:
    from git_blackbird.controller.core.workspace import Workspace
    from git_blackbird.messages.document import Document, Line
    from git_blackbird.model.config.layers import RawSetting
    from git_blackbird.model.run.history import RecordError

JSON_SCHEMA_VERSION = 1
# In a string as JSON escapes it: a backslash, a pair of surrogates, and one that lacks its other half.
_SURROGATES = r"\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(?P<lone>\\ud[89a-f][0-9a-f]{2})"


class CommandContext:
    """One call of a command: its environment, where and in which form it prints, whether it may ask."""

    def __init__(self, command: str, environment: Environment, *, as_json: bool, no_input: bool) -> None:
        self.command, self.environment = command, environment
        self.as_json, self.no_input = as_json, no_input

    def can_confirm(self, stream: TextIO) -> bool:
        """Whether a person can be asked by a question on this stream."""
        return not (self.as_json or self.no_input) and sys.stdin.isatty() and stream.isatty()

    @cached_property
    def workspace(self) -> "Workspace":
        """The worktree around the working directory. Raises UnusableError when there is no usable one."""
        return self.open(())

    def open(self, flags: "Sequence[RawSetting]", *, takes_bare: bool = False) -> "Workspace":
        """Open that worktree; the options given by ``flags`` overrule its configuration.

        What was found and read of it before, to look up an id, stays.
        """
        from git_blackbird.controller.core.workspace import open_workspace, view_workspace  # some need none

        known: Workspace | None = self.__dict__.get("workspace")
        if known is None:
            workspace = open_workspace(self.environment, flags, no_input=self.no_input, takes_bare=takes_bare)
        elif flags:
            workspace = view_workspace(known.repo, self.environment, flags, no_input=self.no_input)
            workspace = replace(workspace, store=known.store)
        else:
            return known
        self.__dict__["workspace"] = workspace
        return workspace

    def full_ids(self, names: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        """Return the ids of the tasks that names uniquely begin; a name of none as it is."""
        if not names:
            return names
        from git_blackbird.controller.core.workspace import full_id  # only who names a task pays for it

        try:
            plan = self.workspace.store.plan()
        except UnusableError:
            # The command says what is wrong, if it needs the plan.
            return names
        return full_id(plan, names) if isinstance(names, str) else tuple(full_id(plan, one) for one in names)

    @cached_property
    def colored(self) -> bool:
        """Whether standard output takes colour, as ``color.blackbird`` and ``color.ui`` say."""
        try:
            return self.workspace.takes_color(is_tty=sys.stdout.isatty())
        except UnusableError:
            return False

    @cached_property
    def columns(self) -> int | None:
        """How wide a line may be: ``COLUMNS``, the terminal's width, or None if unlimited."""
        columns = self.environment.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return int(columns)
        try:
            return os.get_terminal_size(sys.stdout.fileno()).columns or None
        except (OSError, ValueError):
            return None

    def print(self, text: str = "") -> None:
        """Print a line for people; nothing when programs are spoken to."""
        self.show([_line(text)])

    def show(self, document: "Document") -> None:
        """Print a document for people, at once: of a large plan there are many lines."""
        if not self.as_json:
            from git_blackbird.cli.paint import painted_lines  # most commands print a line or two

            lines = list(painted_lines(document, self.columns, colored=self.colored))
            if lines:
                # Said outright: click takes colours out of every pipe, a pager of git's too.
                click.echo("\n".join(lines), color=self.colored)

    def write(self, text: str) -> None:
        """Print sanitized output of agents at once."""
        if text:
            click.echo(text, nl=False)
            sys.stdout.flush()

    def print_err(self, text: str) -> None:
        """Print a remark on standard error, beside output that is someone else's."""
        click.echo(_line(text).text, err=True)

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines for people, at once: of a large plan there are many."""
        self.show(map(_line, lines))

    def data(self, value: object) -> None:
        """Print the envelope for programs, if there is ``--json``, with the fields of a value."""
        if self.as_json:
            from git_blackbird.cli.json_values import encode  # only programs wait for it

            data = encode(value, self.environment.timestamp())
            click.echo(
                _render_json({"schemaVersion": JSON_SCHEMA_VERSION, "command": self.command, "data": data})
            )

    def event(self, name: str, value: object) -> None:
        """Print one line of the event stream for programs, if there is ``--json``."""
        if self.as_json:
            click.echo(event_line(name, value), nl=False)

    def warn(self, text: str, hint: str | None = None) -> None:
        """Print a warning on standard error."""
        click.echo(_line(f"warning: {text}").text, err=True)
        _hints(hint)

    def warn_records(self, faults: "Iterable[RecordError]") -> None:
        """Name every record that cannot be used."""
        for fault in faults:
            self.warn(fault.text, fault.hint)

    def warn_copies(self) -> None:
        """Name every copy of a record that could not be written, which is no error."""
        opened: Workspace | None = self.__dict__.get("workspace")
        for copy, why in () if opened is None else opened.store.copies.faults.items():
            self.warn(f"cannot write {copy}: {why}", "it is a copy: nothing is lost")

    def warn_problems(self, workspace: "Workspace") -> None:
        """Name what is wrong in the configuration; only commands that start or decide stop at it."""
        for problem in workspace.settings.problems:
            self.warn(str(problem), problem.hint)

    def warn_uncounted(self, workspace: "Workspace") -> None:
        """Say what stands in the plan file and does not count, since it came while an agent works."""
        if edits := workspace.store.uncounted_edits():
            text = f"edited in the plan while an agent works: {'; '.join(edits)}"
            self.warn(text, "this counts once the run is approved; commands such as `edit` count at once")


def read_text(file: str) -> str:
    """Return the text of a file, or of standard input for ``-``. Raises UsageError."""
    from git_blackbird.controller.core.named_files import STDIN, load_text  # few name a file

    if file == STDIN and sys.stdin is not None and sys.stdin.isatty():
        click.echo("reading what you type; Ctrl+D on an empty line ends it", err=True)
    return load_text(file)


def event_line(name: str, value: object) -> str:
    """Return one line of the event stream with its end."""
    from git_blackbird.cli.json_values import encode  # only programs wait for it

    line = {"schemaVersion": JSON_SCHEMA_VERSION, "event": name, **encode(value)}
    return _render_json(line) + "\n"


def _render_json(value: Mapping[str, Any]) -> str:
    """Return one line of ASCII. A surrogate for a byte that is not UTF-8, as in a path, becomes U+FFFD."""
    return re.sub(_SURROGATES, _replace_lone, json.dumps(value, ensure_ascii=True))


def _replace_lone(match: re.Match[str]) -> str:
    return "\\ufffd" if match["lone"] else match[0]


def drop_output() -> None:
    """Let what is still printed go nowhere: the reader has left, as under a pager that was closed."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())


def flush_or_drop() -> None:
    """Print what was held back, or let it go: nothing is left that could fail while the process ends."""
    try:
        sys.stdout.flush()
    except (OSError, OutputError):
        drop_output()


@contextlib.contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Print something whose reader may be gone: what was done, and its exit code, stay what they are."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def print_error(error: BlackbirdError, *, as_json: bool) -> None:
    """Say what went wrong on standard error, and to programs on standard output too."""
    if not error.is_told:
        _tell(error)
    if as_json:
        fault = {"message": error.message, "hint": error.hint, "exitCode": int(error.exit_code)}
        # What it says was said already; standard output may be the very thing that is wrong.
        with contextlib.suppress(OSError, OutputError):
            click.echo(_render_json({"schemaVersion": JSON_SCHEMA_VERSION, "error": fault}))


def _line(text: str) -> "Line":
    from git_blackbird.messages.document import line  # help and completion have none

    return line(text)


def _tell(error: BlackbirdError) -> None:
    for note in error_notes(error):
        click.echo(note, err=True)
    word = "fatal" if error.exit_code == ExitCode.UNUSABLE else "error"
    click.echo(f"{word}: {error.message}", err=True)
    _hints(error.hint)


def _hints(hint: str | None) -> None:
    for line in (hint or "").splitlines():
        click.echo(_line(f"hint: {line}").text, err=True)


_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}
_MANY = 4096


def confirm(question: str, *, default: bool, err: bool = False) -> bool:
    """Ask until the answer is yes, no, or empty for the default.

    Raises click.Abort for Ctrl+C and at the end of input.
    """
    prompt = f"{question} [{'Y/n' if default else 'y/N'}]: "
    answers = _ANSWERS | {"": default}
    try:
        while True:
            answer = answers.get(ask(prompt, err=err).lower())
            if answer is not None:
                return answer
            click.echo("Error: invalid input", err=err)
    except KeyboardInterrupt:
        raise click.Abort from None


def ask(prompt: str, *, err: bool = False) -> str:
    """Return the line that is typed after a prompt. Raises click.Abort at the end of input."""
    click.echo(_line(prompt).text, nl=False, err=err)
    return _read_line().strip()


def _read_line() -> str:
    """Read a line once there is one.

    ``input`` misses a signal that comes just before it blocks: its handler would run after the next key. A
    terminal that is readable has a whole line.
    """
    with _signal_pipe() as woken:
        while sys.stdin not in select.select([sys.stdin, woken], [], [])[0]:
            # The handlers of these signals have run, and raised nothing.
            os.read(woken, _MANY)
    line = sys.stdin.readline()
    if not line:
        raise click.Abort
    return line


@contextlib.contextmanager
def _signal_pipe() -> Iterator[int]:
    """Yield a descriptor that is readable as soon as a signal has come for which there is a handler."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    former = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(former)
        os.close(reader)
        os.close(writer)
