"""Output of the commands that install and remove."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Self

from pydantic import Field

from git_blackbird.cli.schema.base import CommandOutput, View, is_none
from git_blackbird.controller.setup.hooks import Action, HookState, Status
from git_blackbird.controller.setup.uninstall import Component, ComponentStatus


class HooksOutput(CommandOutput):
    """How the post-commit hook stands."""

    schema_name: ClassVar[str] = "hooks"

    outcome: Action | None = Field(
        default=None,
        exclude_if=is_none,
        description="What `install` or `uninstall` did.",
    )
    path: str = Field(description="The path of the hook.")
    state: HookState = Field(description="Whose it is.")
    other: bool = Field(description="Whether a hook of someone else's is in use.")
    backup: str | None = Field(description="The path of the previous hook.")
    runs_backup: bool = Field(description="Whether the previous hook runs first.")
    blocked_reason: str | None = Field(description="Why the hook cannot be installed.")
    missing_programs: tuple[str, ...] = Field(description="What the hook would start and is not there.")
    shared: str | None = Field(description="Whom the folder of hooks serves besides this repository.")

    @classmethod
    def of(cls, view: Status, outcome: Action | None = None) -> Self:
        """Make it of how the hook stands, and what was done."""
        return cls(
            outcome=outcome,
            path=str(view.path),
            state=view.state,
            other=view.other,
            backup=None if view.backup is None else str(view.backup),
            runs_backup=view.runs_aside,
            blocked_reason=view.blocked_reason,
            missing_programs=tuple(view.missing_programs),
            shared=view.shared,
        )


class RemovedPart(View):
    """One part that was removed."""

    part: Component = Field(description="Which part.")
    what: str = Field(description="What there was of it.")


class DeinitOutput(CommandOutput):
    """What was removed from the repository."""

    schema_name: ClassVar[str] = "deinit"

    removed: tuple[RemovedPart, ...] = Field(description="The parts.")

    @classmethod
    def of(cls, removed: Iterable[ComponentStatus]) -> Self:
        """Make it of the parts."""
        return cls(removed=tuple(RemovedPart(part=one.part, what=one.text) for one in removed))


class CompletionOutput(CommandOutput):
    """The completion script of a shell."""

    schema_name: ClassVar[str] = "completion"

    shell: str = Field(description="The shell.")
    script: str = Field(description="The script.")


class SchemaOutput(CommandOutput):
    """A JSON Schema, or the names of all."""

    schema_name: ClassVar[str] = "schema"

    names: tuple[str, ...] = Field(description="The names.")
    schema_: Mapping[str, object] | None = Field(
        alias="schema", description="The schema of that name; null where none was named."
    )
