"""Notes of the program in the git directory, outside of any clone: agreements, approvals, edits of the plan.

A note that is missing or cannot be read counts as none. What saves one raises SaveError.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.base.ids import CheckedRunId, RunId, TaskId
from git_blackbird.model.base.record import Record
from git_blackbird.model.run.history import Adoptable
from git_blackbird.storage.files import write_atomic, write_private
from git_blackbird.storage.json_codec import dump_json, load_bounded_json, load_note
from git_blackbird.storage.paths import Paths


class AgreementKind(StrEnum):
    """Whether a person agreed to what runs, or was only informed because nobody could be asked."""

    AGREED = "agreed"
    TOLD = "told"


class _Agreements(Record):
    """The digests for each ``AgreementKind``, by its value; a later version may have others."""

    agreed: tuple[str, ...] | None = None
    told: tuple[str, ...] | None = None


def load_agreements(paths: Paths, answer: AgreementKind) -> frozenset[str]:
    agreements = load_note(_Agreements, paths.agreements)
    return frozenset(getattr(agreements, answer, None) or ())


def save_agreement(paths: Paths, answer: AgreementKind, *new: str) -> None:
    agreements = load_note(_Agreements, paths.agreements) or _Agreements()
    digests = tuple(sorted({*(getattr(agreements, answer) or ()), *new}))
    write_private(paths.agreements, dump_json(agreements.model_copy(update={answer: digests}).to_json()))


class PendingApproval(Record):
    """The approved run, the commit at HEAD before (None before the first), and the tree to commit."""

    task_id: TaskId
    run_id: CheckedRunId
    parent: str | None = None
    base_tree: str


def save_pending_approval(paths: Paths, note: PendingApproval) -> None:
    """Save what an approval is about to commit, so that an interrupted one can be finished."""
    write_private(paths.pending_approval, dump_json(note.to_json()))


def load_pending_approval(paths: Paths) -> PendingApproval | None:
    return load_note(PendingApproval, paths.pending_approval)


def drop_pending_approval(paths: Paths) -> None:
    """Remove the note of a pending approval, and leftovers of saving it. Requires the approval lock."""
    note = paths.pending_approval
    for path in (note, *note.parent.glob(f"{note.name}.*.tmp")):
        path.unlink(missing_ok=True)


class _Imports(Record):
    sources: Mapping[str, str] | None = None


def load_imports(paths: Paths) -> Mapping[str, str]:
    return (load_note(_Imports, paths.imports) or _Imports()).sources or {}


def save_import(paths: Paths, source: str, page: str) -> None:
    saved = _Imports(sources={**load_imports(paths), source: page})
    write_private(paths.imports, dump_json(saved.to_json()))


def load_answered(paths: Paths) -> Mapping[TaskId, int]:
    """Return up to when what was written below ``.blackbird/`` was adopted or left, by task."""
    # Every reader asks: a model would take longer to be made than all else here.
    try:
        times = load_bounded_json(paths.answered.read_bytes())
    except (OSError, ValueError):
        return {}
    found = times.items() if isinstance(times, dict) else ()
    return {TaskId(task_id): time for task_id, time in found if isinstance(time, int)}


def save_answered(paths: Paths, items: Iterable[Adoptable]) -> None:
    """Note that a person answered about these, by the times of their files."""
    answered = dict(load_answered(paths))
    for item in items:
        answered[item.task_id] = max(item.written, answered.get(item.task_id, -1))
    write_private(paths.answered, dump_json(answered))


class PlanEdit(Record):
    """What the plan file had become while an agent worked, and what counted of it."""

    base: str
    edited: str


class HeldEdits(Record):
    """The edits of the plan that wait for the decision on a run, oldest first."""

    task_id: TaskId
    run_id: CheckedRunId
    edits: tuple[PlanEdit, ...] = ()


def load_held_edits(paths: Paths) -> Iterator[HeldEdits]:
    """Return all edits of the plan that wait, by the ids of their runs."""
    for path in sorted(paths.plan_edits.glob("*.json")):
        held = load_note(HeldEdits, path)
        if held is not None and path.stem == held.run_id:
            yield held


def save_held_edits(paths: Paths, held: HeldEdits) -> None:
    """Save the edits that wait for the decision on a run, durably: they are in no other place then."""
    data = dump_json(held.to_json())
    write_atomic(paths, paths.plan_edits / f"{held.run_id}.json", data, mode=0o600)


def drop_held_edits(paths: Paths, held: HeldEdits) -> None:
    """Remove the edits of a decided run, and with the last of them their folder."""
    (paths.plan_edits / f"{held.run_id}.json").unlink(missing_ok=True)
    with suppress(OSError):
        paths.plan_edits.rmdir()


class RunKey(NamedTuple):
    """The key by which home knows that a worker sent the results of a run, and the commit it begins with."""

    key: str
    base: str


def save_key(paths: Paths, run_id: RunId, key: RunKey) -> None:
    """Keep the key of a run, readable by its owner only. Raises SaveError."""
    write_private(paths.keys / run_id, "\n".join(key).encode())


def load_key(paths: Paths, run_id: RunId) -> RunKey | None:
    try:
        key, base = (paths.keys / run_id).read_text(encoding="ascii").split("\n")
    except (OSError, ValueError):
        return None
    return RunKey(key, base)


def keep_keys(paths: Paths, runs: set[RunId]) -> None:
    if paths.keys.is_dir():
        for path in paths.keys.iterdir():
            if path.name not in runs:
                path.unlink(missing_ok=True)
