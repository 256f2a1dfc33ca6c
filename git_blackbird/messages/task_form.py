r"""A task as a text that a person edits: values out, text in.

Lines that begin with ``#>`` are headings or remarks, all others belong to the section they stand in; a line
of a text that begins so is written ``\#>``. Blank lines around a text are of no account: a text keeps those
that stood above it, and all of them where it is otherwise what it was before.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from git_blackbird.errors import RequestError
from git_blackbird.model.ids import TaskId
from git_blackbird.model.task_fields import FIELD_NAMES, TaskFields
from git_blackbird.model.text import clean, clean_line

MARK = "#>"
_FAULT_MARK = "#>!"
_INTRODUCTION = (
    "Change what you like, save the file and close the editor; an empty file changes nothing.",
    f"Lines that begin with {MARK} are no part of the task. Every heading must stay, once.",
)
_EXPLAINED: Mapping[str, str] = {
    "title": "What the task is, in one line.",
    "description": "What it is about.",
    "prompt": "What its agent is to do.",
    "acceptance_criteria": 'Each begins with "- "; its further lines with two spaces.',
    "notes": "For people.",
    "deps": "Tasks that must be done before this one, one id a line.",
}
_HEADINGS = {f"{MARK} {name}": field for field, name in FIELD_NAMES.items()}
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_LIKE_MARK = re.compile(rf"\\*{re.escape(MARK)}")
_FIRST, _FURTHER = "- ", "  "


class FormError(RequestError):
    """A form that is none; ``faults`` holds everything wrong with it, a line each."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults), hint="nothing was changed")
        self.faults = tuple(faults)


def render_form(about: str, fields: TaskFields, remarks: Iterable[str] = ()) -> str:
    """Write the form of a task; ``about`` says in a line which task it is, ``remarks`` what else to know."""
    lines = [_remark(clean_line(text, 400)) for text in (about, "", *_INTRODUCTION, *remarks)]
    for heading, name in _HEADINGS.items():
        lines += ["", heading, _remark(f"  {_EXPLAINED[name]}")]
        lines += _render_section(name, getattr(fields, name)) or [""]
    return "\n".join(lines) + "\n"


def _remark(text: str) -> str:
    return f"{MARK} {text}".rstrip()


def _render_section(name: str, value: Any) -> list[str]:
    match name:
        case "acceptance_criteria":
            return [line for text in value for line in _render_criterion(text)]
        case "deps":
            return list(map(_escaped, value))
        case _:
            return list(map(_escaped, _trimmed((value or "").split("\n"))))


def _render_criterion(text: str) -> list[str]:
    first, *further = _trimmed(text.split("\n")) or [""]
    return [f"{_FIRST}{first}" if first else _FIRST.rstrip(), *(line and _FURTHER + line for line in further)]


def _escaped(line: str) -> str:
    return f"\\{line}" if _LIKE_MARK.match(line) else line


def _unescaped(line: str) -> str:
    return line[1:] if line.startswith("\\") and _LIKE_MARK.match(line) else line


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Give the lines less the blank ones at both ends."""
    told = [index for index, line in enumerate(lines) if line.strip()]
    return list(lines[told[0] : told[-1] + 1]) if told else []


def parse_form(text: str, base: TaskFields) -> TaskFields:
    """Read a form; what is left as it was in ``base`` comes out exactly as it was there.

    Bytes that are not UTF-8 are half surrogates in ``text``. Raises FormError with every fault.
    """
    sections, faults = _sections(_lines(text))
    readers: Mapping[str, Callable[[list[str], list[str], TaskFields], Any]] = {
        "title": _read_title,
        "acceptance_criteria": _read_criteria,
        "notes": _read_notes,
        "deps": _read_deps,
    }
    values: dict[str, Any] = {}
    for name, lines in sections.items():
        if name in readers:
            values[name] = readers[name](lines, faults, base)
        else:
            values[name] = _kept(lines, getattr(base, name))
    if faults:
        raise FormError(faults)
    return TaskFields(**values)


def is_blank(text: str) -> bool:
    """Whether nothing but remarks is left of a form."""
    return not any(line in _HEADINGS or not line.startswith(MARK) for line in _lines(text) if line.strip())


def has_faults(text: str) -> bool:
    """Whether a form says what is wrong with it."""
    return text.startswith(_FAULT_MARK)


def with_faults(text: str, faults: Iterable[str]) -> str:
    """Put faults on top of a form, in place of those that stood there."""
    told = [f"{_FAULT_MARK} {line}".rstrip() for fault in faults for line in clean(fault).split("\n")]
    rest = [line for line in _lines(text) if not line.startswith(_FAULT_MARK)]
    return "\n".join([*told, *rest])


def _lines(text: str) -> list[str]:
    """Split at line feeds alone; an editor that writes CRLF has put one carriage return at each end."""
    lines = text.removeprefix("\ufeff").split("\n")
    if any(line.startswith(MARK) and line.endswith("\r") for line in lines):
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def _sections(lines: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Give the lines of each section, and what is wrong with the headings."""
    sections: dict[str, list[str]] = {}
    faults: list[str] = []
    current: list[str] = []
    above = current
    for line in lines:
        name = _HEADINGS.get(line.rstrip())
        if name is not None:
            if name in sections:
                faults.append(f'the heading "{line.rstrip()}" stands twice')
            current = sections.setdefault(name, [])
        elif not line.startswith(MARK):
            current.append(_unescaped(line))
    if any(line.strip() for line in above):
        faults.append(f"there is text above the first heading: {_trimmed(above)[0].strip()!a}")
    unreadable = [line for line in lines if not line.startswith(MARK) and _NOT_UTF8.search(line)]
    faults += [f"not UTF-8: {line!a}" for line in unreadable[:1]]
    faults += [
        f'the heading "{heading}" is missing' for heading, name in _HEADINGS.items() if name not in sections
    ]
    return sections, faults


def _kept(lines: list[str], base: str) -> str:
    """Give the text of these lines below the blank ones of ``base``; where it says the same, that."""
    told, before = _trimmed(lines), base.split("\n")
    if told == _trimmed(before):
        return base
    above = takewhile(lambda line: not line.strip(), before) if told and base.strip() else ()
    return "\n".join([*above, *told])


def _read_title(lines: list[str], faults: list[str], base: TaskFields) -> str:
    title = _kept(lines, base.title)
    if title != base.title:
        title = title.strip()
        if not title:
            faults.append("title: a task needs a title")
        if "\n" in title:
            faults.append("title: write it in one line")
    return title


def _read_notes(lines: list[str], faults: list[str], base: TaskFields) -> str | None:
    del faults
    return _kept(lines, base.notes or "") or (base.notes if not (base.notes or "").strip() else None)


def _read_criteria(lines: list[str], faults: list[str], base: TaskFields) -> tuple[str, ...]:
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(_FIRST) or line == _FIRST.rstrip():
            found.append([line.removeprefix(_FIRST.rstrip()).removeprefix(" ")])
        elif found and (not line.strip() or line.startswith(_FURTHER)):
            found[-1].append(line.removeprefix(_FURTHER))
        elif line.strip():
            faults.append(f'acceptance criteria: {line!a} begins neither with "- " nor with two spaces')
    before = {_plain(text): text for text in base.acceptance_criteria}
    told = ["\n".join(_trimmed(criterion)) for criterion in found]
    if told == list(map(_plain, base.acceptance_criteria)):
        return base.acceptance_criteria
    if "" in told:
        faults.append("acceptance criteria: one is empty")
    return tuple(before.get(text, text) for text in told)


def _plain(text: str) -> str:
    return "\n".join(_trimmed(text.split("\n")))


def _read_deps(lines: list[str], faults: list[str], base: TaskFields) -> tuple[TaskId, ...]:
    del faults, base
    return tuple(TaskId(line.strip()) for line in lines if line.strip())
