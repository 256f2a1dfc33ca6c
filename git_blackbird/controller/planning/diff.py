"""A proposal as people read it: new tasks as a tree, and what changes of the others."""

import difflib
from collections.abc import Iterator, Mapping

from git_blackbird.controller.plan.page import PageChange
from git_blackbird.controller.planning.proposal import Proposal
from git_blackbird.messages.display.format import agent_words
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.task_fields import FIELD_NAMES, changed_fields, fields_of

_MAX_LINES = 6
_MAX_FAULTS = 20
_TEXTS = frozenset({"description", "prompt", "notes"})


def proposal_lines(proposal: Proposal) -> Iterator[str]:
    if proposal.change is not None:
        yield from change_lines(proposal.change)
    if proposal.remarks:
        yield from ("", *(f"remark: {line}" for line in strip_controls(proposal.remarks).splitlines()))
    if proposal.faults:
        yield "this cannot be accepted:"
        yield from (f"  {clean_line(fault, 500)}" for fault in proposal.faults[:_MAX_FAULTS])
        if len(proposal.faults) > _MAX_FAULTS:
            yield f"  and {len(proposal.faults) - _MAX_FAULTS} more"


def change_lines(change: PageChange) -> Iterator[str]:
    result, before, after = change.result, change.before.tasks, change.after.tasks
    if not result.is_changed:
        yield "nothing would change"
    if result.added:
        yield f"new: {counted(len(result.added), 'task')}"
    for one in result.added:
        yield from _new_lines(after[one.id], "  " * (one.depth + 1))
    for task_id in result.edited:
        yield f"changed: {task_id}"
        yield from _field_lines(before[task_id], after[task_id])
    for task_id in result.moved:
        above, now = (tasks[task_id].parent or "the top" for tasks in (before, after))
        yield f"moved: {task_id} from {above} to {now}"
    for task_id in result.deleted:
        yield f"deleted: {task_id}  {clean_line(before[task_id].title)}"


def _new_lines(task: Task, indent: str) -> Iterator[str]:
    yield f"{indent}{task.id}  {clean_line(task.title)}"
    rest = [f"after {_dep(dep, task.dep_rationale)}" for dep in task.deps]
    if words := agent_words(task):
        rest.append(f"by {words}")
    rest += _shortened(task.description) + _shortened(task.prompt)
    rest += [f"[ ] {clean_line(text, 500)}" for text in task.acceptance_criteria]
    yield from (f"{indent}    {line}" for line in rest)


def _dep(dep: TaskId, reasons: Mapping[TaskId, str]) -> str:
    return f"{dep}: {clean_line(reasons[dep], 500)}" if reasons.get(dep) else dep


def _shortened(text: str) -> list[str]:
    lines = strip_controls(text).strip().splitlines()
    more = len(lines) - _MAX_LINES
    return lines if more < 2 else [*lines[:_MAX_LINES], f"(and {more} more lines)"]


def _field_lines(before: Task, after: Task) -> Iterator[str]:
    names = changed_fields(fields_of(before), fields_of(after))
    # The reasons are shown beside what they are for.
    if "dep_rationale" in names:
        names = tuple(dict.fromkeys("deps" if name == "dep_rationale" else name for name in names))
    for name in names:
        old, new = _values(before, name), _values(after, name)
        if len(old) < 2 and len(new) < 2 and name not in _TEXTS | {"deps"}:
            yield f"  {FIELD_NAMES[name]}: {''.join(old) or 'none'} -> {''.join(new) or 'none'}"
            continue
        yield f"  {FIELD_NAMES[name]}:"
        lines = difflib.ndiff(old, new)
        yield from (f"    {line.rstrip()}" for line in lines if not line.startswith(("?", "  ")))


def _values(task: Task, name: str) -> list[str]:
    if name == "deps":
        return [_dep(dep, task.dep_rationale) for dep in task.deps]
    if name == "acceptance_criteria":
        return [clean_line(text, 500) for text in task.acceptance_criteria]
    return strip_controls(getattr(task, name) or "").splitlines()
