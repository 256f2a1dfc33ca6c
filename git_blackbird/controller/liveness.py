"""Whether the process of a record still runs; readers ask too, and need not load what runs agents."""

from git_blackbird.agents import processes
from git_blackbird.model.run import Run


def is_alive(run: Run) -> bool:
    """Whether the very process of a record still runs."""
    return bool(run.pid and run.process_identity and processes.is_alive(run.pid, run.process_identity))
