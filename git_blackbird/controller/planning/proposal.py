"""What an agent proposes, as the page that the plan would be, and why it may not become that."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from git_blackbird.clean import clean
from git_blackbird.controller.change.reading_run import ReadingEnd
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.plan.outcomes import deadlock_text
from git_blackbird.controller.plan.page import PageChange, change_plan
from git_blackbird.controller.plan.page_reading import parents_in
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.format import masked_text
from git_blackbird.messages.forms.page import PageError, PageFault, PageTask, given_fields
from git_blackbird.messages.incoming.plan_answer import PlanAnswer, TaskAnswer
from git_blackbird.messages.outgoing.planning import PlanKind, PlanRequest
from git_blackbird.model.base.ids import TaskId, fold_task_id, task_id_from
from git_blackbird.model.base.redaction import masked_kinds
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import IN_HAND, Status
from git_blackbird.model.rules.lint import RequirementSource, Severity, lint_plan

_TOP = "/"
_OVER = frozenset({Status.DONE, Status.SKIPPED})


@dataclass(frozen=True)
class Proposal:
    """The page ``base`` as an agent would change it; ``page`` is None for an answer that is none.

    ``change`` is what it would make of the plan, None where that is no plan. With ``faults`` it may not be.
    ``is_masked``: marks stand in it for secrets.
    """

    base: tuple[PageTask, ...]
    page: tuple[PageTask, ...] | None
    change: PageChange | None
    faults: tuple[str, ...] = ()
    remarks: str = ""
    is_masked: bool = False


def read_proposal(
    workspace: Workspace, base: tuple[PageTask, ...], request: PlanRequest, end: ReadingEnd[PlanAnswer]
) -> Proposal:
    """Return what an answer makes of the plan; nothing is saved."""
    if end.answer is None:
        return Proposal(base, None, None, (end.run.error or "the agent failed",))
    answer, masked = end.answer, tuple(_masked(end.answer, end.ended.marks))
    page: tuple[PageTask, ...] | None = None
    changes: list[PageChange] = []
    faults: tuple[str, ...] = ()
    try:
        page = _Tree(base, request, answer).page()
        change_plan(workspace, base, page, changes.append, is_kept=False)
        judge(workspace, changes[0])
        faults = tuple(_doubts(request, changes[0]))
    except RequestError as error:
        faults = tuple(error.message.splitlines())
    change = next(iter(changes), None)
    return Proposal(base, page, change, (*masked, *faults), answer.remarks, bool(masked))


def _masked(answer: PlanAnswer, marks: Mapping[str, str]) -> Iterator[str]:
    """Yield the tasks and questions in which marks stand for what the next agent would need."""
    tasks = ((one.id or one.title or "a task", one) for one in answer.tasks)
    questions = ((f"the question {one.id}", one) for one in answer.questions)
    for name, part in (*tasks, *questions):
        if kinds := masked_kinds(json.dumps(part.model_dump(), ensure_ascii=False), marks):
            instead = ", ".join(kind if kind.startswith("$") else "where it is kept" for kind in kinds)
            yield f"{masked_text(name, kinds)}; write instead: {instead}"


def _doubts(request: PlanRequest, change: PageChange) -> Iterator[str]:
    """Yield what lint holds against new tasks of an answer, and the requirements that it leaves out."""
    if request.kind is PlanKind.INFER:
        return
    made = {None, *(one.id for one in change.result.added)}
    sources = (RequirementSource("the request", request.text),)
    for finding in lint_plan(change.after, sources, has_check=True):
        if finding.severity is Severity.BLOCKING and finding.task_id in made:
            about = "" if finding.task_id is None else f"{finding.task_id}: "
            yield f"{about}{finding.message}: {finding.suggestion}"


def save_proposal(workspace: Workspace, proposal: Proposal) -> PageChange:
    """Change the plan as it is proposed; what others changed meanwhile is kept.

    Raises RequestError where that is no longer possible.
    """
    page = proposal.page or ()
    return change_plan(workspace, proposal.base, page, lambda change: judge(workspace, change), is_kept=True)


def judge(workspace: Workspace, change: PageChange) -> None:
    """Refuse what no agent may do to a plan: touch what is over or in hand, let tasks wait for ever.

    Raises PageError.
    """
    result = change.result
    faults = [*_untouchable(workspace, change)]
    if result.deadlock is not None:
        faults.append(deadlock_text(result.deadlock))
    if faults:
        raise PageError([PageFault.of(fault) for fault in faults])


def _untouchable(workspace: Workspace, change: PageChange) -> Iterator[str]:
    result, before = change.result, change.before.tasks
    parents_of_new = [
        task.parent
        for task in change.after.tasks.values()
        if task.parent in before and (task.id not in before or before[task.id].parent != task.parent)
    ]
    verbs: dict[TaskId, str] = {
        **dict.fromkeys(filter(None, parents_of_new), "gets tasks below it"),
        **dict.fromkeys(result.edited, "is changed"),
        **dict.fromkeys(result.moved, "is moved"),
        **dict.fromkeys(result.deleted, "is deleted"),
    }
    for task_id, verb in verbs.items():
        if (why := _why_kept(workspace, before[task_id])) is not None:
            yield f"{task_id} {verb}, and it {why}: leave it as it is"


def _why_kept(workspace: Workspace, task: Task) -> str | None:
    if task.status in _OVER:
        return f"is {task.status}"
    history = workspace.store.records.history(task.id)
    if history.at_work:
        return "is being worked on"
    if history.latest is not None and history.latest.is_pending:
        return "waits for a decision"
    return f"is {task.status}" if task.is_leaf and task.status in IN_HAND else None


class _Node(NamedTuple):
    task: PageTask
    parent: str | None


class _Tree:
    """The existing tasks, as an answer changes them."""

    def __init__(self, base: Sequence[PageTask], request: PlanRequest, answer: PlanAnswer) -> None:
        ids = [TaskId(task.fields["id"]) for task in base]
        parents = parents_in(base, ids, None)
        self._request = request
        self._nodes = {one: _Node(task, parent) for one, task, parent in zip(ids, base, parents, strict=True)}
        self._known: dict[str, _Node] = {str(one): node for one, node in self._nodes.items()}
        self._faults: list[str] = []
        self._take(answer)

    def _take(self, answer: PlanAnswer) -> None:
        taken = {fold_task_id(one) for one in (*self._known, *(one.id or "" for one in answer.tasks))}
        named: dict[str, TaskAnswer] = {}
        for one in answer.tasks:
            task_id = one.id or task_id_from(one.title or "", taken)
            taken.add(fold_task_id(task_id))
            if task_id in named:
                self._faults.append(f"{task_id} is there twice")
            named[task_id] = one
        titles = {one.title: name for name, one in named.items() if one.title and name not in self._known}
        for task_id, one in named.items():
            self._faults += self._misplaced(task_id)
            old = self._known.get(task_id, _Node(PageTask(""), None))
            parent = titles.get(one.parent or "", one.parent) or old.parent
            self._nodes[TaskId(task_id)] = _Node(
                _merged(old.task, task_id, one), None if parent == _TOP else parent
            )
        for task_id in answer.delete:
            self._delete(task_id, named)

    def _misplaced(self, task_id: str) -> Iterator[str]:
        """Yield why an answer to this request cannot be about a task."""
        is_known, kind = task_id in self._known, self._request.kind
        if is_known and kind is PlanKind.GENERATE:
            yield f"{task_id} is there already: new tasks need ids of their own"
        elif not is_known and kind is PlanKind.INFER:
            yield f"there is no task {task_id}"
        elif self._request.only and task_id not in self._request.only:
            yield f"{task_id} was not asked about"

    def _delete(self, task_id: str, named: Mapping[str, TaskAnswer]) -> None:
        if task_id not in self._known:
            self._faults.append(f"there is no task {task_id} to delete")
        elif self._request.kind is PlanKind.GENERATE or task_id in named:
            self._faults.append(f"{task_id} is to be deleted, and to stay")
        self._nodes.pop(TaskId(task_id), None)

    def page(self) -> tuple[PageTask, ...]:
        """Return the page. Raises PageError."""
        below: dict[str | None, list[TaskId]] = {}
        for task_id, node in self._nodes.items():
            below.setdefault(node.parent, []).append(task_id)
            if node.parent is not None and node.parent not in self._nodes:
                why = "which is to be deleted" if node.parent in self._known else "and there is no such task"
                self._faults.append(f"{task_id} is below {node.parent}, {why}")
            for name in node.task.after or ():
                if name in self._known and name not in self._nodes:
                    self._faults.append(f"{task_id} comes after {name}, which is to be deleted")
        page: list[PageTask] = []
        left = [(0, one) for one in reversed(below.get(None, ()))]
        while left:
            depth, task_id = left.pop()
            page.append(replace(self._nodes[task_id].task, depth=depth))
            left += [(depth + 1, one) for one in reversed(below.get(task_id, ()))]
        if len(page) < len(self._nodes) and not self._faults:
            lost = self._nodes.keys() - {task.fields["id"] for task in page}
            self._faults.append(f"a task cannot be below itself: {', '.join(sorted(lost))}")
        if self._faults:
            raise PageError([PageFault.of(fault) for fault in self._faults])
        return tuple(page)


def _merged(old: PageTask, task_id: str, new: TaskAnswer) -> PageTask:
    after = old.after if new.after is None else tuple(dict.fromkeys(new.after)) or None
    kept = {name: why for name, why in old.because.items() if name in (after or ())}
    reasons = kept if new.because is None else {one.task: one.reason for one in new.because}
    given = given_fields(id=task_id, description=new.description, agent=new.agent, model=new.model)
    fields = {name: _kept(old.fields.get(name, ""), value) for name, value in given.items()}
    criteria = old.criteria if new.criteria is None else tuple(new.criteria)
    return replace(
        old,
        title=_kept(old.title, new.title),
        fields={
            name: value for name, value in {**old.fields, **fields}.items() if value or name not in fields
        },
        after=after,
        because=reasons,
        prompt=_kept(old.prompt, new.prompt),
        criteria=old.criteria if _shown(old.criteria) == criteria else criteria,
        line=0,
    )


def _kept(old: str, new: str | None) -> str:
    """Return the new text, unless it is the old one as an agent repeats it."""
    return old if new is None or _shown((old,)) == (new,) else new


def _shown(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(clean(text).strip() for text in texts)
