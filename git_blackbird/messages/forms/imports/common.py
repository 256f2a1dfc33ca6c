"""What the readers share: what a source is, what has no place here, and text with criteria in it."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.forms.natural import M, NaturalTask, faults_error, in_order, read_item
from git_blackbird.messages.forms.page import PageError, PageFault, PageTask, given_fields
from git_blackbird.model.base.ids import fold_task_id

_FENCE = re.compile(r" {0,3}(```|~~~)")
_CRITERION = re.compile(r"\s*[-*+] \[[ xX]\] (?:#\d+ )?(.*\S)")
_LONGEST_TITLE = 120


class Source(NamedTuple):
    """The tasks of a source, each with an id, and what of it has no place here, in words."""

    tasks: tuple[PageTask, ...]
    left_out: tuple[str, ...] = ()


class Item(BaseModel):
    """An object of another program's JSON; what is not a field is named as left out."""

    model_config = ConfigDict(extra="allow", strict=True)


class LeftOut:
    """Counts of how many tasks something has no place here."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, *names: str) -> None:
        """Count what one task has."""
        self._counts.update(names)

    def add_unknown(self, item: Item, known: Iterable[str] = ()) -> None:
        """Count the fields of an object that have a value and no place here."""
        self.add(*(name for name, value in (item.model_extra or {}).items() if value and name not in known))

    def state(self, word: str, done: Collection[str], skipped: Collection[str] = ()) -> str | None:
        """Return the status of what is over in the source; all else begins as todo, and is counted."""
        name = word.casefold()
        if name in done or name in skipped:
            return "done" if name in done else "skipped"
        if name not in {"todo", "to do", "open", "pending", ""}:
            self.add(f'state "{word}"')
        return None

    def lines(self) -> tuple[str, ...]:
        """Return what is left out, in words."""
        return tuple(f"{name} of {counted(count, 'task')}" for name, count in sorted(self._counts.items()))


def error_at(line: int, text: str) -> PageError:
    """Return the error of one line."""
    return PageError([PageFault.of(text, line)])


def read_all(kind: type[M], values: Any, what: str) -> list[M]:
    """Read the objects of a list. Raises PageError with all that is wrong with them."""
    faults: list[str] = []
    listed = values if isinstance(values, list) else [values]
    read = [read_item(kind, f"{what} {number}", value, faults) for number, value in enumerate(listed, 1)]
    if faults:
        raise faults_error(faults)
    return [one for one in read if one is not None]


def source_of(tasks: Sequence[NaturalTask], left_out: LeftOut) -> Source:
    """Return tasks, each below its parent. Raises PageError."""
    return Source(finished(in_order(tasks, [])), left_out.lines())


def split_criteria(text: str) -> tuple[str, tuple[str, ...]]:
    """Take the ``- [ ]`` lines out of a text, apart from those in fences."""
    rest, criteria, is_fenced = [], [], False
    for line in text.replace("\r\n", "\n").split("\n"):
        is_fenced ^= _FENCE.match(line) is not None
        found = None if is_fenced else _CRITERION.fullmatch(line)
        if found is None:
            rest.append(line)
        else:
            criteria.append(found[1])
    return "\n".join(rest).strip("\n"), tuple(criteria)


def titled(text: str) -> tuple[str, str]:
    """Return a title for a text, and the prompt that has what the title has not."""
    line = " ".join(text.split())
    if len(line) <= _LONGEST_TITLE:
        return line, ""
    return f"{line[:_LONGEST_TITLE].rsplit(' ', 1)[0]} ...", text


def require_end(text: str) -> None:
    """Refuse Markdown whose last line does not end, which is what a file cut off looks like."""
    if not text.endswith("\n"):
        last = text.count("\n") + 1
        what = "the file is cut off here, or lacks the line break at its end: if it is whole, add that"
        raise error_at(last, what)


def finished(tasks: Sequence[PageTask]) -> tuple[PageTask, ...]:
    """Return the tasks with the ids of those before them, and with nothing for agents in parents.

    Raises PageError for ids that are used twice. A name of no task of the source stays as it is.
    """
    known: dict[str, str] = {}
    faults: list[PageFault] = []
    for task in tasks:
        name = task.fields["id"]
        if fold_task_id(name) in known:
            faults.append(fault_of(task, f"a second task {name}"))
        known[fold_task_id(name)] = name
    if faults:
        raise PageError(faults)
    named = (replace(task, after=_full(task.after, known)) for task in tasks)
    return tuple(_for_leaves(tuple(named)))


def fault_of(task: PageTask, text: str) -> PageFault:
    """Return what is wrong with a task, with its line, or its id where it has none."""
    what = text if task.line else f"{task.fields['id']}: {text}"
    return PageFault.of(what, *([task.line] if task.line else []))


def _full(names: tuple[str, ...] | None, known: dict[str, str]) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(known.get(fold_task_id(name), name) for name in names or () if name)) or None


def _for_leaves(tasks: Sequence[PageTask]) -> Iterator[PageTask]:
    """Give what comes before parents to the tasks below them, and what parents say to their readers.

    No agent works on a parent, and what is below one does not wait for what that waits for.
    """
    path: list[tuple[str, ...]] = []
    for task, below in pairwise((*tasks, PageTask("", 0))):
        del path[task.depth :]
        after = task.after or ()
        if below.depth > task.depth:
            path.append(after)
            said = "\n\n".join(filter(None, (task.fields.get("description"), task.prompt)))
            fields = {**task.fields, **given_fields(description=said or None)}
            yield replace(task, prompt="", fields=fields, after=None)
        else:
            yield replace(task, after=tuple(dict.fromkeys((*after, *chain(*path)))) or None)
