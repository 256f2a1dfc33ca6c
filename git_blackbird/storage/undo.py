"""How rejected changes are taken back: kept in the git directory, which no clone brings along."""

from git_blackbird.model.ids import RunId
from git_blackbird.model.recorded import PartFault, parse_part, plain
from git_blackbird.model.run import DecisionState, Run
from git_blackbird.model.undo import Undo
from git_blackbird.storage.atomic import copy_private
from git_blackbird.storage.json_text import JsonFault, load_bounded_json, render_json
from git_blackbird.storage.layout import Layout


def save_undo(layout: Layout, run_id: RunId, undo: Undo, script: bytes | None) -> None:
    """Keep what takes the change of a run back, with the script that its commands name.

    Raises SaveError.
    """
    if script is not None:
        copy_private(layout.undo_script(run_id), script)
    copy_private(layout.undo_note(run_id), render_json(plain(undo)).encode())


def load_undo(layout: Layout, run: Run) -> Undo | None:
    """Give what was kept of a rejected run; None where there is nothing, or nothing that can be read."""
    if run.decision_state is not DecisionState.REJECTED:
        return None
    try:
        return parse_part(Undo, load_bounded_json(layout.undo_note(run.id).read_bytes()))
    except (OSError, JsonFault, PartFault):
        return None
