"""What a person agreed to, or was told, of the rights of agents: in the git directory, never in a clone."""

import json
from enum import StrEnum

from git_blackbird.storage.atomic import copy_private
from git_blackbird.storage.json_text import JsonFault, load_bounded_json
from git_blackbird.storage.layout import Layout


class Answer(StrEnum):
    """Whether a person said yes, or was only told since nobody could be asked."""

    AGREED = "agreed"
    TOLD = "told"


def load_agreements(layout: Layout, answer: Answer) -> frozenset[str]:
    """Return the digests of what was answered so; none where the file cannot be read."""
    return frozenset(_load(layout).get(answer, ()))


def save_agreement(layout: Layout, answer: Answer, digest: str) -> None:
    """Add one digest.

    Raises SaveError.
    """
    kept = _load(layout)
    kept[answer] = sorted({*kept.get(answer, ()), digest})
    copy_private(layout.agreements, json.dumps(kept).encode())


def _load(layout: Layout) -> dict[str, list[str]]:
    try:
        kept = load_bounded_json(layout.agreements.read_bytes())
    except (OSError, JsonFault):
        return {}
    known = kept if isinstance(kept, dict) else {}
    return {
        answer: [digest for digest in known[answer] if isinstance(digest, str)]
        for answer in Answer
        if isinstance(known.get(answer), list)
    }
