"""The command estimate: what is left, in time and money, going by own records."""

from git_blackbird.cli.commands.run import open_with_flags
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.estimate import estimate_lines
from git_blackbird.controller.queries.estimate import build_estimate
from git_blackbird.errors import ExitCode
from git_blackbird.model.base.system import gc_paused


def estimate(call: CommandContext, *, jobs: int | None) -> ExitCode:
    workspace = open_with_flags(call, {"execution.jobs": jobs})
    with gc_paused():
        found = build_estimate(workspace)
    call.lines(estimate_lines(found))
    call.data("report:EstimateOutput", found)
    return ExitCode.OK
