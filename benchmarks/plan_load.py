"""Loading and validating a plan of 10,000 tasks against ``json.loads`` of its bytes.

Both are timed in turns, by the processor time of this process, so that a busy machine changes the figures
little. Exits 1 when the ratio of the medians is above the limit.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable

from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.storage.plan_format import parse_plan, render_plan

TASKS = 10_000
CHILDREN = 9
ROUNDS = 15
LIMIT = 4.0


def build_plan() -> Plan:
    """Groups of a parent and nine children, each child after the one before; a third is done."""
    tasks: dict[TaskId, Task] = {}
    for number in range(0, TASKS, CHILDREN + 1):
        parent = task_id(number)
        children = tuple(task_id(number + step) for step in range(1, CHILDREN + 1))
        tasks[parent] = build_task(number, children=children)
        for step, child in enumerate(children, start=1):
            deps = (task_id(number + step - 1),) if step > 1 else ()
            tasks[child] = build_task(number + step, parent=parent, deps=deps)
    return Plan(tasks)


def task_id(number: int) -> TaskId:
    return TaskId(f"w_{number:012x}")


def build_task(
    number: int,
    *,
    parent: TaskId | None = None,
    children: tuple[TaskId, ...] = (),
    deps: tuple[TaskId, ...] = (),
) -> Task:
    finished = number % 3 == 0
    created = "2026-01-02T03:04:05.123456789Z"
    updated = f"2026-01-{3 + number % 27:02d}T03:04:05.{number:09d}Z"
    return Task(
        id=task_id(number),
        title=f"Do part {number} of the work",
        created_at=created,
        updated_at=updated if finished else created,
        description="What this part is about, in a sentence or two, as people write it.",
        acceptance_criteria=("the tests pass", "the documentation says how it is used"),
        prompt="Write the code and the tests of this part, and nothing beyond it.",
        parent=parent,
        children=children,
        deps=deps,
        status=Status.DONE if finished else Status.TODO,
    )


def milliseconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1000


def main() -> int:
    data = render_plan(build_plan())
    pairs = [
        (milliseconds(lambda: json.loads(data)), milliseconds(lambda: parse_plan(data, "plan")))
        for _ in range(ROUNDS)
    ]
    reference, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = ours / reference
    verdict = "within" if ratio <= LIMIT else "ABOVE"
    print(f"plan of {TASKS} tasks, {len(data)} bytes, medians of {ROUNDS} rounds")
    print(f"json.loads {reference:.1f} ms, load and validate {ours:.1f} ms")
    print(f"ratio {ratio:.2f}, limit {LIMIT:.2f}: {verdict} the limit")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
