r"""A page of tasks: a Markdown text on which people write and edit plans.

A heading of two or more ``#`` is a task, a deeper one a child of the task above it. Below it stand its
fields, one a line, then its text, which is the prompt, with criteria as ``- [ ]`` lines. Nothing inside a
fence is read, and a ``\`` at the beginning of a line is dropped: what follows is text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, TypeVar

from git_blackbird.errors import RequestError

S = TypeVar("S", bound=str)

_JSON = json.JSONDecoder()
_HEADING = re.compile(r"(#{2,})(?: +(.*))?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CONTINUES = re.compile(r"(?: {2}|\t)\s*\S")
_CRITERION = re.compile(r"- \[[ xX]\](?: (.*))?")
_BECAUSE = r'because (?:"(?:[^"\\]|\\.)*"|[^":]+)'
_FIELD = re.compile(rf"(id|after|agent|model|description|notes|prompt|status|{_BECAUSE}): ?(.*)")
_MISPLACED = re.compile(
    r"[\s*-]*(id|after|agent|model|notes|description|deps?|depends(?: on)?|parent|because [^:]*)\**:",
    re.IGNORECASE,
)
_END = re.compile(r"<!-- \d+ tasks? -->")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
EXPORTED = "The plan, exported"
"""How the first comment of a page begins that the program has written whole."""
_NO_JSON = "what begins with a quote is a JSON text, and this is none"
_FAULT_MARK = "<!-- ! "
_BELOW_HEADING = "a field stands directly below its heading, as `after: OTHER`"
_BELOW_PARENT = "a child stands below its parent, and its heading has one # more"


class PageFault(NamedTuple):
    """An error in a page; ``{0}`` in its text stands for the first of its lines, and so on."""

    text: str
    lines: tuple[int, ...] = ()

    @classmethod
    def of(cls, text: str, *lines: int) -> "PageFault":
        """Make an error of a text that says itself what it means, with its lines before it."""
        places = ", ".join(f"{{{number}}}" for number in range(len(lines)))
        return cls(f"line {places}: {as_literal(text)}" if lines else as_literal(text), lines)

    def at(self, shift: int = 0) -> str:
        """Return the text, for a page in which each line is by so many further down."""
        return self.text.format(*(line + shift for line in self.lines))


def as_literal(text: str) -> str:
    """Return a text, such as a name, for the text of a PageFault."""
    return text.replace("{", "{{").replace("}", "}}")


class PageError(RequestError):
    """An invalid page; ``faults`` has all errors."""

    def __init__(self, faults: Sequence[PageFault]) -> None:
        super().__init__(tuple(fault.at() for fault in faults), hint="nothing was changed")
        self.faults = tuple(faults)


@dataclass(frozen=True)
class PageTask:
    """A task as a page has it; ``depth`` is 0 at the top of the plan.

    ``fields`` are the values of one-line fields by their names, ``after`` the names of tasks that come
    before, None without such a line; ``because`` has reasons by these names. ``line`` is that of its
    heading, ``lines`` are those of its fields and of ``criterion 1``; where a task stands is not compared.
    """

    title: str
    depth: int = 0
    fields: Mapping[str, str] = field(default_factory=dict)
    after: tuple[str, ...] | None = None
    because: Mapping[str, str] = field(default_factory=dict)
    prompt: str = ""
    criteria: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)


def ids_by_title(ids: Iterable[S], page: Iterable[PageTask]) -> dict[str, list[S]]:
    """Return the ids of the tasks of a page by their titles, of which several may be alike."""
    found: dict[str, list[S]] = {}
    for task_id, task in zip(ids, page, strict=True):
        found.setdefault(task.title, []).append(task_id)
    return found


def given_fields(**values: str | None) -> dict[str, str]:
    """Return the one-line fields that have a value."""
    return {name: value for name, value in values.items() if value is not None}


def parse_page(text: str, *, is_whole: bool = False) -> tuple[PageTask, ...]:
    """Parse a page. Raises PageError with every error.

    ``is_whole``: it has a line like the one that ``render_page`` ends with, without which it is cut off.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    reader = _Reader()
    for number, line in enumerate(lines, start=1):
        if _NOT_UTF8.search(line):
            reader.fault(number, f"not UTF-8: {line!a}")
    end = next((place for place in range(len(lines) - 1, -1, -1) if _END.fullmatch(lines[place])), None)
    if end is not None:
        lines[end] = ""
    elif is_whole or text.startswith(f"<!-- {EXPORTED}"):
        reader.faults.append(
            PageFault.of("the page is cut off: it lacks the line at its end, `<!-- N tasks -->`")
        )
    for number, line in enumerate(lines, start=1):
        reader.read(number, line)
    tasks = reader.finish()
    if reader.faults:
        raise PageError(reader.faults)
    return tasks


@dataclass
class _Draft:
    """A task that is being read, whose parts grow line by line."""

    title: str
    depth: int
    line: int
    fields: dict[str, str] = field(default_factory=dict)
    after: tuple[str, ...] | None = None
    because: dict[str, str] = field(default_factory=dict)
    prompt: str = ""
    criteria: list[str] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    # The first line with text.
    text_line: int | None = None

    def finished(self) -> PageTask:
        parts = {**vars(self), "criteria": tuple(self.criteria)}
        del parts["text_line"]
        return PageTask(**parts)


class _Reader:
    """Reads a page line by line, and collects what is wrong with it."""

    def __init__(self) -> None:
        self.faults: list[PageFault] = []
        self._tasks: list[_Draft] = []
        self._body: list[str] = []
        self._fence: tuple[str, int] | None = None
        self._has_fields = False
        # Whether no blank line has come since the heading.
        self._is_below_heading = False
        # Whether an indented line would go on with the criterion above it.
        self._is_in_criterion = False

    def read(self, number: int, line: str) -> None:
        if self._fence is not None:
            self._body.append(line)
            if _closes(line, self._fence[0]):
                self._fence = None
        elif heading := _HEADING.fullmatch(line):
            self._begin(number, len(heading[1]) - 2, heading[2] or "")
        elif not self._tasks:
            if line.strip() and not line.startswith(("# ", "<!--")):
                self.fault(number, "text before the first task, which begins with ## and a title")
        elif self._has_fields and (given := _FIELD.fullmatch(line)):
            self._take_field(number, given[1], given[2])
        else:
            self._has_fields = False
            self._take_line(number, line)

    def _begin(self, number: int, depth: int, title: str) -> None:
        self._end_task()
        most = self._tasks[-1].depth + 1 if self._tasks else 0
        if depth > most:
            self.fault(number, "this heading is deeper than a child of the task above it")
            depth = most
        self._tasks.append(_Draft(self._value(number, title), depth, number))
        self._has_fields, self._is_below_heading, self._is_in_criterion = True, True, False

    def _take_field(self, number: int, name: str, text: str) -> None:
        task = self._tasks[-1]
        if name.startswith("because "):
            (about,) = self._names(number, name.removeprefix("because ")) or ("",)
            if about in task.because:
                self.fault(number, f"a second reason for {about}")
            task.because[about] = self._value(number, text)
            name = f"because {about}"
        elif name in task.fields or (name == "after" and task.after is not None):
            self.fault(number, f"a second `{name}:`")
        elif name == "after":
            task.after = self._names(number, text)
        else:
            task.fields[name] = self._value(number, text)
        task.lines[name] = number

    def _take_line(self, number: int, line: str) -> None:
        task = self._tasks[-1]
        if criterion := _CRITERION.fullmatch(line):
            text = criterion[1] or ""
            task.criteria.append(self._value(number, text))
            task.lines[f"criterion {len(task.criteria)}"] = number
            self._is_in_criterion = not text.startswith('"')
            return
        if self._is_in_criterion and _CONTINUES.match(line) and not _FENCE.match(line):
            task.criteria[-1] = f"{task.criteria[-1]} {line.strip()}".strip()
            return
        self._is_in_criterion = False
        self._is_below_heading = self._is_below_heading and line.strip() != ""
        if line.strip() and (task.text_line is None or self._is_below_heading):
            task.text_line = task.text_line or number
            if misplaced := _MISPLACED.match(line):
                where = _BELOW_PARENT if misplaced[1].lower() == "parent" else _BELOW_HEADING
                self.fault(number, f"{where}; `\\` makes it text")
        if line.startswith("\\"):
            line = line[1:]
        elif fence := _FENCE.match(line):
            self._fence = fence[1], number
        self._body.append(line)

    def _end_task(self) -> None:
        if self._fence is not None:
            self.fault(self._fence[1], "this fence is not closed")
            self._fence = None
        if self._tasks:
            task, text = self._tasks[-1], "\n".join(self._body).strip("\n")
            given = task.fields.pop("prompt", None)
            if given is not None and text:
                both = "line {1} has text, and the task on line {0} has `prompt:` as well"
                self.faults.append(PageFault(both, (task.line, task.text_line or task.line)))
            task.prompt = text if given is None else given
        self._body = []

    def fault(self, number: int, text: str) -> None:
        """Note what is wrong with a line."""
        self.faults.append(PageFault.of(text, number))

    def finish(self) -> tuple[PageTask, ...]:
        self._end_task()
        for task, below in pairwise(self._tasks):
            if below.depth > task.depth and task.text_line is not None:
                text = (
                    "line {0} has text and line {1} makes it a parent, which no agent works on: write \\## if"
                    " that is text, or `description:`"
                )
                self.faults.append(PageFault(text, (task.text_line, below.line)))
        return tuple(task.finished() for task in self._tasks)

    def _value(self, number: int, text: str) -> str:
        if not text.startswith('"'):
            return text.strip()
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, str):
            self.fault(number, _NO_JSON)
            return text
        return value

    def _names(self, number: int, text: str) -> tuple[str, ...]:
        names: list[str] = []
        text, place = text.strip(), 0
        while place < len(text):
            if text[place] == '"':
                try:
                    name, place = _JSON.raw_decode(text, place)
                except ValueError:
                    self.fault(number, _NO_JSON)
                    break
            else:
                end = text.find(",", place) % (len(text) + 1)
                name, place = text[place:end].strip(), end
            names.append(name)
            place = _past_space(text, place)
            if place < len(text) and text[place] != ",":
                self.fault(number, "a comma stands between names")
                break
            place = _past_space(text, place + 1)
        return tuple(dict.fromkeys(filter(None, names)))


def _past_space(text: str, place: int) -> int:
    while text[place : place + 1].isspace():
        place += 1
    return place


def render_page(tasks: Sequence[PageTask], comments: Iterable[str] = ()) -> str:
    """Format a page that is read back the same, with ``comments`` on top and a count of tasks at its end."""
    lines = [f"<!-- {text.replace('--', '- -')} -->" for text in comments]
    for place, task in enumerate(tasks):
        is_parent = place + 1 < len(tasks) and tasks[place + 1].depth > task.depth
        lines += ["", *_task_lines(task, is_parent=is_parent)]
    count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    return "\n".join([*lines, "", f"<!-- {count} -->", ""]).removeprefix("\n")


def _task_lines(task: PageTask, *, is_parent: bool) -> Iterator[str]:
    yield f"{'#' * (task.depth + 2)} {_written(task.title)}"
    for name in ("id", "after", "agent", "model", "status", "description", "notes"):
        if name == "after" and task.after is not None:
            yield f"after: {', '.join(map(_written_name, task.after))}".rstrip()
        elif name in task.fields:
            yield f"{name}: {_written(task.fields[name])}"
    for name, reason in task.because.items():
        yield f"because {_written_name(name)}: {_written(reason)}"
    is_text = _is_text(task.prompt) and not is_parent
    if task.prompt and not is_text:
        yield f"prompt: {json.dumps(task.prompt, ensure_ascii=True)}"
    if task.prompt and is_text:
        yield from ("", *_text_lines(task.prompt))
    if task.criteria:
        tick = "x" if task.fields.get("status") == "done" else " "
        yield from ("", *(f"- [{tick}] {_written(one)}" for one in task.criteria))


def _is_plain(text: str) -> bool:
    return text != "" and text == text.strip() and text.isprintable() and not text.startswith('"')


def _written(text: str) -> str:
    return text if _is_plain(text) else json.dumps(text)


def _written_name(text: str) -> str:
    return text if _is_plain(text) and not set(',:"') & set(text) else json.dumps(text)


def _is_text(text: str) -> bool:
    is_printable = all(char in "\n\t" or char.isprintable() for char in text)
    return is_printable and text.strip("\n") == text and text.strip() != ""


def _text_lines(text: str) -> Iterator[str]:
    r"""Yield the lines of a text, with ``\`` before what would be read as something else."""
    lines = text.split("\n")
    fenced = _fenced(lines)
    for number, line in enumerate(lines):
        is_syntax = (
            line.startswith("\\")
            or _FENCE.match(line) is not None
            or any(pattern.fullmatch(line) for pattern in (_HEADING, _CRITERION))
        )
        is_first = number == 0 and _MISPLACED.match(line) is not None
        yield f"\\{line}" if (is_syntax or is_first) and number not in fenced else line


def _fenced(lines: Sequence[str]) -> set[int]:
    """Return the numbers of the lines in fences that are closed, those of the fences included."""
    inside: set[int] = set()
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        ends = range(number + 1, len(lines)) if fence else ()
        end = next((end for end in ends if fence and _closes(lines[end], fence[1])), None)
        if end is not None:
            inside.update(range(number, end + 1))
            number = end
        number += 1
    return inside


def _closes(line: str, fence: str) -> bool:
    mark = line.strip(" ")
    indent = len(line) - len(line.lstrip(" "))
    return indent < 4 and len(mark) >= len(fence) and set(mark) == {fence[0]}


def with_faults(text: str, faults: Sequence[PageFault]) -> str:
    """Put errors on top of a page, replacing earlier ones; they name the lines as they are then."""
    lines = text.split("\n")
    rest = [line for line in lines if not line.startswith(_FAULT_MARK)]
    shift = len(faults) - (len(lines) - len(rest))
    comments = (" ".join(fault.at(shift).replace("--", "- -").split()) for fault in faults)
    return "\n".join([*(f"{_FAULT_MARK}{comment} -->" for comment in comments), *rest])


def has_faults(text: str) -> bool:
    """Whether errors stand on top of a page."""
    return text.startswith(_FAULT_MARK)


def has_page_signs(text: str) -> bool:
    """Whether a text has what only pages have: fields directly below a heading, or the line at the end."""
    lines = text.split("\n")
    has_fields = (_HEADING.fullmatch(one) and _FIELD.fullmatch(below) for one, below in pairwise(lines))
    return any(has_fields) or any(map(_END.fullmatch, lines))


def is_blank(text: str) -> bool:
    """Whether a page has nothing but comments."""
    lines = text.split("\n")
    return not any(line.strip() and not line.startswith("<!--") for line in lines)
