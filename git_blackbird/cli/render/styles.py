"""How statuses are put for people on a terminal, in one way everywhere."""

from git_blackbird.cli.render.tables import Cell
from git_blackbird.model.entities.run import Run, RunStatus
from git_blackbird.model.entities.status import Status

_NANOSECONDS = 1_000_000_000
COLORS = {
    "DONE": "green",
    "READY": "cyan",
    "IN_PROGRESS": "blue",
    "WAITING_USER": "yellow",
    "FAILED": "red",
    "BLOCKED": "magenta",
}
_RUN_COLORS = {
    RunStatus.SUCCESS: "green",
    RunStatus.FAILED: "red",
    RunStatus.RUNNING: "blue",
    RunStatus.WAITING_USER: "yellow",
    RunStatus.PAUSED: "yellow",
}


def status_cell(run: Run) -> Cell:
    """Write a run's status in its colour; an overtaken run is dim."""
    return Cell(
        run.status.value, None if run.superseded_at else _RUN_COLORS[run.status], dim=bool(run.superseded_at)
    )


def label_cell(label: str) -> Cell:
    """Write a task's label in its colour."""
    return Cell(label, COLORS.get(label))


BAR = (
    (Status.DONE, "#", "green"),
    (Status.IN_PROGRESS, ">", "blue"),
    (Status.QUEUED, ">", "blue"),
    (Status.WAITING_USER, "?", "yellow"),
    (Status.FAILED, "x", "red"),
    (Status.BLOCKED, ".", None),
    (Status.TODO, ".", None),
    (Status.SKIPPED, "-", None),
)
