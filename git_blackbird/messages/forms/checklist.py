"""The plan as a Markdown list of tasks with ticks, for people who read it elsewhere."""

import html
import re
from collections.abc import Iterator, Sequence

from git_blackbird.clean import one_line
from git_blackbird.messages.forms.page import PageTask

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~&@])")
_TICKED = frozenset({"done", "skipped"})


def render_checklist(tasks: Sequence[PageTask]) -> str:
    """Write a list of tasks, ticked where they are over, with ids, what comes before each, and criteria."""
    return "".join(f"{line}\n" for task in tasks for line in _lines(task))


def _lines(task: PageTask) -> Iterator[str]:
    status = task.fields.get("status", "todo")
    indent = "  " * task.depth
    word = "" if status in {"todo", "done"} else f" *({status.replace('_', ' ')})*"
    mark = "x" if status in _TICKED else " "
    # What ends the comment cannot stand in it.
    name = html.escape(task.fields["id"], quote=False)
    yield f"{indent}- [{mark}] {_plain(task.title)}{word} <!-- {name} -->"
    if task.after:
        yield f"{indent}  - after {', '.join(map(_plain, task.after))}"
    yield from (f"{indent}  - {_plain(criterion)}" for criterion in task.criteria)


def _plain(text: str) -> str:
    """Return a text on one line that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", one_line(text, len(text)))
