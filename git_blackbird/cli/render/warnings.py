"""What readers warn of and pass over: unreadable records, a configuration that other commands refuse."""

from collections.abc import Iterable

from git_blackbird.cli.output import Output
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.entities.history import RecordError
from git_blackbird.model.entities.provenance import UnconfirmedRecord


def warn_faults(output: Output, faults: Iterable[RecordError]) -> None:
    """Name every file among the records that cannot be read."""
    for fault in faults:
        output.warn(f"unreadable record: {fault.path}: {fault.what}", fault.hint)


def warn_unconfirmed(output: Output, records: Iterable[UnconfirmedRecord]) -> None:
    """Name every file among the records that counts for nothing until a person says so."""
    for one in records:
        output.warn(f"record ignored: {one.path}: {one.what}", one.command)


def warn_strays(output: Output, strays: Iterable[str]) -> None:
    """Name every file among the records that is none."""
    for path in strays:
        output.warn(
            f"not a record: {path}", "the Go program cannot read a folder with such a file; move it away"
        )


def warn_problems(output: Output, workspace: Workspace) -> None:
    """Name what is wrong in the configuration; only commands that start or decide stop at it."""
    for problem in workspace.problems:
        output.warn(str(problem), problem.hint)
