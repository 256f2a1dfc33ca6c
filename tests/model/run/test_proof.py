"""What is known of the hunks of a change: recorded, counted, and what nothing notices first."""

import json

from git_blackbird.model.run.evidence import Evidence
from git_blackbird.model.run.proof import MOST_PARTS, Hunk, HunkVerdict, Proof, ProvenPart
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import ChangedLines
from tests.records import STAMP


def part(verdict: HunkVerdict, *lines: int) -> ProvenPart:
    hunks = (
        Hunk(path="a.py", content="3" * 40, **ChangedLines(line, 0, line, 1)._asdict()) for line in lines
    )
    return ProvenPart(hunks=tuple(hunks), verdict=verdict)


def test_what_nothing_notices_comes_first_and_hunks_are_counted() -> None:
    parts = [part(HunkVerdict.NOTICED, 1, 2), part(HunkVerdict.OPEN, 3), part(HunkVerdict.UNNOTICED, 4)]
    proof = Proof.of(parts)
    assert [each.verdict for each in proof.parts] == ["unnoticed", "open", "noticed"]
    assert proof.counts == {"unnoticed": 1, "open": 1, "noticed": 2}
    assert [each.verdict for each in proof.unproven] == ["unnoticed", "open"]


def test_of_very_many_hunks_all_are_counted_and_some_are_named() -> None:
    many = [part(HunkVerdict.NOTICED, line) for line in range(2 * MOST_PARTS)]
    proof = Proof.of([*many, part(HunkVerdict.UNRUN, 9)])
    assert proof.counts == {"unrun": 1, "noticed": 2 * MOST_PARTS}
    assert len(proof.parts) == MOST_PARTS
    assert proof.parts[0].verdict is HunkVerdict.UNRUN


def test_a_record_has_its_proof_and_keeps_what_it_does_not_know_of_it() -> None:
    proof = Proof.of([part(HunkVerdict.UNNOTICED, 4)])
    least = {"id": "0" * 16, "taskId": "t", "startedAt": STAMP, "status": "success"}
    run = Run.from_json(json.dumps(least).encode())
    written = run.updated(evidence=Evidence(proof=proof)).to_json()
    written["blackbird"]["evidence"]["proof"]["later"] = 1
    read = Run.from_json(json.dumps(written).encode())
    assert read.evidence is not None
    assert read.evidence.proof == proof.model_copy(update={"later": 1})
    assert read.to_json() == written
