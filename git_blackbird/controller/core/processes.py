"""Whether the process of a record still runs; kept small, since reading commands load it."""

from pathlib import Path

from git_blackbird.model.entities.run import Run
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import record_path


def is_alive(run: Run) -> bool:
    """Whether the very process of a record still runs."""
    from git_blackbird.agents.process import signals  # noqa: PLC0415  # most records are closed

    return bool(run.pid and run.process_identity and signals.is_alive(run.pid, run.process_identity))


def processes_at_work(paths: Paths, run: Run) -> list[int]:
    """Return the processes that still work for a run in this worktree, its agent or orphans of it."""
    if is_foreign_copy(paths, run):
        return []
    from git_blackbird.agents.process import signals  # noqa: PLC0415  # as above

    return sorted({*([run.pid] if run.pid and is_alive(run) else []), *signals.marked(run.id)})


def is_foreign_copy(paths: Paths, run: Run) -> bool:
    """Whether a record came here with a copy of its worktree: what works for it works there, not here."""
    if run.repo_root is None:
        return False
    here = record_path(paths, run)
    try:
        return not here.samefile(Path(run.repo_root) / here.relative_to(paths.state_root))
    except OSError:
        # Nothing is there any more: this worktree has been moved.
        return False
