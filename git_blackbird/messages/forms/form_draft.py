"""A form of a task that is not saved yet, as a text that is kept."""

from pydantic import BaseModel, ConfigDict, ValidationError

from git_blackbird.model.rules.task_fields import TaskFields


class FilledForm(BaseModel):
    """What a form says: the fields that it began with, and what they are to be; the id of a new task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base: TaskFields
    wanted: TaskFields
    task_id: str | None = None


def load_filled_form(text: str) -> FilledForm | None:
    """Read a form that was kept; None where there is none, or none that can be read."""
    try:
        return FilledForm.model_validate_json(text) if text.strip() else None
    except ValidationError:
        return None
