"""How to undo rejected changes, kept in the git directory, outside of any clone."""

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.entities.run import DecisionState, Run
from git_blackbird.model.entities.undo import Undo
from git_blackbird.storage.atomic import write_private
from git_blackbird.storage.json_codec import load_part, render_json
from git_blackbird.storage.paths import Paths


def save_undo(paths: Paths, run_id: RunId, undo: Undo, script: bytes | None) -> None:
    """Save how to undo the change of a run, with the script that its commands name.

    Raises SaveError.
    """
    if script is not None:
        write_private(paths.undo_script(run_id), script)
    write_private(paths.undo_note(run_id), render_json(undo.to_json()).encode())


def load_undo(paths: Paths, run: Run) -> Undo | None:
    """Return how to undo a rejected run; None if that is missing or cannot be read."""
    if run.decision_state is not DecisionState.REJECTED:
        return None
    try:
        return load_part(Undo, paths.undo_note(run.id).read_bytes())
    except (OSError, ValueError):
        return None
