"""The plan in the forms in which it leaves the program."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.plan.page_reading import page_of
from git_blackbird.messages.forms.checklist import render_checklist
from git_blackbird.messages.forms.page import EXPORTED, PageTask, render_page
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import escape_unseen
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.storage.files import write_private
from git_blackbird.storage.plan_file import render_plan


def export_plan(plan: Plan, form: str) -> str:
    """Return the whole plan as a ``page``, as ``markdown`` or as ``json``."""
    if form == "json":
        return escape_unseen(render_plan(plan).decode())
    page = tuple(_with_statuses(plan, page_of(plan)))
    if form == "page":
        return render_page(page, [f"{EXPORTED}: the line at the end says that nothing is cut off"])
    return render_checklist(page)


def save_picture(workspace: Workspace, text: str) -> Path:
    """Write a picture to the file that a browser is shown, in place of the one before. Raises SaveError."""
    write_private(workspace.paths.picture, text.encode(errors="replace"))
    return workspace.paths.picture


def _with_statuses(plan: Plan, page: Sequence[PageTask]) -> Iterator[PageTask]:
    for task in page:
        status = plan.tasks[TaskId(task.fields["id"])].status
        said = {} if status is Status.TODO else {"status": status.value}
        yield replace(task, fields={**task.fields, **said})
