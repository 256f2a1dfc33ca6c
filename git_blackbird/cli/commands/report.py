"""The commands report, of what was done, checked and spent, and estimate, of what is left."""

from git_blackbird.cli.commands.run import open_with_flags
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.estimate import estimate_lines
from git_blackbird.cli.render.report import report_document
from git_blackbird.controller.queries.report import build_estimate, build_report, save_page
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.format import render_path
from git_blackbird.model.base.system import gc_paused


def report(call: CommandContext, *, since: str | None, page: str | None) -> ExitCode:
    workspace = call.workspace
    with gc_paused():
        found = build_report(workspace, since)
    if page is None:
        call.show(report_document(found))
    else:
        from git_blackbird.cli.render.report_page import render_page  # only a page pays for it

        save_page(workspace, page, render_page(found))
        call.print(f"wrote {render_path(page)}")
    if call.as_json:
        from git_blackbird.cli.printed.report import ReportOutput

        call.data(ReportOutput(found, page))
    call.warn_records(found.faults)
    call.warn_problems(workspace)
    return ExitCode.OK


def estimate(call: CommandContext, *, jobs: int | None) -> ExitCode:
    workspace = open_with_flags(call, {"execution.jobs": jobs})
    with gc_paused():
        found = build_estimate(workspace)
    call.show(estimate_lines(found))
    if call.as_json:
        from git_blackbird.cli.printed.report import EstimateOutput

        call.data(EstimateOutput(found))
    return ExitCode.OK
