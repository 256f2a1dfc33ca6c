"""What masks the secrets in texts of agents, as configured."""

from collections.abc import Iterable

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.redaction import Redactor


def redactor_of(workspace: Workspace) -> Redactor | None:
    """Return what masks the secrets of one run; None if none are to be masked."""
    return workspace.store.redactor()


def masked(workspace: Workspace, texts: Iterable[str]) -> list[str]:
    """Return texts without their secrets."""
    redactor = redactor_of(workspace)
    return list(texts if redactor is None else map(redactor.mask_text, texts))
