"""A proposal as people read it: new tasks as a tree, and what changes of the others."""

import difflib
from collections.abc import Iterator, Mapping

from git_blackbird.controller.plan.page import PageChange
from git_blackbird.controller.planning.proposal import Proposal
from git_blackbird.messages.display.format import agent_words
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, Style, block, line, listed, plain, styled
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.task_fields import FIELD_NAMES, changed_fields, fields_of

_MAX_LINES = 6
_MAX_FAULTS = 20
_TEXTS = frozenset({"description", "prompt", "notes"})
_STYLES = {"+": Style.ADDED, "-": Style.REMOVED}


def proposal_lines(proposal: Proposal) -> Iterator[Line]:
    if proposal.change is not None:
        yield from change_lines(proposal.change)
    if proposal.remarks:
        yield from (line(), *block(proposal.remarks, indent="remark: "))
    if proposal.faults:
        yield styled("this cannot be accepted:", Style.WARNING)
        yield from (one.behind("  ") for one in listed(proposal.faults, _MAX_FAULTS))


def change_lines(change: PageChange) -> Iterator[Line]:
    result, before, after = change.result, change.before.tasks, change.after.tasks
    if not result.is_changed:
        yield line("nothing would change")
    if result.added:
        yield styled(f"new: {counted(len(result.added), 'task')}", Style.HEADING)
    for one in result.added:
        yield from _new_lines(after[one.id], "  " * (one.depth + 1))
    for task_id in result.edited:
        yield styled(f"changed: {task_id}", Style.HEADING)
        yield from _field_lines(before[task_id], after[task_id])
    for task_id in result.moved:
        above, now = (tasks[task_id].parent or "the top" for tasks in (before, after))
        yield line(f"moved: {task_id} from {above} to {now}")
    for task_id in result.deleted:
        yield styled(f"deleted: {task_id}  {before[task_id].title}", Style.REMOVED)


def _new_lines(task: Task, indent: str) -> Iterator[Line]:
    yield styled(f"{indent}{task.id}  {task.title}", Style.ADDED)
    rest = [f"after {_dep(dep, task.dep_rationale)}" for dep in task.deps]
    if words := agent_words(task):
        rest.append(f"by {words}")
    rest += _shortened(task.description) + _shortened(task.prompt)
    rest += [f"[ ] {text}" for text in task.acceptance_criteria]
    yield from (line(f"{indent}    {text}") for text in rest)


def _dep(dep: TaskId, reasons: Mapping[TaskId, str]) -> str:
    return f"{dep}: {reasons[dep]}" if reasons.get(dep) else dep


def _shortened(text: str) -> list[str]:
    lines = list(plain(block(text.strip())))
    more = len(lines) - _MAX_LINES
    return lines if more < 2 else [*lines[:_MAX_LINES], f"(and {more} more lines)"]


def _field_lines(before: Task, after: Task) -> Iterator[Line]:
    names = changed_fields(fields_of(before), fields_of(after))
    # The reasons are shown beside what they are for.
    if "dep_rationale" in names:
        names = tuple(dict.fromkeys("deps" if name == "dep_rationale" else name for name in names))
    for name in names:
        old, new = _values(before, name), _values(after, name)
        if len(old) < 2 and len(new) < 2 and name not in _TEXTS | {"deps"}:
            yield line(f"  {FIELD_NAMES[name]}: {''.join(old) or 'none'} -> {''.join(new) or 'none'}")
            continue
        yield line(f"  {FIELD_NAMES[name]}:")
        for text in difflib.ndiff(old, new):
            if (style := _STYLES.get(text[:1])) is not None:
                yield styled(f"    {text.rstrip()}", style)


def _values(task: Task, name: str) -> list[str]:
    if name == "deps":
        return [_dep(dep, task.dep_rationale) for dep in task.deps]
    if name == "acceptance_criteria":
        return list(task.acceptance_criteria)
    return list(plain(block(getattr(task, name) or "")))
