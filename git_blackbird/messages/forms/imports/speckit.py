"""``tasks.md`` of spec-kit: phases one after the other, in each its tasks, ``[P]`` side by side."""

import re
from dataclasses import dataclass, field, replace

from git_blackbird.messages.forms.imports.common import Source, error_at, finished, require_end, titled
from git_blackbird.messages.forms.page import PageError, PageTask, given_fields

TASK = re.compile(r"\s*[-*] \[([ xX])\] \**(T\d+[a-z]?)\**:? *(.*)")
_BROKEN = re.compile(r"\s*[-*] \[[ xX]?(?:\].*)?")
_HEADING = re.compile(r"(#{1,6}) +(.*\S)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_TAG = re.compile(r"\[([^\]]*)\] *")
_NAME = r"T\d+[a-z]?"
_AFTER = re.compile(rf"(?i)\b(?:depends on|requires|after)\b:? *({_NAME}(?:(?:,| and|, and)? *{_NAME})*)")
_RANGE = re.compile(r"(T)(\d+) *(?:-|\N{EN DASH}|to) *T(\d+)")


@dataclass
class _Phase:
    """A section: its heading, what it says, and once it has a task, its place among the tasks.

    ``last`` is its last task without ``[P]``, ``beside`` are those with it since.
    """

    title: str
    line: int
    said: list[str] = field(default_factory=list)
    broken: int | None = None
    place: int | None = None
    names: set[str] = field(default_factory=set)
    last: str | None = None
    beside: list[str] = field(default_factory=list)


class _Reader:
    """Reads line by line; a section with tasks is a phase, the parent of its tasks."""

    def __init__(self) -> None:
        self.tasks: list[PageTask] = []
        self.left_out: list[str] = []
        self._phase: _Phase | None = None
        self._before: str | None = None
        self._fence: int | None = None
        self._is_in_task = False

    def read(self, number: int, line: str) -> None:
        """Take one line. Raises PageError."""
        if _FENCE.match(line):
            self._fence = number if self._fence is None else None
        elif self._fence is None:
            self._take(number, line)

    def _take(self, number: int, line: str) -> None:
        is_in_task, self._is_in_task = self._is_in_task, False
        if found := TASK.fullmatch(line):
            if not found[3].strip():
                raise error_at(number, f"{found[2]} has no text: is the file cut off?")
            self._add(number, found[2], found[3], is_done=found[1] != " ")
        elif _BROKEN.fullmatch(line):
            self._refuse(number)
        elif found := _HEADING.fullmatch(line):
            if len(found[1]) <= 2:  # what is deeper is inside of a phase
                self.end_phase()
                self._phase = _Phase(found[2], number) if len(found[1]) > 1 else None
        elif is_in_task and line.startswith(" ") and line.strip():
            task, self._is_in_task = self.tasks[-1], True
            self.tasks[-1] = replace(task, prompt=f"{task.prompt or task.title}\n{line.strip()}")
        elif self._phase is not None and line.strip() not in {"", "---"}:
            self._phase.said.append(line.rstrip())

    def _refuse(self, number: int) -> None:
        """Refuse an item that is no task, once it is known that it is among tasks."""
        phase = self._phase
        if phase is not None and phase.broken is None:
            phase.broken = number
        if phase is None or phase.names:
            raise _not_a_task(number)

    def _add(self, number: int, name: str, text: str, *, is_done: bool) -> None:
        phase = self._begun()
        tags = []
        while tag := _TAG.match(text):
            tags.append(tag[1])
            text = text[tag.end() :]
        is_free = "P" in tags
        stories = ", ".join(tag for tag in tags if tag != "P")
        title, prompt = titled(text)
        fields = given_fields(id=name, status="done" if is_done else None, description=stories or None)
        depth = 0 if phase.place is None else 1
        after = self._after(phase, text, is_free=is_free)
        self.tasks.append(PageTask(title, depth, fields, after, prompt=prompt, line=number))
        phase.names.add(name)
        phase.last, phase.beside = (phase.last, [*phase.beside, name]) if is_free else (name, [])
        self._is_in_task = True

    def _after(self, phase: _Phase, text: str, *, is_free: bool) -> tuple[str, ...]:
        """Return what a task names, else what stands before it, with the phase before unless implied."""
        named = [one for found in _AFTER.finditer(_spelled(text)) for one in re.findall(_NAME, found[1])]
        last = [] if phase.last is None else [phase.last]
        order = named or (last if is_free or not phase.beside else phase.beside)
        barrier = [] if self._before is None or not phase.names.isdisjoint(order) else [self._before]
        return (*barrier, *order)

    def _begun(self) -> _Phase:
        phase = self._phase
        if phase is None:
            # Tasks before any section.
            phase = self._phase = _Phase("", 0)
        if phase.broken is not None:
            raise _not_a_task(phase.broken)
        if phase.title and phase.place is None:
            phase.place = len(self.tasks)
            self.tasks.append(PageTask(phase.title, 0, given_fields(id=_slug(phase.title)), line=phase.line))
        return phase

    def end_phase(self) -> None:
        """End a section: what it says is in its description, or is left out with it."""
        phase = self._phase
        if self._fence is not None:
            raise error_at(self._fence, "this fence is not closed")
        if phase is not None and phase.place is not None:
            task = self.tasks[phase.place]
            said = given_fields(description="\n".join(phase.said) or None)
            self.tasks[phase.place] = replace(task, fields={**task.fields, **said})
            self._before = task.fields["id"]
        elif phase is not None and phase.title:
            self.left_out.append(f'the section "{phase.title}"')


def _not_a_task(number: int) -> PageError:
    return error_at(number, "a task begins with `- [ ] T001 `, and this is none")


def _slug(title: str) -> str:
    return re.sub(r"[^\w.]+", "-", title.partition(":")[0].casefold()).strip("-.") or "phase"


def _spelled(text: str) -> str:
    """Write out ranges of tasks, as ``T003-T005``."""

    def names(found: re.Match[str]) -> str:
        first, last, width = int(found[2]), int(found[3]), len(found[2])
        return ", ".join(f"T{number:0{width}}" for number in range(first, min(last, first + 999) + 1))

    return _RANGE.sub(names, text)


def read_spec_kit(text: str) -> Source:
    """Read the tasks. Raises PageError."""
    require_end(text)
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), start=1):
        reader.read(number, line)
    reader.end_phase()
    return Source(finished(reader.tasks), tuple(reader.left_out))
