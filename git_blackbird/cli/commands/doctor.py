"""``doctor`` says what is broken and mends it, ``prune`` removes what nothing needs any more."""

import sys
from collections.abc import Iterator

from git_blackbird.cli.commands.run import build_ui
from git_blackbird.cli.output import CommandContext, confirm
from git_blackbird.controller.core.workspace import shorten_path
from git_blackbird.controller.doctor.diagnosis import Diagnosis, diagnose, mend
from git_blackbird.controller.doctor.prune import Removable, find_removable, remove_unneeded
from git_blackbird.controller.queries.agents import AgentView
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.quantities import counted, render_bytes
from git_blackbird.messages.document import Section, section, table
from git_blackbird.model.views.doctor import Finding


def doctor(call: CommandContext, *, fix: bool) -> ExitCode:
    diagnosis = diagnose(call.environment)
    if fix and diagnosis.workspace is not None:
        with build_ui(call, diagnosis.workspace, stream=False) as ui:
            diagnosis = mend(diagnosis, ui)
    call.lines(_diagnosis_lines(diagnosis))
    call.show(_sections(diagnosis))
    if call.as_json:
        from git_blackbird.cli.printed.setup import DoctorOutput

        call.data(DoctorOutput(diagnosis))
    return ExitCode.FAILED if diagnosis.findings else ExitCode.OK


def _diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    for finding in diagnosis.mended:
        yield f"mended: {_title(finding)}"
        yield f"  {_place(diagnosis, finding)}"
    for finding in diagnosis.findings:
        yield _title(finding)
        yield f"  {_place(diagnosis, finding)}"
        yield from (f"  {line}" for step in finding.steps for line in step.splitlines())
    if not diagnosis.findings:
        yield "nothing is wrong" if not diagnosis.mended else "nothing else is wrong"


def _sections(diagnosis: Diagnosis) -> Iterator[Section]:
    heads = ("", "version", "reviews", "may")
    yield section("agents", [table([heads, *map(_agent_row, diagnosis.agents)] if diagnosis.agents else ())])
    if (use := diagnosis.disk_use) is not None:
        counts = f"{counted(use.records, 'record')} and {counted(use.references, 'reference')}"
        text = f"{counts}, {render_bytes(use.disk_bytes)}; `git blackbird prune` removes what nothing needs"
        yield section("on disk", [text])


def _title(finding: Finding) -> str:
    return f"{finding.subject}: {finding.what}"


def _place(diagnosis: Diagnosis, finding: Finding) -> str:
    workspace = diagnosis.workspace
    return finding.where if workspace is None else shorten_path(workspace, finding.where)


def _agent_row(agent: AgentView) -> tuple[str, ...]:
    probed = agent.inspection
    said = probed.blocked_reason or "; ".join((probed.powers, *probed.remarks))
    return agent.name, probed.version or "-", ", ".join(agent.enforced) or "-", said


def prune(call: CommandContext, *, keep: int, dry_run: bool, yes: bool) -> ExitCode:
    found = find_removable(call.workspace, keep)
    lines = [*_removable_lines(found)]
    call.lines(lines or [f"nothing to remove of runs that ended more than {counted(keep, 'day')} ago"])
    is_agreed = bool(lines) and not dry_run and (yes or _is_agreed(call, keep))
    if is_agreed:
        found = remove_unneeded(call.workspace, keep)
        call.print("removed")
    if call.as_json:
        from git_blackbird.cli.printed.setup import PruneOutput

        call.data(PruneOutput(found, removed=is_agreed))
    return ExitCode.OK


def _is_agreed(call: CommandContext, keep: int) -> bool:
    if not call.can_confirm(sys.stdout):
        hint = f"git blackbird prune --keep {keep} --yes"
        raise UsageError("nobody can be asked whether to remove this", hint=hint)
    return confirm("Remove all of this?", default=False)


def _removable_lines(found: Removable) -> Iterator[str]:
    if found.runs:
        tasks = counted(len({run.task_id for run in found.runs}), "task")
        yield f"{counted(len(found.runs), 'run')} of {tasks}, with records and references"
    if found.logs:
        yield f"{counted(len(found.logs), 'log')} of old runs, {render_bytes(found.log_bytes)}"
    if found.references:
        yield f"{counted(len(found.references), 'reference')} of runs that no worktree has a record of"
