"""Read tasks of any form: which it is, is seen by its shape, or said."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, assert_never

from git_blackbird.errors import RequestError
from git_blackbird.messages.forms.imports.backlog import is_backlog, read_backlog
from git_blackbird.messages.forms.imports.beads import is_beads, load_lines, read_beads
from git_blackbird.messages.forms.imports.checklist import ITEM, read_checklist
from git_blackbird.messages.forms.imports.common import LeftOut, Source, fault_of, source_of
from git_blackbird.messages.forms.imports.github import is_github, read_github
from git_blackbird.messages.forms.imports.speckit import TASK, read_spec_kit
from git_blackbird.messages.forms.imports.taskmaster import is_task_master, read_task_master
from git_blackbird.messages.forms.natural import load_json_text, read_page
from git_blackbird.messages.forms.page import PageError, PageTask, has_page_signs, ids_by_title
from git_blackbird.model.base.ids import IdIndex, fold_task_id, task_id_from
from git_blackbird.model.plan.task_forms import TaskForm

_HEADING = re.compile(r"^##+ +\S", re.MULTILINE)
_UNKNOWN = "it has no tasks in a form that is known"


class TaskFile(NamedTuple):
    """A text, and the name of the file that it is from."""

    name: str
    text: str


def _page(text: str) -> Source:
    page = read_page(text)
    taken = {fold_task_id(task.fields["id"]) for task in page if "id" in task.fields}
    named: dict[str, PageTask] = {}
    for task in page:
        task_id = task.fields.get("id") or task_id_from(task.title, taken)
        if task_id in named:
            raise PageError([fault_of(task, f"a second task {task_id}")])
        taken.add(fold_task_id(task_id))
        named[task_id] = replace(task, fields={**task.fields, "id": task_id})
    return Source(tuple(_with_ids(named)))


def _with_ids(page: Mapping[str, PageTask]) -> Iterator[PageTask]:
    """Write ids where a page names tasks by their titles or the beginnings of ids."""
    titled, index = ids_by_title(page, page.values()), IdIndex(page)

    def full(name: str) -> str:
        found = titled.get(name) or index.find(name)
        return found[0] if name not in page and len(found) == 1 else name

    for task in page.values():
        after = None if task.after is None else tuple(map(full, task.after))
        yield replace(task, after=after, because={full(name): why for name, why in task.because.items()})


def _beads(text: str) -> Source:
    return read_beads(load_json_text(text) if text.lstrip().startswith("[") else load_lines(text))


def read_tasks(files: Sequence[TaskFile], form: TaskForm | None) -> tuple[TaskForm, Source]:
    """Read files of one form, which is found if it is not said; return its name and the tasks.

    Raises RequestError, with file and line.
    """
    files = [file._replace(text=file.text.replace("\r\n", "\n")) for file in files]
    first = files[0]
    with located(first.name):
        form = form or _form_of(first.text)
    if form is TaskForm.BACKLOG:
        return form, _backlog(files)
    if len(files) > 1:
        raise RequestError(
            f"{first.name} has all tasks of its kind: name one file", hint="nothing was changed"
        )
    with located(first.name):
        match form:
            case TaskForm.PAGE:
                source = _page(first.text)
            case TaskForm.SPEC_KIT:
                source = read_spec_kit(first.text)
            case TaskForm.TASK_MASTER:
                source = read_task_master(load_json_text(first.text))
            case TaskForm.BEADS:
                source = _beads(first.text)
            case TaskForm.GITHUB:
                source = read_github(load_json_text(first.text))
            case TaskForm.CHECKLIST:
                source = read_checklist(first.text)
            case _:
                assert_never(form)
        if not source.tasks:
            raise RequestError(_UNKNOWN, hint="nothing was changed; --format FORM says what it is")
    return form, source


def _backlog(files: Sequence[TaskFile]) -> Source:
    left_out = LeftOut()
    tasks = []
    for file in files:
        with located(file.name):
            tasks.append(read_backlog(file.text, left_out))
    ids = {fold_task_id(task.id or ""): task.id for task in tasks}
    above = (ids.get(fold_task_id(task.parent), task.parent) if task.parent else None for task in tasks)
    nested = [task.model_copy(update={"parent": parent}) for task, parent in zip(tasks, above, strict=True)]
    return source_of(nested, left_out)


@contextlib.contextmanager
def located(name: str) -> Iterator[None]:
    """Put the name of a file before the errors in it."""
    try:
        yield
    except RequestError as error:
        lines = tuple(f"{name}: {line}" for line in error.lines)
        raise RequestError(lines, hint=error.ways_out) from error


def _form_of(text: str) -> TaskForm:
    if text.lstrip().startswith(("{", "[")):
        return _json_form(text)
    lines = text.split("\n")
    if is_backlog(text):
        return TaskForm.BACKLOG
    if has_page_signs(text):
        return TaskForm.PAGE
    if any(map(TASK.fullmatch, lines)):
        return TaskForm.SPEC_KIT
    has_items, has_headings = any(map(ITEM.fullmatch, lines)), _HEADING.search(text) is not None
    if has_items and has_headings:
        raise RequestError(
            "its headings may be tasks with criteria, or its items tasks below headings",
            hint="--format page or --format checklist says which",
        )
    if has_items or has_headings:
        return TaskForm.CHECKLIST if has_items else TaskForm.PAGE
    raise RequestError(_UNKNOWN, hint="--format FORM says what it is")


def _json_form(text: str) -> TaskForm:
    try:
        value = load_json_text(text)
    except PageError:
        if _is_beads_line(text.lstrip().partition("\n")[0]):
            return TaskForm.BEADS
        raise
    shapes: Mapping[TaskForm, Callable[[Any], bool]] = {
        TaskForm.BEADS: lambda one: any(map(is_beads, one if isinstance(one, list) else [one])),
        TaskForm.GITHUB: is_github,
        TaskForm.TASK_MASTER: is_task_master,
    }
    return next((form for form, fits in shapes.items() if value and fits(value)), TaskForm.PAGE)


def _is_beads_line(line: str) -> bool:
    with contextlib.suppress(PageError):
        return is_beads(load_json_text(line))
    return False
