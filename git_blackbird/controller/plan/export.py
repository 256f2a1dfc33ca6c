"""The plan for its readers: in other forms, as a picture, and judged."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.plan.page_reading import page_of
from git_blackbird.messages.forms.checklist import render_checklist
from git_blackbird.messages.forms.page import EXPORTED, render_page
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import escape_unseen
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.lint import LintFinding, RequirementSource, lint_plan
from git_blackbird.storage.files import write_private
from git_blackbird.storage.plan_file import render_plan


def export_plan(plan: Plan, form: str) -> str:
    """Return the whole plan as a ``page``, as ``markdown`` or as ``json``."""
    if form == "json":
        return escape_unseen(render_plan(plan).decode())
    page = []
    for task in page_of(plan):
        status = plan.tasks[TaskId(task.fields["id"])].status
        given = {} if status is Status.TODO else {"status": status.value}
        page.append(replace(task, fields={**task.fields, **given}))
    if form == "page":
        return render_page(page, [f"{EXPORTED}: the line at the end says that nothing is cut off"])
    return render_checklist(page)


def save_picture(workspace: Workspace, text: str) -> Path:
    """Replace the file of the picture that a browser is shown. Raises SaveError."""
    write_private(workspace.paths.picture, text.encode(errors="replace"))
    return workspace.paths.picture


def judge_plan(workspace: Workspace, sources: Sequence[RequirementSource] = ()) -> tuple[LintFinding, ...]:
    """Return what is doubtful in the plan, and which requirements of the sources it does not cover."""
    plan = workspace.plan_state().plan
    return lint_plan(plan, sources, has_check=bool(workspace.checks))
