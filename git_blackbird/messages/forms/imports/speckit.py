"""``tasks.md`` of spec-kit: phases one after the other, in each its tasks, ``[P]`` side by side."""

import re
from dataclasses import replace

from git_blackbird.messages.forms.imports.common import Source, finished, require_end, titled
from git_blackbird.messages.forms.page import PageError, PageFault, PageTask, given_fields

TASK = re.compile(r"\s*[-*] \[([ xX])\] \**(T\d+[a-z]?)\**:? *(.*)")
_BROKEN = re.compile(r"\s*[-*] \[.*")
_PHASE = re.compile(r"## +(Phase\b.*\S)", re.IGNORECASE)
_SECTION = re.compile(r"##? +(.*\S)")
_TAG = re.compile(r"\[([^\]]*)\] *")
_AFTER = re.compile(
    r"\(?\b(?:depends on|requires|after)\b:? *(T\d+[a-z]?(?:(?:,| and|, and)? *T\d+[a-z]?)*)\)?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"(T)(\d+) *(?:-|\N{EN DASH}|to) *T(\d+)")


class _Reader:
    """Reads line by line; a phase is the parent of its tasks."""

    def __init__(self) -> None:
        self.tasks: list[PageTask] = []
        self.left_out: list[str] = []
        self._phases: list[str] = []
        # The tasks of this phase.
        self._phase: set[str] = set()
        # The last task without [P] in this phase, and those with it since.
        self._last: str | None = None
        self._beside: list[str] = []
        self._is_phase = True
        self._is_open = False

    def read(self, number: int, line: str) -> None:
        """Take one line."""
        if found := TASK.fullmatch(line):
            if not found[3].strip():
                raise PageError([PageFault.of(f"{found[2]} has no text: the file is cut off here", number)])
            self._add(number, found[2], found[3], is_done=found[1] != " ")
        elif _BROKEN.fullmatch(line) and not re.match(r"\s*[-*] \[[^\]]*\]\(", line):
            raise PageError([PageFault.of("a task begins with `- [ ] T001 `, and this is none", number)])
        elif found := _PHASE.fullmatch(line):
            self._begin(number, found[1])
        elif found := _SECTION.fullmatch(line):
            self._is_phase = self._is_open = False
            self.left_out += [f'the section "{found[1]}"'] if line.startswith("## ") else []
        elif self._is_open and line.startswith(" ") and line.strip():
            task = self.tasks[-1]
            self.tasks[-1] = replace(task, prompt=f"{task.prompt or task.title}\n{line.strip()}")
        else:
            self._is_open = False
            self._describe(line)

    def _begin(self, number: int, title: str) -> None:
        name = re.sub(r"[^\w.]+", "-", title.partition(":")[0].strip().casefold()).strip("-")
        self.tasks.append(PageTask(title, 0, given_fields(id=name), line=number))
        self._phases.append(name)
        self._last, self._beside, self._is_phase, self._is_open = None, [], True, False
        self._phase = set()

    def _add(self, number: int, name: str, text: str, *, is_done: bool) -> None:
        tags = []
        while tag := _TAG.match(text):
            tags.append(tag[1])
            text = text[tag.end() :]
        named = [
            one for found in _AFTER.finditer(_spelled(text)) for one in re.findall(r"T\d+[a-z]?", found[1])
        ]
        is_free = "P" in tags
        order = [self._last] if is_free or not self._beside else self._beside
        # What comes after a task of its phase comes after the phase before as well.
        is_first = self._phase.isdisjoint(named) if named else order == [None]
        before = self._phases[-2:-1] if is_first else []
        title, prompt = titled(text)
        fields = given_fields(id=name, status="done" if is_done else None)
        stories = ", ".join(tag for tag in tags if tag != "P")
        fields |= {"description": stories} if stories else {}
        after = (*before, *(named or [one for one in order if one is not None]))
        depth = 1 if self._phases else 0
        self.tasks.append(PageTask(title, depth, fields, after, prompt=prompt, line=number))
        self._phase.add(name)
        self._last, self._beside = (self._last, [*self._beside, name]) if is_free else (name, [])
        self._is_open = True

    def _describe(self, line: str) -> None:
        """Keep what a phase says of itself, before and between its tasks."""
        place = next((at for at in range(len(self.tasks) - 1, -1, -1) if self.tasks[at].depth == 0), None)
        is_text = line.strip() not in {"", "---"} and not line.startswith("#")
        if place is None or not (self._phases and self._is_phase and is_text):
            return
        phase = self.tasks[place]
        said = "\n".join(filter(None, (phase.fields.get("description"), line.rstrip())))
        self.tasks[place] = replace(phase, fields={**phase.fields, "description": said})


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
        reader.read(number, line.rstrip("\r"))
    return Source(finished(reader.tasks), tuple(reader.left_out))
