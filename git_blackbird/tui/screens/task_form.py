"""The form of a task, new or old. What others change of it meanwhile is kept, field by field."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Static, TextArea

from git_blackbird.controller.core.drafts import Draft
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.document import Style, editable, styled
from git_blackbird.messages.forms.form_draft import FilledForm, load_filled_form
from git_blackbird.model.rules.task_fields import FIELD_NAMES, FieldConflictError, TaskFields, changed_fields
from git_blackbird.tui.screens.plan_edit import SavingModal, fault_lines
from git_blackbird.tui.widgets.bars import MultiLineInput, SingleLineInput

T = TypeVar("T")
_KEYS = "tab goes on, ctrl+s saves, esc goes back"
_IN_EDITOR = "tab goes on, ctrl+s saves, ctrl+o opens your editor, esc goes back"
_UNSAVED = "not saved: esc again drops what you wrote, ctrl+s saves it"
_SEVERAL_LINES = "a criterion has several lines: ctrl+o changes the criteria in your editor"
_FIELDS: Mapping[str, str] = {
    "title": "Title",
    "prompt": "Prompt: what its agent is to do",
    "acceptance_criteria": "Acceptance criteria, one a line",
    "description": "Description",
    "deps": "After: tasks that must be done first, by comma",
    "agent": "Agent, if not the configured one",
    "model": "Model of that agent",
    "notes": "Notes, for people",
}
_LINES = frozenset({"title", "deps", "agent", "model"})


class TaskForm(SavingModal[T], Generic[T]):
    """Asks for the fields of a task; ``save_form`` saves it or raises.

    A field that nobody touched keeps its exact value. With ``open_editor``, ctrl+o closes it and calls that;
    without, it is the form of a new task, which also asks for an id. The draft has what was written at any
    time.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save_all", "Save", priority=True),
        Binding("ctrl+o", "open_editor", "Editor", priority=True),
    ]

    def __init__(
        self,
        title: str,
        base: TaskFields,
        draft: Draft,
        save_form: Callable[[FilledForm], T],
        open_editor: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(title, _KEYS if open_editor is None else _IN_EDITOR, "full")
        self._draft = draft
        kept = load_filled_form(draft.text)
        self._kept = kept
        self._base = base if kept is None else kept.base
        self._save_form = save_form
        self._open_editor = open_editor
        self._shown: dict[str, str] = {}
        self._is_leaving = False

    def compose_body(self) -> ComposeResult:
        with VerticalScroll(id="form", can_focus=False):
            if self._open_editor is None:
                yield Static("Id; empty: one is made", markup=False)
                yield SingleLineInput(id="id", compact=True)
            for name, label in _FIELDS.items():
                yield Static(label, markup=False)
                yield self._field(name)
        yield from self.compose_fault()

    def _field(self, name: str) -> Input | TextArea:
        text = _text(self._base, name)
        if name in _LINES:
            return SingleLineInput(text, id=name, select_on_focus=False, compact=True)
        area = MultiLineInput(text, id=name, soft_wrap=True, tab_behavior="focus", compact=True)
        area.read_only = name == "acceptance_criteria" and self._has_long_criteria
        return area

    @property
    def _has_long_criteria(self) -> bool:
        return any("\n" in criterion for criterion in self._base.acceptance_criteria)

    def on_mount(self) -> None:
        self._shown = dict(self._texts())
        if self._kept is not None:
            self._fill_in(self._kept)
        elif self._has_long_criteria:
            self.show_fault(styled(_SEVERAL_LINES, Style.FAINT))
        self.query_one("#title", Input).focus()

    def _fill_in(self, kept: FilledForm) -> None:
        """Restore an earlier text that was not saved."""
        for name in changed_fields(kept.base, kept.wanted):
            if name in _LINES:
                self.query_one(f"#{name}", Input).value = _text(kept.wanted, name)
            elif name in _FIELDS:
                self.query_one(f"#{name}", TextArea).text = _text(kept.wanted, name)
        for line in self.query("#id").results(Input):
            line.value = kept.task_id or ""
        self.show_fault(styled("this is your earlier text, which was not saved", Style.WARNING))

    def _texts(self) -> Iterator[tuple[str, str]]:
        for name in _FIELDS:
            field = self.query_one(f"#{name}")
            yield name, field.value if isinstance(field, Input) else self.query_one(f"#{name}", TextArea).text

    @property
    def _new_id(self) -> str | None:
        line = next(iter(self.query("#id").results(Input)), None)
        return line.value.strip() or None if line is not None else None

    @property
    def form(self) -> FilledForm:
        """What the form says now."""
        changed = ((name, text) for name, text in self._texts() if text != self._shown[name])
        values: dict[str, Any] = {name: _value(name, text) for name, text in changed}
        return FilledForm(base=self._base, wanted=replace(self._base, **values), task_id=self._new_id)

    @property
    def is_changed(self) -> bool:
        """Whether anything was written in it that is not saved."""
        return bool(self._shown) and (self.form.wanted != self._base or self._new_id is not None)

    def action_save_all(self) -> None:
        form = self.form
        self.save(lambda: self._save_form(form))

    def on_saved(self) -> None:
        """Drop the draft."""
        self._draft.drop()

    def action_open_editor(self) -> None:
        if self._open_editor is None:
            return
        if self.is_changed:
            self.show_fault(styled("save it first, with ctrl+s; then ctrl+o opens it in your editor"))
        else:
            self.dismiss_once(None)
            self._open_editor()

    def action_leave(self) -> None:
        """Close it; what is not saved is dropped only when asked twice."""
        if self.is_changed and not self._is_leaving:
            self._is_leaving = True
            self.show_fault(styled(_UNSAVED, Style.WARNING))
        else:
            self._draft.drop()
            self.dismiss_once(None)

    def on_unmount(self) -> None:
        """Save the draft at once, however this screen is closed."""
        self._draft.save()

    def on_input_changed(self) -> None:
        self._save_draft()

    def on_text_area_changed(self) -> None:
        self._save_draft()

    def _save_draft(self) -> None:
        self._is_leaving = False
        if self._shown and not self.has_result:
            self._draft.text = self.form.model_dump_json() if self.is_changed else ""

    def on_refused(self, error: BlackbirdError) -> None:
        """Show what others wrote meanwhile; saving once more puts this text in its place."""
        if not isinstance(error, FieldConflictError):
            super().on_refused(error)
            return
        self._base = error.theirs
        self._save_draft()
        theirs = (f"{FIELD_NAMES[name]}: {_on_one_line(error.theirs, name)}" for name in error.names)
        self.show_fault(
            *fault_lines(error),
            *(styled(f"theirs, {text}", Style.FAINT) for text in theirs),
            styled("ctrl+s saves yours in its place", Style.WARNING),
        )


def _text(fields: TaskFields, name: str) -> str:
    value = getattr(fields, name)
    if name == "deps":
        return editable(", ".join(fields.deps))
    return editable("\n".join(value) if isinstance(value, tuple) else value or "")


def _value(name: str, text: str) -> str | tuple[str, ...] | None:
    if name == "acceptance_criteria":
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if name == "deps":
        return tuple(filter(None, (one.strip() for one in text.split(","))))
    if name in {"agent", "model"}:
        return text.strip() or None
    if name == "notes":
        return text if text.strip() else None
    return text


def _on_one_line(fields: TaskFields, name: str) -> str:
    value = getattr(fields, name)
    return "; ".join(value) if isinstance(value, tuple) else value or "(empty)"
