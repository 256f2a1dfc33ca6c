"""Task files of Backlog.md: front matter, and sections of Markdown."""

import json
import re
from collections.abc import Iterator, Sequence

from git_blackbird.messages.forms.imports.common import (
    LeftOut,
    error_at,
    require_end,
    split_criteria,
)
from git_blackbird.messages.forms.natural import NaturalTask

_KEY = re.compile(r"([\w-]+):(?: +(.*))?")
_MARK = re.compile(r"<!-- ([A-Z:]+):(BEGIN|END) -->")
_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_USED = frozenset({"id", "title", "status", "dependencies", "parent_task_id"})
_DATES = frozenset({"created_date", "updated_date", "ordinal"})
_CRITERIA = frozenset({"Acceptance Criteria", "Definition of Done"})

Fields = dict[str, "str | list[str]"]


def is_backlog(text: str) -> bool:
    """Whether a text begins with front matter that has an id."""
    return (
        text.startswith("---\n")
        and re.search(r"^id:", text.partition("\n---\n")[0], re.MULTILINE) is not None
    )


def read_backlog(text: str, left_out: LeftOut) -> NaturalTask:
    """Read one task file. Raises PageError."""
    require_end(text)
    lines = text.split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise error_at(1, "front matter between two lines `---` is expected, with id and title")
    end = lines.index("---", 1)
    fields = _front_matter(lines[1:end])
    _require_closed(lines)
    missing = [name for name in ("id", "title") if not isinstance(fields.get(name), str) or not fields[name]]
    if missing:
        raise error_at(1, f"the front matter lacks {' and '.join(missing)}")
    left_out.add(*(name for name, value in fields.items() if value and name not in _USED | _DATES))
    prompt, criteria = split_criteria("\n".join(_body(lines[end + 1 :])))
    deps, parent = fields.get("dependencies", []), fields.get("parent_task_id")
    return NaturalTask(
        id=str(fields["id"]),
        title=str(fields["title"]),
        prompt=prompt,
        criteria=list(criteria),
        parent=str(parent) if parent else None,
        deps=deps if isinstance(deps, list) else [deps],
        status=left_out.state(str(fields.get("status", "")), ["done"]),
    )


def _require_closed(lines: Sequence[str]) -> None:
    """Refuse a section of which only the beginning is there."""
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines, start=1):
        if mark := _MARK.fullmatch(line.strip()):
            opened = (number, mark[1]) if mark[2] == "BEGIN" else None
    if opened is not None:
        raise error_at(opened[0], f"{opened[1]}:BEGIN without its END: the file is cut off")


def _body(lines: Sequence[str]) -> Iterator[str]:
    """Yield the text of the sections, without marks and without the headings of what is taken out of it."""
    taken = {"## Description", *(f"## {name}" for name in _CRITERIA)}
    yield from (
        line for line in lines if _MARK.fullmatch(line.strip()) is None and line.rstrip() not in taken
    )


def _front_matter(lines: Sequence[str]) -> Fields:
    """Read the part of YAML that Backlog.md writes: texts, folded ones, and lists of them."""
    fields: Fields = {}
    name = ""
    for number, line in enumerate(lines, start=2):
        item = re.fullmatch(r"\s*- (.*)", line)
        if item is not None and isinstance(held := fields.get(name), list):
            held.append(_scalar(item[1], number))
        elif line.startswith(" ") and isinstance(held := fields.get(name), str):
            fields[name] = f"{held} {line.strip()}".strip()
        elif line.startswith(" ") and isinstance(held, list) and held:
            held[-1] = f"{held[-1]} {line.strip()}".strip()
        elif found := _KEY.fullmatch(line):
            name, value = found[1], (found[2] or "").strip()
            fields[name] = _value(value, number)
        elif line.strip():
            raise error_at(number, "this is no `name: value` of front matter")
    return fields


def _value(value: str, number: int) -> str | list[str]:
    if value.startswith("["):
        if not value.endswith("]"):
            raise error_at(number, "this list does not end")
        return [_scalar(one, number) for one in value[1:-1].split(",") if one.strip()]
    return [] if value == "" else _scalar(value, number)


def _scalar(text: str, number: int) -> str:
    text = text.strip()
    if text in {">-", ">", "|", "|-"}:
        return ""
    if text[:1] not in {"'", '"'}:
        return "" if text in {"null", "~"} else text
    try:
        return json.loads(text) if text[0] == '"' else _SINGLE.fullmatch(text)[1].replace("''", "'")  # type: ignore[index]  # none is the error
    except (ValueError, TypeError):
        raise error_at(number, "this quoted text does not end") from None
