"""``runs --log`` and ``--follow``: the steps of a run's agent, or both its streams as printed.

Imports the agents: to be imported only by what shows a run's output.
"""

import sys
from collections.abc import Callable, Iterator

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.transcript import ProgressLog
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries import runs as run_queries
from git_blackbird.controller.queries.transcripts import followed_steps, saved_steps
from git_blackbird.model.base.sanitize import StreamSanitizer, clean_line, shell_word
from git_blackbird.model.entities.run import Run, RunStatus


def _show_log(call: CommandContext, workspace: Workspace, run: Run) -> None:
    """Show the steps in the saved output; if it has none, the output itself."""
    _page(call, workspace, _steps_or_streams(call, workspace, run))


def _show_raw_log(call: CommandContext, workspace: Workspace, run: Run) -> None:
    _page(call, workspace, _streams(workspace, run))


def _page(call: CommandContext, workspace: Workspace, pieces: Iterator[str]) -> None:
    if sys.stdout.isatty() and run_queries.page_text(workspace, (piece.encode() for piece in pieces)):
        return
    for piece in pieces:
        call.output.write(piece)


def _steps_or_streams(call: CommandContext, workspace: Workspace, run: Run) -> Iterator[str]:
    transcript = ProgressLog(colored=call.output.colored)
    columns = call.output.columns
    blocks = filter(None, (transcript.render(step, columns) for step in saved_steps(workspace, run)))
    first = next(blocks, None)
    if first is None:
        yield from _streams(workspace, run)
        return
    yield f"==> run {run.id} of {clean_line(run.task_id)}, {clean_line(run.provider)} <==\n"
    yield first
    yield from blocks
    yield transcript.finish(run.usage, run.cost_usd)
    stdout, stderr = run_queries.saved_outputs(workspace, run)
    if stdout.missing:
        yield transcript.remark(_missing(stdout))
    if stderr.size:
        yield transcript.remark(f"{stderr.size} bytes on standard error: {_way(run, '--log --raw')}")


def _streams(workspace: Workspace, run: Run) -> Iterator[str]:
    for saved in run_queries.saved_outputs(workspace, run):
        yield f"==> {saved.name} of run {run.id}: {saved.size} bytes <==\n"
        yield from _cleaned(saved.pieces)
        if saved.missing:
            yield f"[{_missing(saved)}]\n"


def _missing(saved: run_queries.SavedOutput) -> str:
    return f"{saved.missing} more bytes were not kept: execution.logMegabytes"


def _cleaned(pieces: Iterator[bytes]) -> Iterator[str]:
    cleaner = StreamSanitizer()
    for data in pieces:
        yield cleaner.feed(data)
    yield cleaner.finish()


def _follow(call: CommandContext, workspace: Workspace, run: Run) -> None:
    """Show the steps as they are done, and where there was none until the end, what was printed."""
    followed = followed_steps(workspace, run)
    if followed is None:
        _follow_raw(call, workspace, run)
        return
    transcript = ProgressLog(colored=call.output.colored)
    earlier = followed.earlier()
    if earlier.passed_over or not earlier.is_whole:
        call.output.write(transcript.remark(f"earlier steps: {_way(run, '--log')}"))
    has_steps = False
    for steps in (earlier.steps, followed.live()):
        for step in steps:
            block = transcript.render(step, call.output.columns)
            has_steps = has_steps or bool(block)
            call.output.write(block)
    if not has_steps:
        _write_streams(call, workspace, run)
    ended = run_queries.reread(workspace, run)
    call.output.write(transcript.finish(ended.usage, ended.cost_usd))
    _say_end(call, ended)


def _follow_raw(call: CommandContext, workspace: Workspace, run: Run) -> None:
    _write_streams(call, workspace, run)
    _say_end(call, run_queries.reread(workspace, run))


def _write_streams(call: CommandContext, workspace: Workspace, run: Run) -> None:
    cleaners = {name: StreamSanitizer() for name in run_queries.STREAMS}
    for name, data in run_queries.follow(workspace, run):
        call.output.write(cleaners[name].feed(data))
    for cleaner in cleaners.values():
        call.output.write(cleaner.finish())


def _say_end(call: CommandContext, run: Run) -> None:
    if run.status is RunStatus.RUNNING:
        call.output.warn(
            f"the process of run {run.id} is gone, but its record is still open",
            "`git blackbird execute` closes it",
        )
    else:
        call.output.print_err(f"run {run.id} has ended: {run.status.value} ({_way(run)})")


def _way(run: Run, *options: str) -> str:
    return " ".join(("git blackbird runs", shell_word(run.task_id), run.id, *options))


SHOWS: dict[str, Callable[[CommandContext, Workspace, Run], None]] = {
    "log": _show_log,
    "raw log": _show_raw_log,
    "follow": _follow,
    "raw follow": _follow_raw,
}
