"""A task as a TOML file for a person to edit.

A text of several lines stands between two ``'''`` on lines of their own: the line end before the last ``'''``
is not part of it.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.rules.plan_edits import TaskFields, title_fault

_FAULT_MARK = "#!"
_INTRODUCTION = (
    "Change what you like, save the file and close the editor; an empty file changes nothing.",
    "It is TOML: several lines of text stand between ''' and ''', one line between quotes.",
)
_EXPLAINED: Mapping[str, str] = {
    "title": "What the task is, in one line.",
    "description": "What it is about.",
    "prompt": "What its agent is to do.",
    "acceptance_criteria": "What must hold in the end, with a comma after each.",
    "notes": "For people.",
    "deps": "Tasks that must be done before this one.",
}
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
# What TOML accepts between apostrophes neither in one line nor in several.
_NOT_LITERAL = re.compile("[\0-\b\v-\x1f\x7f]|'''")
_POSITION = re.compile(r"(.*) \(at line (\d+), column \d+\)")


_Text = Annotated[str, AfterValidator(lambda text: text.removesuffix("\n"))]


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    title: str
    description: _Text
    prompt: _Text
    acceptance_criteria: list[_Text]
    notes: _Text
    deps: list[TaskId]


class FormError(RequestError):
    """An invalid form; ``faults`` has all errors, one line each."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults), hint="nothing was changed")
        self.faults = tuple(faults)


def render_form(about: str, fields: TaskFields, remarks: Iterable[str] = ()) -> str:
    """Format the form of a task; ``about`` is a line that names it, ``remarks`` are further comments."""
    lines = [f"# {clean_line(text, 400)}".rstrip() for text in (about, "", *_INTRODUCTION, *remarks)]
    for name, explained in _EXPLAINED.items():
        lines += ["", f"# {explained}", f"{name} = {_render_value(name, getattr(fields, name))}"]
    return "\n".join(lines) + "\n"


def _render_value(name: str, value: Any) -> str:
    match name:
        case "title":
            return _one_line(value)
        case "acceptance_criteria" | "deps":
            entries = (_several_lines(text) if "\n" in text else _one_line(text) for text in value)
            return "\n".join(["[", *(f"    {entry}," for entry in entries), "]"])
        case _:
            return _several_lines(value or "")


def _one_line(text: str) -> str:
    is_literal = '"' in text or "\\" in text
    if is_literal and not _NOT_LITERAL.search(text) and not set("'\n") & set(text):
        return f"'{text}'"
    return f'"{_escaped(text)}"'


def _several_lines(text: str) -> str:
    quotes = "'''"
    if _NOT_LITERAL.search(text):
        quotes, text = '"""', "\n".join(map(_escaped, text.split("\n")))
    return "\n".join([quotes, *([text] if text else []), quotes])


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f")


def parse_form(text: str, base: TaskFields) -> TaskFields:
    """Parse a form; fields unchanged from ``base`` keep their exact old values.

    Bytes that are not UTF-8 are surrogates in ``text``. Raises FormError with every error.
    """
    values = _decoded(text.removeprefix("\ufeff"))
    try:
        form = _Form.model_validate(values)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}" for detail in error.errors()]
        raise FormError(faults) from error
    notes = form.notes if form.notes.strip() else None
    fields = TaskFields(
        title=form.title,
        description=form.description,
        prompt=form.prompt,
        acceptance_criteria=tuple(form.acceptance_criteria),
        notes=base.notes if form.notes == (base.notes or "") else notes,
        deps=tuple(form.deps),
    )
    faults = _value_faults(fields, base)
    if faults:
        raise FormError(faults)
    return fields


def _decoded(text: str) -> dict[str, Any]:
    """Parse TOML. Raises FormError with the line, whose number shifts when errors are added above it."""
    lines = text.split("\n")
    unreadable = [line for line in lines if _NOT_UTF8.search(line)]
    if unreadable:
        raise FormError([f"not UTF-8: {unreadable[0]!a}"])
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        match = _POSITION.fullmatch(str(error))
        message = f"{match[1]}: {lines[int(match[2]) - 1].strip()}" if match else str(error)
        raise FormError([message]) from error


def _value_faults(fields: TaskFields, base: TaskFields) -> list[str]:
    """Return errors in new values; old values may stay."""
    faults = []
    fault = title_fault(fields.title) if fields.title != base.title else None
    if fault is not None:
        faults.append(f"title: {fault}")
    criteria = fields.acceptance_criteria
    if criteria != base.acceptance_criteria and not all(text.strip() for text in criteria):
        faults.append("acceptance_criteria: one is empty")
    return faults


def is_blank(text: str) -> bool:
    """Whether the form has nothing but comments."""
    return not any(line.strip() and not line.startswith("#") for line in _lines(text))


def has_faults(text: str) -> bool:
    """Whether the form has error comments."""
    return text.startswith(_FAULT_MARK)


def with_faults(text: str, faults: Iterable[str]) -> str:
    """Put errors on top of a form, replacing earlier ones."""
    comments = [
        f"{_FAULT_MARK} {line}".rstrip() for fault in faults for line in strip_controls(fault).split("\n")
    ]
    rest = dropwhile(lambda line: line.startswith(_FAULT_MARK), _lines(text))
    return "\n".join([*comments, *rest])


def _lines(text: str) -> list[str]:
    return text.removeprefix("\ufeff").split("\n")
