"""Edit a task as a form in the user's editor, without losing text."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.plan.edit import EditResult, edit_task
from git_blackbird.errors import BlackbirdError, InterruptedByUserError, RequestError, UnusableError
from git_blackbird.git.core.config import edit_file, editor_command
from git_blackbird.messages.forms.task_form import (
    FormError,
    has_faults,
    is_blank,
    parse_form,
    render_form,
    with_faults,
)
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.plan_edits import FIELD_NAMES, FieldConflictError, TaskFields, merge_fields
from git_blackbird.storage.drafts import (
    create_draft,
    drafts_of,
    drop_draft,
    hold_draft,
    load_base,
    load_draft,
    save_base,
    save_draft,
)

_EARLIER_TEXT = (
    "This is your earlier text, which was not accepted yet. Save it, or empty the file to drop it."
)
WantsAgain = Callable[[RequestError], bool]
"""Asks whether a text is to be edited again, given what is wrong with it.

Raises InterruptedByUserError when the question is broken off.
"""


@dataclass(frozen=True)
class FormState:
    """An open form: its text, the fields it is compared with, and the previous error.

    ``is_left``: an earlier call left it behind.
    """

    text: str
    base: TaskFields
    fault: RequestError | None = None
    is_left: bool = False

    @property
    def is_new(self) -> bool:
        """Whether it is a new form without an error: if nothing is written in it, nothing changes."""
        return self.fault is None and not self.is_left


def edit_in_editor(workspace: Workspace, task_id: str, wants_again: WantsAgain) -> EditResult:
    """Let a person edit a task in the editor that git would use; no lock is held meanwhile.

    What others change in the plan meanwhile is kept, field by field. A text that cannot be taken is offered
    again with what is wrong on top, if that is wanted; else it stays in a file that the error names. What an
    earlier call left behind, however that ended, is offered first.
    """
    # Refuse a task that may not be edited before the editor opens.
    before = edit_task(workspace, task_id, lambda now: now).before
    task = find_task(workspace.store.plan(), task_id)
    with contextlib.ExitStack() as stack:
        offered = _take_up(workspace, task, before, stack)
        if offered is None:
            remarks = [
                f"Another draft of it is kept in {path}" for path in drafts_of(workspace.paths, task.id)
            ]
            form = render_form(_about(task), before, remarks)
            draft = create_draft(workspace.paths, task.id, form)
            stack.enter_context(hold_draft(workspace.paths, draft))
            offered = FormState(form, before), draft
        return EditSession(workspace, task, *offered).run(wants_again)


def _take_up(
    workspace: Workspace, task: Task, now: TaskFields, stack: contextlib.ExitStack
) -> tuple[FormState, Path] | None:
    """Offer again the first draft that was left behind, against the form that it was made from."""
    for path in drafts_of(workspace.paths, task.id):
        form, text = load_base(path), _load(path)
        if form is None or text is None or not stack.enter_context(hold_draft(workspace.paths, path)):
            continue
        if text == form or is_blank(text):
            # Nothing was written in it.
            drop_draft(path)
            continue
        try:
            base = parse_form(form, now)
        except FormError:
            continue
        again = text if has_faults(text) else with_faults(text, [_EARLIER_TEXT])
        save_draft(path, again)
        return FormState(again, base, is_left=True), path
    return None


def _about(task: Task) -> str:
    below = "" if task.parent is None else f", below {task.parent}"
    return f"Task {task.id} ({task.status.value}{below})"


class EditSession:
    """The editing of one task, from the first form to the change or to a saved draft."""

    def __init__(self, workspace: Workspace, task: Task, offer: FormState, draft: Path) -> None:
        self._workspace = workspace
        self._task = task
        self._offer = offer
        self._editor = editor_command(workspace.repo)
        self._draft = draft

    def run(self, wants_again: WantsAgain) -> EditResult:
        """Edit until the form can be taken or the person gives up."""
        while True:
            text = self._text_from_editor()
            try:
                result = self._take(text)
            except RequestError as fault:
                self._offer = _next_offer(_about(self._task), self._offer, text, fault)
                save_draft(self._draft, self._offer.text)
                save_base(
                    self._workspace.paths, self._draft, render_form(_about(self._task), self._offer.base)
                )
                try:
                    is_wanted = wants_again(fault)
                except InterruptedByUserError as error:
                    raise _with_draft_hint(error, self._draft) from None
                if not is_wanted:
                    raise _with_draft_hint(fault, self._draft) from None
            except BlackbirdError as error:
                raise _with_draft_hint(error, self._draft) from None
            else:
                drop_draft(self._draft)
                return result

    def _text_from_editor(self) -> str:
        """Return the edited text; on an error, remove a draft that is not worth keeping."""
        code = edit_file(self._workspace.repo, self._editor, self._draft)
        text = _load(self._draft)
        untouched = text == self._offer.text
        if code != 0:
            error = RequestError(
                f"there was a problem with the editor '{self._editor}' (exit status {code})",
                hint="nothing was changed\n`git config core.editor EDITOR` chooses another",
            )
            raise self._kept_draft_error(error, worthless=untouched and self._offer.is_new)
        if text is None:
            raise RequestError("the editor left no file behind", hint="nothing was changed")
        if is_blank(text):
            raise self._kept_draft_error(
                RequestError("the form is empty: nothing was changed"), worthless=True
            )
        fault = self._offer.fault
        if untouched and fault is not None and not isinstance(fault, FieldConflictError):
            raise _with_draft_hint(fault, self._draft)
        return text

    def _take(self, text: str) -> EditResult:
        base = self._offer.base
        mine = base if text == self._offer.text and self._offer.is_new else parse_form(text, base)
        return edit_task(self._workspace, self._task.id, lambda now: merge_fields(base, mine, now))

    def _kept_draft_error(self, error: RequestError, *, worthless: bool) -> BlackbirdError:
        if worthless:
            drop_draft(self._draft)
            return error
        return _with_draft_hint(error, self._draft)


def _load(draft: Path) -> str | None:
    try:
        return load_draft(draft)
    except OSError as error:
        raise UnusableError(f"cannot read {draft}: {error.strerror}", hint="nothing was changed") from error


def _with_draft_hint(error: BlackbirdError, draft: Path) -> BlackbirdError:
    """Add the path of the saved draft to the error."""
    error.ways_out = (*error.ways_out, f"your text is kept in {draft}")
    return error


def _next_offer(about: str, offer: FormState, text: str, fault: RequestError) -> FormState:
    """Put the faults on top of the text; after a conflict, on top of both people's changes merged."""
    if isinstance(fault, FieldConflictError):
        form = with_faults(render_form(about, fault.merged), list(_conflicts(fault)))
        return FormState(form, fault.theirs, fault)
    faults = fault.faults if isinstance(fault, FormError) else (fault.message,)
    return FormState(with_faults(text, faults), offer.base, fault)


def _conflicts(conflict: FieldConflictError) -> Iterator[str]:
    yield f"{conflict.message}. Below is your text; save it to keep it. Theirs:"
    for name in conflict.names:
        value = getattr(conflict.theirs, name)
        lines = (value or "").split("\n") if value is None or isinstance(value, str) else value
        yield f"{FIELD_NAMES[name]}:"
        yield from (f"    {line}" for line in lines)
