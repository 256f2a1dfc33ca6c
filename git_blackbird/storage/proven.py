"""What checks said without some hunks of a change, kept in the git directory.

What is missing or cannot be read counts as nothing. What saves it raises SaveError.
"""

from collections.abc import Mapping

from pydantic import Field

from git_blackbird.model.base.record import Record
from git_blackbird.model.run.proof import Judged
from git_blackbird.storage.files import write_private
from git_blackbird.storage.json_codec import dump_json, load_note
from git_blackbird.storage.paths import Paths

_MOST = 2_000


class _Proven(Record):
    """Verdicts, oldest first, by a digest of all that they depend on."""

    verdicts: Mapping[str, Judged] = Field(default_factory=dict)


def load_proven(paths: Paths) -> Mapping[str, Judged]:
    return (load_note(_Proven, paths.proven) or _Proven()).verdicts


def save_proven(paths: Paths, known: Mapping[str, Judged]) -> None:
    """Add verdicts; the oldest make room for them."""
    verdicts = [*{**load_proven(paths), **known}.items()][-_MOST:]
    write_private(paths.proven, dump_json(_Proven(verdicts=dict(verdicts)).to_json()))
