"""What masks the secrets in texts of agents, as configured."""

from collections.abc import Iterable

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.redaction import Redactor, secret_values


def redactor_of(workspace: Workspace) -> Redactor | None:
    """Return what masks the secrets of one run; None if none are to be masked."""
    return Redactor(secret_values(workspace.repo.environ)) if workspace.config.records.redact else None


def masked(workspace: Workspace, texts: Iterable[str]) -> list[str]:
    """Return texts without their secrets."""
    redactor = redactor_of(workspace)
    if redactor is None:
        return list(texts)
    return [redactor.mask(text.encode())[0].decode(errors="replace") for text in texts]
