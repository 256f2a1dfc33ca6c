"""What an agent that plans is told: the context pack, and the same as prose."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from git_blackbird.messages.outgoing.prompts import MASKED, join_parts, render_section, task_part
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.run.parts import Answer, Question

_READS = (
    "You plan work, without doing any of it, in the git repository that is your working directory. Do not "
    "edit, create or delete files, and do not commit. Read what you need of the repository first: a plan "
    "that does not fit it is worth nothing."
)
_TASKS = """\
Others work on these tasks, each agent on one, in a session of its own that knows its task and the repository
and nothing of this conversation:

- "title": one line. "prompt": all that its agent needs to know and to do, with the names of files.
- "criteria": what must hold in the end, each so that it can be checked.
- "after": the ids of the tasks whose work it needs, and no others: what is independent can be done side by
  side. "because": for each of these, what it needs of it.
- "parent": the id of the task that it is a part of. A task with others below it is a parent: no agent works
  on it, so it has no prompt. "/" is the top of the plan.
- "id": a short unique name of lower-case words with hyphens; all other fields name tasks by it.
- "description", "agent", "model": null unless there is a reason."""
_ORDERS = """\
Say which tasks need the work of which others: "after" has the ids of all tasks that must be done before a
task, and no others, and "because" says for each of these what is needed of it. Leave tasks out whose
dependencies are right as they are. Tasks must not wait for one another in a circle, nor for their parents."""
_ANSWER = """\
Answer with one JSON object of the required form and nothing else. If something decides about the plan that
neither the request nor the repository says, put it into "questions", with "options" where there are some:
you are asked again with the answers. Ask only what you cannot find out. "remarks" is for what the person
who reads the plan should know."""


class PlanKind(StrEnum):
    """What is wanted of an agent that plans; the value is the command."""

    GENERATE = "plan generate"
    REFINE = "plan refine"
    INFER = "deps infer"


_HOW = {
    PlanKind.GENERATE: (
        "Answer with the new tasks for the request. Leave the tasks alone that there are: new ones may come "
        "after them or be parts of them. Delete nothing."
    ),
    PlanKind.REFINE: (
        "Answer with what is to change in the plan for the request: new tasks, tasks that are there with "
        "those fields that change, null for all others, and the ids of tasks to delete. What you do not name "
        "stays as it is. Leave tasks alone that are done, skipped or being worked on. Where a task is "
        "deleted, change what comes after it, and delete or move what is below it."
    ),
    PlanKind.INFER: _ORDERS,
}


@dataclass(frozen=True)
class PlanRequest:
    """What an agent is to plan; with ``only`` tasks, their dependencies alone.

    ``answers`` are those to its questions. ``proposal`` is the answer that it gave, as it was; ``change`` is
    what a person wants otherwise in it, ``fault`` why it could not be used.
    """

    kind: PlanKind
    text: str = ""
    only: tuple[TaskId, ...] = ()
    answers: tuple[tuple[Question, Answer], ...] = ()
    proposal: str | None = None
    change: str | None = None
    fault: str | None = None


def build_planning_context(request: PlanRequest, plan: Plan) -> dict[str, Any]:
    """Build the context pack of an agent that plans; empty parts are left out."""
    planning = {
        "kind": request.kind.value,
        "request": request.text,
        "only": list(request.only),
        "tasks": [_planned_task(task) for _, task in plan.walk()],
        "questions": [question.prompt for question, _ in request.answers],
        "proposal": request.proposal,
        "change": request.change,
        "fault": request.fault,
    }
    return {
        "schemaVersion": 1,
        "planning": {name: value for name, value in planning.items() if value},
        "answers": [{"id": answer.id, "value": answer.value} for _, answer in request.answers],
        "systemPrompt": join_parts(*_system_parts(request.kind)),
    }


def _system_parts(kind: PlanKind) -> Iterator[str]:
    yield _READS
    if kind is not PlanKind.INFER:
        yield _TASKS
    yield from (_HOW[kind], _ANSWER, MASKED)


def _planned_task(task: Task) -> dict[str, Any]:
    part = task_part(task)
    fields = {
        "criteria": part.pop("acceptanceCriteria", None),
        "after": list(task.deps),
        "because": [{"task": dep, "reason": why} for dep, why in task.dep_rationale.items()],
        "parent": task.parent,
        "agent": task.agent,
        "model": task.model,
        "status": task.status.value,
    }
    return part | {name: value for name, value in fields.items() if value}


def render_planning_prompt(context: Mapping[str, Any]) -> str:
    """Format a context pack as the prompt of an agent that plans."""
    planning = context["planning"]
    answers = [answer["value"] for answer in context.get("answers", ())]
    asked = zip(planning.get("questions", ()), answers, strict=True)
    return join_parts(
        context["systemPrompt"],
        render_section("The request", [planning.get("request", "")]),
        render_section("The plan as it is", _json_lines(planning.get("tasks", ()))),
        render_section("Only the dependencies of these are to be said", planning.get("only", ())),
        render_section("Your questions", [f"{question}\nAnswer: {answer}" for question, answer in asked]),
        render_section("Your last answer", [planning.get("proposal", "")]),
        render_section("What is to be different in it", [planning.get("change", "")]),
        render_section("Why it could not be used", [planning.get("fault", "")]),
    )


def _json_lines(tasks: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [json.dumps(task, ensure_ascii=False) for task in tasks]
    return ["\n".join(["```json", *lines, "```"])] if lines else []
