"""``runs --log`` and ``--follow``: the steps of a run's agent, or both its streams as printed.

Imports the agents: to be imported only by what shows a run's output.
"""

import sys
from collections.abc import Iterator
from itertools import chain

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.transcript import ProgressLog
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries import runs as run_queries
from git_blackbird.controller.queries.transcripts import FollowedSteps, followed_steps, saved_steps
from git_blackbird.messages.document import line
from git_blackbird.model.base.sanitize import StreamSanitizer, shell_word
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus


def show_log(call: CommandContext, workspace: Workspace, run: Run, *, raw: bool) -> None:
    """Page the steps in the saved output; the output itself if it has none, or if it is wanted."""
    pieces = _streams(workspace, run) if raw else _steps_or_streams(call, workspace, run)
    if sys.stdout.isatty() and run_queries.page_text(workspace, (piece.encode() for piece in pieces)):
        return
    for piece in pieces:
        call.write(piece)


def _steps_or_streams(call: CommandContext, workspace: Workspace, run: Run) -> Iterator[str]:
    transcript = ProgressLog(colored=call.colored)
    columns = call.columns
    blocks = filter(None, (transcript.render(step, columns) for step in saved_steps(workspace, run)))
    first = next(blocks, None)
    if first is None:
        yield from _streams(workspace, run)
        return
    yield line(f"==> run {run.id} of {run.task_id}, {run.provider} <==").text + "\n"
    yield first
    yield from blocks
    yield transcript.finish(run.usage, run.cost_usd)
    stdout, stderr = run_queries.saved_outputs(workspace, run)
    if stdout.missing:
        yield transcript.remark(f"{stdout.missing} more bytes were not kept")
    if stderr.size:
        yield transcript.remark(f"{stderr.size} bytes on standard error: {_command(run, '--log --raw')}")


def _streams(workspace: Workspace, run: Run) -> Iterator[str]:
    for saved in run_queries.saved_outputs(workspace, run):
        yield f"==> {saved.name} of run {run.id}: {saved.size} bytes <==\n"
        cleaner = StreamSanitizer()
        yield from map(cleaner.feed, saved.pieces)
        yield cleaner.finish()
        if saved.missing:
            yield f"[{saved.missing} more bytes were not kept]\n"


def follow_run(call: CommandContext, workspace: Workspace, run: Run, *, raw: bool) -> None:
    """Show the steps as they are done; what was printed if there are none, or if it is wanted."""
    followed = None if raw else followed_steps(workspace, run)
    if followed is None:
        _write_streams(call, workspace, run)
    else:
        _follow_steps(call, workspace, run, followed)
    ended = run_queries.reread(workspace, run)
    if ended.status is RunStatus.RUNNING:
        call.warn(
            f"the process of run {run.id} is gone, but its record is still open",
            "`git blackbird execute` closes it",
        )
    else:
        call.print_err(f"run {run.id} has ended: {ended.status.value} ({_command(run)})")


def _follow_steps(call: CommandContext, workspace: Workspace, run: Run, followed: FollowedSteps) -> None:
    transcript = ProgressLog(colored=call.colored)
    earlier = followed.earlier()
    if earlier.passed_over or not earlier.is_whole:
        call.write(transcript.remark(f"earlier steps: {_command(run, '--log')}"))
    has_steps = False
    for step in chain(earlier.steps, followed.live()):
        block = transcript.render(step, call.columns)
        has_steps = has_steps or bool(block)
        call.write(block)
    if not has_steps:
        _write_streams(call, workspace, run)
    ended = run_queries.reread(workspace, run)
    call.write(transcript.finish(ended.usage, ended.cost_usd))


def _write_streams(call: CommandContext, workspace: Workspace, run: Run) -> None:
    cleaners = {name: StreamSanitizer() for name in run_queries.STREAMS}
    for name, data in run_queries.follow(workspace, run):
        call.write(cleaners[name].feed(data))
    for cleaner in cleaners.values():
        call.write(cleaner.finish())


def _command(run: Run, *options: str) -> str:
    return " ".join(("git blackbird runs", shell_word(run.task_id), run.id, *options))
