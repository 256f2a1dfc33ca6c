"""What a person answered about the rights of agents, kept in the git directory, outside of any clone."""

import json
from enum import StrEnum

from pydantic import ConfigDict, TypeAdapter, ValidationError

from git_blackbird.storage.atomic import write_private
from git_blackbird.storage.paths import Paths

# The digests for each ``Answer``, by its value; a later version may have others.
_Agreements = dict[str, tuple[str, ...]]
_AGREEMENTS = TypeAdapter(_Agreements, config=ConfigDict(strict=True, defer_build=True))


class Answer(StrEnum):
    """Whether a person agreed, or was only informed because nobody could be asked."""

    AGREED = "agreed"
    TOLD = "told"


def load_agreements(paths: Paths, answer: Answer) -> frozenset[str]:
    """Return the digests with this answer; none if the file cannot be read."""
    return frozenset(_load(paths).get(answer, ()))


def save_agreement(paths: Paths, answer: Answer, digest: str) -> None:
    """Add one digest.

    Raises SaveError.
    """
    agreements = _load(paths)
    agreements[answer] = tuple(sorted({*agreements.get(answer, ()), digest}))
    write_private(paths.agreements, json.dumps(agreements).encode())


def _load(paths: Paths) -> _Agreements:
    try:
        return _AGREEMENTS.validate_json(paths.agreements.read_bytes())
    except (OSError, ValidationError):
        return {}
