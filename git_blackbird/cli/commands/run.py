"""Commands that run agents or decide what becomes of what they did."""

import asyncio
import contextlib
import re
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from git_blackbird import trace
from git_blackbird.cli.output import CommandContext, read_text
from git_blackbird.cli.render.stops import show_stop, show_timings
from git_blackbird.cli.stdio import is_capable_terminal
from git_blackbird.cli.ui.base import BaseUI
from git_blackbird.cli.ui.writer import Writer
from git_blackbird.cluster import join_cluster
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.core.drafts import write_message
from git_blackbird.controller.core.workspace import Workspace, find_task, hold_controller, lock_holder
from git_blackbird.controller.engine.commands import (
    ResumeRequest,
    execute_loop,
    require_messageable,
    restart_loop,
    resume_all_loop,
    resume_loop,
)
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.controller.launch.launch import AtTerminal
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.events import render_told
from git_blackbird.messages.incoming.questions import parse_texts
from git_blackbird.model.base.next_steps import MESSAGE, TaskCommand
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.base.system import Debouncer
from git_blackbird.model.config.layers import Layer, RawSetting
from git_blackbird.model.rules.scope import CallScope
from git_blackbird.model.rules.spending import BudgetScope, BudgetUnit
from git_blackbird.model.views.events import Timings
from git_blackbird.model.views.stop import Stop

T = TypeVar("T")
_PAUSING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruptible(Protocol):
    """What runs until its end, or until someone interrupts it; ``scope`` is what it may do."""

    @property
    def scope(self) -> CallScope: ...

    def interrupt(self) -> None:
        """Pause what runs and stop; a second interrupt kills it."""
        ...


@contextlib.contextmanager
def loop_runner(workspace: Workspace, command: str, loop: Interruptible) -> Iterator[asyncio.Runner]:
    """Yield what runs a loop: a first SIGINT, SIGTERM or SIGHUP pauses, a second kills.

    Raises LockedError when another process runs agents here.
    """
    with hold_controller(workspace, command, **loop.scope.told), asyncio.Runner() as runner:
        events = runner.get_loop()
        presses = Debouncer(events.time)
        for number in _PAUSING:
            events.add_signal_handler(number, interrupt_once, presses, loop.interrupt)
        yield runner


def run_loop(workspace: Workspace, command: str, loop: Loop) -> Stop:
    """Run a loop to its stop. Raises LockedError as ``loop_runner`` does, and what the loop raises."""
    with loop_runner(workspace, command, loop) as runner:
        return runner.run(loop.run(join_cluster))


def run_looking(call: CommandContext, look: Callable[[Call], Coroutine[Any, Any, T]]) -> T:
    """Run what starts no task, and is a call of its own. Raises as ``loop_runner`` and what looks do."""
    workspace = call.workspace
    workspace.require_settings()
    with build_ui(call, workspace, stream=False) as ui:
        looking = Call(workspace, ui, CallScope(only=frozenset(), starts_left=0))
        with loop_runner(workspace, call.command, looking) as runner:
            return runner.run(look(looking))


def interrupt_once(presses: Debouncer, interrupt: Callable[[], None]) -> None:
    """Take a signal; one that comes with the last is the same press."""
    if presses.is_new():
        interrupt()


class MessageOptions(NamedTuple):
    """What ``-m``, ``-F`` and ``-e`` gave; the editor is opened when the words are read."""

    words: str | None
    in_editor: bool

    @classmethod
    def checked(cls, call: CommandContext, message: str | None, file: str | None, *, in_editor: bool) -> Self:
        """Read the options. Raises UsageError where they do not go together."""
        words = read_message(message, file)
        if in_editor and words is not None:
            raise UsageError("-e cannot be combined with -m or -F")
        if in_editor and call.no_input:
            raise UsageError(
                "-e needs an interactive terminal", hint="say it with -m or -F, or leave --no-input out"
            )
        return cls(words, in_editor)

    @property
    def is_given(self) -> bool:
        """Whether there is, or will be, something to tell."""
        return self.words is not None or self.in_editor

    def read(self, workspace: Workspace, task_id: str) -> str | None:
        """Return the words; from the editor they begin with the draft there is. Raises RequestError."""
        if not self.in_editor:
            return self.words
        return write_message(workspace, find_task(workspace.store.plan(), task_id).id)


def read_message(message: str | None, file: str | None) -> str | None:
    """Return the words of ``-m`` or ``-F``, unchanged.

    Raises UsageError when both are given, the file cannot be read, or there are none in it.
    """
    if file is None:
        if message is not None and not message.strip():
            raise UsageError("-m is empty")
        return message
    if message is not None:
        raise UsageError("-m and -F cannot be combined")
    return read_text(file)


def execute(
    call: CommandContext,
    task_ids: tuple[str, ...],
    *,
    dry_run: bool,
    limit: int | None,
    until: str | None,
    jobs: int | None,
    worktrees: bool | None,
    cluster: str | None,
    budget: tuple[str, ...],
    stop: bool | None,
    reviews: str | None,
    agent: str | None,
    stream: bool,
    timings: bool,
) -> ExitCode:
    flags: dict[str, str | int | None] = {"execution.jobs": jobs, "execution.worktrees": worktrees}
    flags |= {"agent": agent, "execution.stopAfterEachTask": stop, "reviews.mode": reviews}
    flags["cluster.address"] = cluster
    end = None if until is None else parse_until(until, call.environment.now())
    workspace = open_with_flags(call, flags | budget_flags(budget))
    if worktrees is False and workspace.config.cluster.address:
        raise UsageError("agents on a cluster need worktrees of their own", hint="leave --no-worktrees out")
    if worktrees is False and workspace.is_parallel:
        raise UsageError("several jobs need worktrees of their own", hint="add --jobs 1")
    if dry_run:
        from git_blackbird.cli.render.estimate import show_dry_run
        from git_blackbird.controller.engine.dry_run import forecast
        from git_blackbird.controller.queries.report import build_estimate

        foreseen = forecast(workspace, task_ids, limit)
        return show_dry_run(call, foreseen, build_estimate(workspace, foreseen.starts))
    return run_loop_command(
        call,
        workspace,
        lambda ui: execute_loop(workspace, ui, task_ids, limit, end),
        stream=stream,
        timings=timings,
    )


_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def parse_until(until: str, now: int) -> int:
    """Return a time of day, the next such time here, or an ISO time; in nanoseconds since 1970, as ``now``.

    Raises UsageError for any other text, for a time that has passed, and for the present minute, which could
    mean at once or a day later.
    """
    here = datetime.fromtimestamp(now / 10**9)  # noqa: DTZ006  # a time of day is meant as clocks here show it
    try:
        if clock := _CLOCK.fullmatch(until):
            at = here.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
            is_present = at == here.replace(second=0, microsecond=0)
            at = at if at > here else at + timedelta(days=1)
            if is_present:
                hint = f"--until {at:%Y-%m-%dT%H:%M} is that time tomorrow"
                raise UsageError(f"--until: it is {until} already, so nothing would start", hint=hint)
        else:
            at = datetime.fromisoformat(until)
        moment = int(at.timestamp()) * 10**9
    except (ValueError, OverflowError, OSError):
        hint = "--until 07:30, the next such time, or --until 2026-05-01T07:30; a date alone begins at 00:00"
        raise UsageError(f"--until: {quoted(until)} is no time", hint=hint) from None
    if moment <= now:
        raise UsageError(f"--until: {until} has passed")
    return moment


def resume(
    call: CommandContext,
    task_id: str,
    *,
    below: bool,
    message: str | None,
    message_file: str | None,
    in_editor: bool,
    answers: tuple[str, ...],
    interactive: bool,
    cluster: str | None,
    budget: tuple[str, ...],
    stop: bool | None,
    reviews: str | None,
    stream: bool,
    timings: bool,
) -> ExitCode:
    options = MessageOptions.checked(call, message, message_file, in_editor=in_editor)
    if interactive:
        is_more = below or options.is_given or answers or cluster is not None or stream
        _require_terminal(call, task_id, is_more=bool(is_more))
    if below and (options.is_given or answers):
        raise UsageError("--all tells each task what its review found; -m and --answer go with one task")
    parsed = parse_texts("--answer", answers)
    flags: dict[str, str | int | None] = {"execution.stopAfterEachTask": stop, "reviews.mode": reviews}
    flags |= {"cluster.address": cluster}
    workspace = open_with_flags(call, flags | budget_flags(budget))
    if below:
        return run_loop_command(
            call,
            workspace,
            lambda ui: resume_all_loop(workspace, ui, task_id),
            stream=stream,
            timings=timings,
        )
    if in_editor:
        require_messageable(workspace, task_id, is_answered=bool(parsed))
    request = ResumeRequest(task_id, options.read(workspace, task_id), parsed)

    def prepare(ui: BaseUI) -> Loop:
        launcher = AtTerminal(workspace, ui.run_apart) if interactive else None
        return resume_loop(workspace, ui, replace(request, launcher=launcher))

    return run_loop_command(call, workspace, prepare, stream=stream, timings=timings)


def _require_terminal(call: CommandContext, task_id: str, *, is_more: bool) -> None:
    """Refuse to open a session by hand without a terminal, or with what is for an agent that works alone.

    Raises UsageError.
    """
    way = TaskCommand("resume", task_id, blank=MESSAGE, remark="sends your text instead")
    if is_more or call.as_json:
        text = "--interactive goes with one TASK alone: you speak with its agent yourself"
        raise UsageError(text, hint=way)
    if call.no_input or not is_capable_terminal(call.environment.environ):
        raise UsageError("--interactive needs a terminal", hint=way)


def restart(
    call: CommandContext,
    task_id: str,
    *,
    message: str | None,
    message_file: str | None,
    in_editor: bool,
    cluster: str | None,
    budget: tuple[str, ...],
    stop: bool | None,
    reviews: str | None,
    agent: str | None,
    stream: bool,
    timings: bool,
) -> ExitCode:
    options = MessageOptions.checked(call, message, message_file, in_editor=in_editor)
    flags: dict[str, str | int | None] = {"agent": agent, "execution.stopAfterEachTask": stop}
    flags["reviews.mode"] = reviews
    workspace = open_with_flags(call, flags | {"cluster.address": cluster} | budget_flags(budget))
    message = options.read(workspace, task_id)
    return run_loop_command(
        call,
        workspace,
        lambda ui: restart_loop(workspace, ui, task_id, message),
        stream=stream,
        timings=timings,
    )


def tell(
    call: CommandContext,
    task_id: str,
    *,
    words: str | None,
    message: str | None,
    message_file: str | None,
    in_editor: bool,
    at_once: bool,
) -> ExitCode:
    # Those that start agents tell nothing.
    from git_blackbird.controller.change.work.tell import require_tellable
    from git_blackbird.controller.change.work.tell import tell as tell_agent

    if words is not None and message is not None:
        raise UsageError("say the text once: TEXT, or -m")
    message = words if message is None else message
    options = MessageOptions.checked(call, message, message_file, in_editor=in_editor)
    if not options.is_given:
        raise UsageError("there is nothing to tell", hint=TaskCommand("tell", task_id, blank=MESSAGE))
    workspace = call.workspace
    if in_editor:
        require_tellable(workspace, task_id)
    run = tell_agent(workspace, task_id, options.read(workspace, task_id) or "", at_once=at_once)
    is_watched = lock_holder(workspace) is not None
    call.print(render_told(run, is_watched=is_watched))
    if is_watched and not run.stops_at_once:
        call.print("with --now it does not wait for the step")
    if call.as_json:
        from git_blackbird.cli.printed.changes import TellOutput

        call.data(TellOutput(run, is_watched=is_watched))
    return ExitCode.OK


def open_with_flags(call: CommandContext, flags: Mapping[str, str | int | None]) -> Workspace:
    """Open the workspace; the options that are given, by their keys, overrule the configuration."""
    given = ((key, value) for key, value in flags.items() if value is not None)
    settings = [RawSetting(key, value, Layer.FLAG, "command line") for key, value in given]
    return call.open(settings)


def budget_flags(given: tuple[str, ...]) -> dict[str, str | int | None]:
    """Return the settings of ``--budget UNIT=AMOUNT``. Raises UsageError."""
    if not given:
        return {}
    from git_blackbird.controller.config.settings import require_key, require_value  # few limit a call

    amounts = parse_texts("--budget", given, "UNIT=AMOUNT")
    for unit in amounts.keys() - set(BudgetUnit):
        raise UsageError(f"--budget has no unit {unit}", hint=f"one of {', '.join(BudgetUnit)}, as in usd=5")
    keys = {f"budget.{BudgetScope.CALL}.{unit}": amount for unit, amount in amounts.items()}
    for name, amount in keys.items():
        require_value(require_key(name), amount)
    return dict(keys)


def run_loop_command(
    call: CommandContext,
    workspace: Workspace,
    prepare: Callable[[BaseUI], Loop],
    *,
    stream: bool,
    timings: bool = False,
) -> ExitCode:
    """Run a loop with the user interface of the call, and print how it ended."""
    for problem in workspace.settings.problems:
        if not problem.fatal:
            call.warn(str(problem), problem.hint)
    spent, began = trace.add_up() if timings else {}, time.monotonic()
    with build_ui(call, workspace, stream=wants_output(call, stream=stream)) as ui:
        loop = prepare(ui)
        with loop_runner(workspace, call.command, loop) as runner:
            stop = runner.run(loop.run(join_cluster))
    if timings:
        show_timings(call, Timings.of(spent, time.monotonic() - began))
    return show_stop(call, stop, ui.shown_reviews)


def wants_output(call: CommandContext, *, stream: bool) -> bool:
    """Whether the output of agents is shown: by the option, or by a variable."""
    return stream or call.environment.environ.get("BLACKBIRD_AGENT_STREAM") == "1"


@contextlib.contextmanager
def build_ui(call: CommandContext, workspace: Workspace, *, stream: bool) -> Iterator[BaseUI]:
    """Yield the user interface that fits the call, and leave the terminal as it was."""
    if call.as_json:
        from git_blackbird.cli.ui.json import JsonUI  # one of three is needed

        with contextlib.closing(Writer()) as writer:
            yield JsonUI(writer, wants_output=stream)
    elif not call.no_input and is_capable_terminal(call.environment.environ):
        from git_blackbird.cli.ui.terminal import TerminalUI  # questionary is for terminals

        with TerminalUI(call, workspace, wants_output=stream) as ui:
            yield ui
    else:
        from git_blackbird.cli.ui.plain import PlainUI  # one of three is needed

        asks = not call.no_input and not _keys_go_to_pager(call)
        with contextlib.closing(Writer()) as writer:
            yield PlainUI(workspace, writer, asks=asks, wants_output=stream)


def _keys_go_to_pager(call: CommandContext) -> bool:
    """Whether a pager that git started reads the keys that would be an answer; warns if so."""
    is_paged = bool(call.environment.environ.get("GIT_PAGER_IN_USE")) and not sys.stdout.isatty()
    if is_paged and sys.stdin.isatty():
        call.warn(
            "git's pager reads the keyboard, so no questions are asked",
            f"`git --no-pager blackbird {call.command}` asks",
        )
        return True
    return False
