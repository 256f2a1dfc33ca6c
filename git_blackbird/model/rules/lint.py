"""Doubts about the structure of a plan that is valid; phrases are not judged."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.named_paths import named_paths, overlaps
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.validation import item_place

_MOST_NAMED = 5
_REQUIREMENT = re.compile(
    r"^[ \t>|]*(?:[-*+] +|\d+[.)] +|#+ +)?(?:\[[ xX]\] +)?[*_`]*([A-Z]{1,6}-?\d{1,4}(?:\.\d+)*)[*_`]*"
    r"\s*(?:[:.)|\N{EN DASH}\N{EM DASH}]|-\s|[*_`])",
    re.MULTILINE,
)
_ID = re.compile(r"[A-Z]{1,6}-?\d{1,4}(?:\.\d+)*")
_RANGE = re.compile(r"\b([A-Z]{1,6}-?)(\d{1,4}) *(?:-|\N{EN DASH}|\.\.\.?|to|through) *(?:\1)?(\d{1,4})\b")
_CHECKED = re.compile(r"^\$ |`[^`]+`")


class Severity(StrEnum):
    """How bad a finding is: a plan with a blocking one is not ready to be worked on."""

    BLOCKING = "blocking"
    WARNING = "warning"


class LintFinding(NamedTuple):
    """One doubt about the structure of a plan."""

    severity: Annotated[Severity, Shown("How bad it is.")]
    code: Annotated[str, Shown("Which doubt it is.")]
    task_id: Annotated[TaskId | None, Shown("The task; null for what is about the whole plan.")]
    field: Annotated[str, Shown("The field of the task: `task`, `acceptanceCriteria` or `deps`.")]
    message: Annotated[str, Shown("What is doubtful.")]
    suggestion: Annotated[str, Shown("What to do about it.")]
    places: Annotated[tuple[str, ...], Shown("Where to look: JSON paths of the plan, or `FILE:LINE`.")]


class RequirementSource(NamedTuple):
    name: str
    text: str


def lint_plan(
    plan: Plan, sources: Sequence[RequirementSource], *, has_check: bool
) -> tuple[LintFinding, ...]:
    """Return the findings, in the order of the plan, then by field, severity and code.

    ``has_check``: changes are checked anyway.
    """
    leaves = [task for task in plan.leaves() if not task.is_over]
    paths = {task.id: _files(task) for task in leaves}
    found = (
        *_uncovered(plan, sources),
        *(finding for task in leaves for finding in _criteria(task, has_check=has_check)),
        *_unordered(plan, leaves, paths),
        *(finding for task in leaves for finding in _needless(plan, task, paths)),
    )
    places = {task.id: place for place, task in enumerate(leaves)}

    def order(one: LintFinding) -> tuple[int, str, Severity, str]:
        place = -1 if one.task_id is None else places[one.task_id]
        return place, one.field, one.severity, one.code

    return tuple(sorted(found, key=order))


def blocking_findings(leaves: Iterable[Task]) -> Iterator[LintFinding]:
    """Yield what blocks tasks by themselves, whatever requirements the plan has to cover."""
    return (finding for task in leaves for finding in _criteria(task, has_check=True))


def requirements(text: str) -> Mapping[str, int]:
    """Return the requirements that a text defines, as items or headings that begin with an id, by line."""
    found: dict[str, int] = {}
    for match in _REQUIREMENT.finditer(text):
        found.setdefault(match[1], text.count("\n", 0, match.start(1)) + 1)
    return found


def _uncovered(plan: Plan, sources: Sequence[RequirementSource]) -> Iterator[LintFinding]:
    covered = {name for task in plan.tasks.values() for name in _mentioned(_text(task))}
    for source in sources:
        for name, line in requirements(source.text).items():
            if name not in covered:
                yield LintFinding(
                    Severity.BLOCKING,
                    "requirement_not_covered",
                    None,
                    "task",
                    f"no task names the requirement {name}",
                    f"add a task for it, or name {name} in the one that has it",
                    (f"{source.name}:{line}",),
                )


def _mentioned(text: str) -> Iterator[str]:
    yield from _ID.findall(text)
    for start, first, last in _RANGE.findall(text):
        for number in range(int(first), min(int(last), int(first) + 999) + 1):
            yield f"{start}{number:0{len(first)}}"


def _text(task: Task) -> str:
    return "\n".join((task.title, task.description, task.prompt, *task.acceptance_criteria, task.notes or ""))


def _files(task: Task) -> frozenset[str]:
    """Return the files that a task names; a folder is named for many reasons."""
    return frozenset(path for path in named_paths(task) if "." in path.rpartition("/")[2])


def _criteria(task: Task, *, has_check: bool) -> Iterator[LintFinding]:
    place = f"{item_place(task.id)}.acceptanceCriteria"
    if not task.acceptance_criteria:
        yield LintFinding(
            Severity.BLOCKING,
            "leaf_acceptance_criteria_missing",
            task.id,
            "acceptanceCriteria",
            "nothing says when it is done",
            "add what must hold in the end, as something that can be looked at or run",
            (place,),
        )
        return
    if has_check or any(map(_CHECKED.search, task.acceptance_criteria)):
        return
    yield LintFinding(
        Severity.WARNING,
        "criterion_without_check",
        task.id,
        "acceptanceCriteria",
        "no criterion names a command or a file, and no check is set",
        "name in `…` what shows that it holds, or set check.command",
        tuple(f"{place}[{number}]" for number in range(len(task.acceptance_criteria))),
    )


def _unordered(
    plan: Plan, leaves: Sequence[Task], paths: Mapping[TaskId, frozenset[str]]
) -> Iterator[LintFinding]:
    before = _Order(plan)
    by_path: dict[str, list[TaskId]] = {}
    for task in leaves:
        for path in paths[task.id]:
            by_path.setdefault(path, []).append(task.id)
    for path, named in sorted(by_path.items()):
        beside = {
            one: free
            for number, one in enumerate(named)
            if (free := [other for other in named[number + 1 :] if not before.orders(one, other)])
        }
        if beside:
            first = next(iter(beside))
            tasks = dict.fromkeys((first, *(other for free in beside.values() for other in free)))
            yield LintFinding(
                Severity.WARNING,
                "unordered_same_file",
                first,
                "deps",
                f"{_listed(tuple(tasks))} name {path}, and none waits for the other",
                Sentence(_deps_command("add", beside[first][0], first), ", or say which part is whose"),
                tuple(map(item_place, tasks)),
            )


def _deps_command(action: str, task_id: TaskId, dep: TaskId) -> TaskCommand:
    return TaskCommand(f"deps {action}", task_id, f" {shell_word(dep)}")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


class _Order:
    """Which tasks come before which, by what they depend on; a parent ends with its children."""

    def __init__(self, plan: Plan) -> None:
        graph = {task.id: (*task.deps, *task.children) for task in plan.tasks.values()}
        self._number = {task_id: number for number, task_id in enumerate(graph)}
        # Of each task, those before it as bits: sets of ten thousand tasks would be too large.
        self._before: dict[TaskId, int] = {}
        # Tasks that wait for one another for ever are warned of elsewhere.
        with contextlib.suppress(CycleError):
            for task_id in TopologicalSorter(graph).static_order():
                bits = 0
                for one in graph[task_id]:
                    bits |= self._before[one] | 1 << self._number[one]
                self._before[task_id] = bits

    def orders(self, one: TaskId, other: TaskId) -> bool:
        return bool(
            self._before.get(other, 0) >> self._number[one] & 1
            or self._before.get(one, 0) >> self._number[other] & 1
        )


def _needless(plan: Plan, task: Task, paths: Mapping[TaskId, frozenset[str]]) -> Iterator[LintFinding]:
    """Find orders for which nothing speaks: no reason, no file of both, and neither names the other."""
    text = _text(task)
    for dep in task.deps:
        other = plan.tasks[dep]
        mine, theirs = paths.get(task.id, frozenset()), paths.get(dep, frozenset())
        is_named = other.title in text or re.search(rf"(?<!\w){re.escape(dep)}(?!\w)", text) is not None
        if dep in task.dep_rationale or not (mine and theirs) or is_named or overlaps(mine, theirs):
            continue
        yield LintFinding(
            Severity.WARNING,
            "order_without_reason",
            task.id,
            "deps",
            f"it waits for {dep}, and nothing says why: they name different files",
            Sentence(_deps_command("remove", task.id, dep), f", or give the reason: `because {dep}: …`"),
            (f"{item_place(task.id)}.deps[{task.deps.index(dep)}]",),
        )
