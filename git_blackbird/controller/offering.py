"""What a shell may offer while a command is being typed. Takes no lock and writes nothing."""

from git_blackbird.controller.run_views import runs_of_task
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.choosable import BY_STATE, choosable_deps, choosable_tasks
from git_blackbird.model.plan import Task
from git_blackbird.model.run import Run
from git_blackbird.model.standing import Standing

_MOST_RUNS = 100


def offered_tasks(workspace: Workspace, command: str) -> tuple[Task, ...]:
    """Give the tasks that a command would take now.

    Raises UnusableError when there is no plan to be read.
    """
    if command in BY_STATE:
        return choosable_tasks(command, workspace.standing())
    return choosable_tasks(command, Standing(workspace.store.plan(), {}))


def offered_deps(workspace: Workspace, verb: str, task_id: str) -> tuple[Task, ...]:
    """Give the tasks that ``deps VERB TASK`` would take now.

    Raises UnusableError when there is no plan to be read.
    """
    return choosable_deps(verb, workspace.store.plan(), task_id)


def offered_runs(workspace: Workspace, task_id: str) -> tuple[Run, ...]:
    """Give the runs of a task, newest first.

    Raises BlackbirdError when the task is unknown.
    """
    return tuple(runs_of_task(workspace, task_id, _MOST_RUNS).runs)
