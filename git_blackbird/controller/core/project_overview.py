"""What agents are told of the project: one of three files, bounded (DESIGN.md 3)."""

from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.outgoing.context import SNAPSHOT_BYTES, bound_snapshot, first_section
from git_blackbird.model.base.system import is_exhausted
from git_blackbird.storage.files import load_beginning
from git_blackbird.storage.paths import OVERVIEW_NAME, STATE_NAME

README = "README.md"
_FILES = (f"{STATE_NAME}/{OVERVIEW_NAME}", "OVERVIEW.md", README)


class ProjectOverview(NamedTuple):
    """The text, and the file that it is from; ``is_beginning`` where the file goes on."""

    file: str
    text: str
    is_beginning: bool = False


def load_project_overview(workspace: Workspace) -> ProjectOverview | None:
    """Read the first of the files that has something; of a README only its first section."""
    for name in _FILES:
        top = workspace.paths.state_root
        try:
            data = load_beginning(top, top / name, 4 * SNAPSHOT_BYTES)
        except OSError as error:
            # There is none, or none that a repository may have an agent read.
            if is_exhausted(error):
                raise
            continue
        text = data.decode(errors="replace").strip()
        if text:
            return _of_readme(text) if name == README else ProjectOverview(name, bound_snapshot(text))
    return None


def _of_readme(text: str) -> ProjectOverview:
    section = first_section(text)
    if section == text:
        return ProjectOverview(README, text)
    return ProjectOverview(
        README, f"{section}\n\n[the beginning of {README}; the file has more]", is_beginning=True
    )
