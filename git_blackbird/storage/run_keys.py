"""The keys of runs on a cluster, with which home verifies that a worker sent their results."""

from typing import NamedTuple

from git_blackbird.model.base.ids import RunId
from git_blackbird.storage.files import write_private
from git_blackbird.storage.paths import Paths


class RunKey(NamedTuple):
    """The key of a run, and the commit that it begins with."""

    key: str
    base: str


def save_key(paths: Paths, run_id: RunId, key: RunKey) -> None:
    """Keep the key of a run, readable by its owner only. Raises SaveError."""
    write_private(paths.keys / run_id, "\n".join(key).encode())


def load_key(paths: Paths, run_id: RunId) -> RunKey | None:
    """Return the key of a run; None if there is none here."""
    try:
        key, base = (paths.keys / run_id).read_text(encoding="ascii").split("\n")
    except (OSError, ValueError):
        return None
    return RunKey(key, base)


def keep_keys(paths: Paths, runs: set[RunId]) -> None:
    """Remove the keys of all runs but these."""
    if paths.keys.is_dir():
        for path in paths.keys.iterdir():
            if path.name not in runs:
                path.unlink(missing_ok=True)
