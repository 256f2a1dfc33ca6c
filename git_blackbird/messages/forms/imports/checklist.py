"""Markdown lists of tasks with ticks: items below items and below headings are children."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from git_blackbird.messages.forms.imports.common import Source, error_at, finished, require_end, titled
from git_blackbird.messages.forms.page import PageTask, given_fields
from git_blackbird.model.base.ids import TaskId, fold_task_id, task_id_from
from git_blackbird.model.plan.status import Status

ITEM = re.compile(r"(\s*)[-*+] \[([ xX])\] +(\S.*)")
_BROKEN_ITEM = re.compile(r"\s*[-*+] \[[ xX]?\]?\s*(?!\()\s*")
_HEADING = re.compile(r"(#+) +(.*\S)")
_BULLET = re.compile(r"\s*[-*+] +(\S.*)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ID = re.compile(r"(.*?)\s*<!-- (\S|\S.*\S) -->")
_STATE = re.compile(rf"(.*) \*\((?:{'|'.join(one.value.replace('_', ' ') for one in Status)})\)\*")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass
class _Entry:
    """An item or a heading, how deep it is, and the lines below it."""

    text: str
    level: tuple[int, int]
    line: int
    status: str | None = None
    is_item: bool = True
    body: list[str] = field(default_factory=list)
    bullets: list[str] = field(default_factory=list)


def read_checklist(text: str) -> Source:
    """Read the items; those without an id get one of their text. Raises PageError."""
    require_end(text)
    entries = list(_entries(text.split("\n")))
    kept = [entry for number, entry in enumerate(entries) if entry.is_item or _has_items(entries, number)]
    left = tuple(
        f'the text of line {entry.line}, "{entry.text}"'
        for entry in entries
        if entry not in kept and any(map(str.strip, (*entry.body, *entry.bullets)))
    )
    return Source(finished(tuple(_tasks(kept))), left)


def _has_items(entries: list[_Entry], number: int) -> bool:
    level = entries[number].level
    if number == 0:
        # What stands before the first item or heading.
        return False
    for entry in entries[number + 1 :]:
        if entry.level <= level:
            return False
        if entry.is_item:
            # A title of the whole document is no parent.
            return level != (1, 0) or sum(one.level == (1, 0) for one in entries) > 1
    return False


def _entries(lines: list[str]) -> Iterator[_Entry]:
    entry = _Entry("", (0, 0), 1, is_item=False)
    heading = 1
    fence: tuple[str, int] | None = None
    for number, line in enumerate(lines, start=1):
        mark = _FENCE.match(line)
        if fence is not None or mark is not None:
            entry.body.append(line)
            if fence is None and mark is not None:
                fence = mark[1], number
            elif fence is not None and line.strip().startswith(fence[0]):
                fence = None
        elif found := ITEM.fullmatch(line):
            yield entry
            status = None if found[2] == " " else "done"
            level = heading, len(found[1].expandtabs(4)) + 1
            entry = _Entry(found[3].strip(), level, number, status)
        elif _BROKEN_ITEM.fullmatch(line):
            raise error_at(number, "an item without a text: is the file cut off?")
        elif found := _HEADING.fullmatch(line):
            yield entry
            heading = len(found[1])
            entry = _Entry(found[2], (heading, 0), number, is_item=False)
        elif entry.is_item and (found := _BULLET.fullmatch(line)):
            entry.bullets.append(found[1].strip())
        else:
            entry.body.append(line)
    if fence is not None:
        raise error_at(fence[1], "this fence is not closed")
    yield entry


def _tasks(entries: list[_Entry]) -> Iterator[PageTask]:
    path: list[tuple[int, int]] = []
    taken: set[str] = set()
    for entry in entries:
        while path and path[-1] >= entry.level:
            path.pop()
        named = _ID.fullmatch(entry.text)
        text = _ESCAPED.sub(r"\1", (_STATE.sub(r"\1", named[1]) if named else entry.text))
        title, rest = titled(text)
        task_id = TaskId(html.unescape(named[2])) if named else task_id_from(title, taken)
        taken.add(fold_task_id(task_id))
        after = [one.removeprefix("after ") for one in entry.bullets if named and one.startswith("after ")]
        criteria = (one for one in entry.bullets if not (named and one.startswith("after ")))
        prompt = "\n\n".join(filter(None, (rest, "\n".join(map(str.strip, entry.body)).strip("\n"))))
        yield PageTask(
            title,
            len(path),
            given_fields(id=task_id, status=entry.status),
            tuple(_ESCAPED.sub(r"\1", one) for names in after for one in names.split(", ")) or None,
            prompt=prompt,
            criteria=tuple(_ESCAPED.sub(r"\1", one) for one in criteria),
            line=entry.line,
        )
        path.append(entry.level)
