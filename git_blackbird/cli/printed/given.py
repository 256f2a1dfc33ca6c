"""Outputs of which a command gives every field."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.status import Status
from git_blackbird.model.plan.validation import PlanError
from git_blackbird.model.rules.lint import LintFinding


class ValidateOutput(NamedTuple):
    """Whether the plan is valid."""

    valid: Annotated[bool, Shown("Whether there is no fault.")]
    faults: Annotated[Sequence[PlanError], Shown("Every error in the file.")]
    findings: Annotated[
        Sequence[LintFinding] | None,
        Shown("What `--lint` found; null without it, or if the plan is invalid."),
    ]


class RenameOutput(NamedTuple):
    """What `rename` renamed."""

    task: Annotated[str, Shown("The new id.")]
    before: Annotated[str, Shown("The id that it had.")]


class ExportOutput(NamedTuple):
    """The plan in another form."""

    form: Annotated[str, Shown("`page`, `markdown` or `json`.")]
    text: Annotated[str, Shown("The whole text.")]


class GraphOutput(NamedTuple):
    """The plan as a picture."""

    form: Annotated[str, Shown("`mermaid`, `dot` or `svg`.")]
    text: Annotated[str, Shown("The whole picture.")]
    place: Annotated[Path | None, Shown("The file that `--open` shows; null without it.")]


class LintOutput(NamedTuple):
    """What `plan lint` found."""

    findings: Annotated[Sequence[LintFinding], Shown("The findings, by task, field, severity and code.")]


class SchemaOutput(NamedTuple):
    """A JSON Schema, or the names of all."""

    names: Annotated[Sequence[str], Shown("The names.")]
    schema_: Annotated[
        Mapping[str, object] | None, Shown("The schema of that name; null where none was named.", "schema")
    ]


class CompletionOutput(NamedTuple):
    """The completion script of a shell."""

    shell: Annotated[str, Shown("The shell.")]
    script: Annotated[str, Shown("The script.")]


class DeinitOutput(NamedTuple):
    """What was removed from the repository."""

    removed: Annotated[tuple[str, ...], Shown("What there was, in words.")]


class DismissOutput(NamedTuple):
    """What dismissing a parent's review led to."""

    task: Annotated[TaskId, Shown("The parent.")]
    status: Annotated[Status, Shown("Its status now.")]
    run: Annotated[RunId, Shown("The review.")]
    reason: Annotated[str, Shown("Why it was dismissed.")]
    dropped: Annotated[tuple[TaskId, ...], Shown("Tasks whose feedback is no longer pending.")]


class ShowPromptOutput(NamedTuple):
    """The prompt that the agent of a task would get now."""

    task: Annotated[TaskId, Shown("The task.")]
    agent: Annotated[str, Shown("The agent.")]
    prompt: Annotated[str, Shown("The prompt, in prose.")]
    context: Annotated[Mapping[str, object], Shown("The context pack.")]
    project_file: Annotated[str | None, Shown("The file from which a new session is told of the project.")]
