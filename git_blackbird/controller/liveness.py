"""Whether the process of a record still runs; readers ask too, and need not load what runs agents."""

from git_blackbird.agents import processes
from git_blackbird.errors import RequestError
from git_blackbird.model.plan import Task
from git_blackbird.model.run import Run
from git_blackbird.storage.store import Transaction


def is_alive(run: Run) -> bool:
    """Whether the very process of a record still runs."""
    return bool(run.pid and run.process_identity and processes.is_alive(run.pid, run.process_identity))


def require_idle(transaction: Transaction, task: Task) -> None:
    """Refuse to change a task while an agent works on it.

    Raises RequestError.
    """
    live = transaction.history(task.id).live
    if live is not None and is_alive(live):
        raise RequestError(
            f"an agent works on {task.id} (run {live.id}, process {live.pid})",
            hint="Ctrl+C in the terminal that runs it pauses it",
        )
