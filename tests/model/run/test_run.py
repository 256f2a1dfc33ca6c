"""What is taken over of a run, and which trees it names."""

import typing
from collections.abc import Iterator, Mapping

import pytest
from pydantic import BaseModel

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.base.next_steps import restart_command
from git_blackbird.model.base.record import Record
from git_blackbird.model.run.contradictions import refuse_contradictions
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.evidence import CheckResult, Evidence
from git_blackbird.model.run.file_form import GO_FIELDS
from git_blackbird.model.run.parts import (
    ConflictMerge,
    Landed,
    LandingBlocked,
    LandingDue,
    Merge,
    Moving,
    PastUndo,
    Undone,
    Worktree,
)
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM, VERBS, CheckOutcome, Verb
from git_blackbird.model.run.summary import Trees
from tests.records import kind_of, run_of

# Commits, which are the user's or held as commits, and what lies in the repositories of submodules.
STAMP = "2026-01-01T00:00:00Z"


def test_every_verb_of_a_move_has_its_row_and_one_that_turns_it_round() -> None:
    assert set(VERBS) == set(Verb)
    for verb, rules in VERBS.items():
        moving, back = Moving(verb=verb, trees=Trees("1" * 40, "2" * 40)), VERBS[rules.back]
        assert moving.trees_for(verb) == moving.trees, verb
        if rules.command:
            assert back.command, verb
            assert back.takes_back is not rules.takes_back, verb
            assert moving.trees_for(rules.back) == Trees("2" * 40, "1" * 40), verb
            # What does not land is completed as what it is.
            assert moving.ended_by is (Verb.UNDO if verb is Verb.LAND else verb)


def test_of_a_run_from_elsewhere_nothing_but_the_go_programs_fields_is_taken_over() -> None:
    whole = {
        "id": "9f86d081884c7d65",
        "taskId": "a",
        "startedAt": "2026-01-02T03:04:05Z",
        "status": "success",
        "decision_state": "pending",
        "repo_root": "/elsewhere",
        "blackbird": {
            "worktree": {"path": "../hotfix"},
            "landing": {"state": "due"},
            "snapshots": {"base": "2" * 40, "head": "1" * 40},
            "commits": ["3" * 40],
        },
        "of_the_future": 1,
    }
    taken = Run.from_value(whole).taken_over()
    on_top = {name: value for name, value in whole.items() if name in GO_FIELDS}
    assert taken == Run.from_value({**on_top, "blackbird": {"program": PROGRAM}})
    assert taken.model_extra == {}
    assert (taken.id, taken.decision_state) == ("9f86d081884c7d65", "pending")


def _places(model: type[BaseModel]) -> Iterator[str]:
    """Yield the fields of a model and its parts that are trees or commits, as far as their type tells."""
    for name, info in model.model_fields.items():
        if name == "review_summary":
            continue
        # In the order of their nesting, a type's arguments come after it.
        kinds = [kind_of(info)]
        for kind in kinds:
            kinds += [one for one in typing.get_args(kind) if kind != ObjectId]
        if {ObjectId, Trees} & {*filter(_is_hashable, kinds)} or typing.get_args(ObjectId)[
            1
        ] in info.metadata:
            yield f"{model.__name__}.{name}"
        for part in kinds:
            if isinstance(part, type) and issubclass(part, Record):
                yield from _places(part)


def _is_hashable(kind: object) -> bool:
    return getattr(type(kind), "__hash__", None) is not None


ONE, BOTH = "1" * 40, Trees("1" * 40, "2" * 40)
KNOWN = Evidence(checks=(CheckResult(outcome=CheckOutcome.PASSED, tree=ONE),))
EXAMPLES: Mapping[str, Mapping[str, object]] = {
    "Run.base_tree": {"base_tree": ONE},
    "Run.head_tree": {"base_tree": ONE, "head_tree": "2" * 40},
    "Run.shown": {"shown": BOTH},
    "Worktree.base": {"worktree": Worktree(path="/w", base=ONE)},
    "CheckResult.tree": {"evidence": KNOWN},
    "ConflictMerge.change": {"landing": LandingDue(brought=ConflictMerge(change=BOTH, merge=BOTH))},
    "ConflictMerge.merge": {"landing": LandingDue(brought=ConflictMerge(change=BOTH, merge=BOTH))},
    "Undone.trees": {"undone": Undone(at=STAMP, trees=BOTH)},
    "PastUndo.trees": {"undos": (PastUndo(at=STAMP, trees=BOTH),)},
    "Moving.trees": {"moving": Moving(verb=Verb.UNDO, trees=BOTH)},
    "Merge.trees": {"landing": LandingDue(offered=Merge(trees=BOTH))},
}
COMMITS = {"Run.start_commit", "Run.end_commit", "Run.commits", "Undone.commit", "OutsideCommit.commit"}


def test_a_run_that_has_just_ended_has_the_way_out_that_its_file_has() -> None:
    run = run_of(id="1", task_id="a", started_at=STAMP, status="running")
    ended = run.ended(Ended(way_out=restart_command("a")))
    assert ended.way_out == "git blackbird restart a    # a new session, with everything pending"
    # A command gets the options of the call, and only in the call that has seen the end.
    assert type(ended.way_out) is type(Run.from_value(ended.to_json()).way_out) is str


def test_a_change_that_cannot_land_is_no_matter_of_a_decision_once_none_is_asked_for() -> None:
    run = run_of(id="1", task_id="a", started_at=STAMP, status="success").updated(
        worktree=Worktree(path="/gone"), landing=LandingBlocked(reason="it is gone", gone=True)
    )
    asked = run.awaiting_decision(STAMP)
    refuse_contradictions(asked)
    refuse_contradictions(asked.without_decision())
    assert (asked.without_decision().landing, asked.without_decision().decision_required) == (None, None)


def test_every_tree_of_a_record_is_one_that_it_names() -> None:
    assert {*_places(Run)} == {*EXAMPLES} | COMMITS
    for place, fields in EXAMPLES.items():
        run = run_of(id="9f86d081884c7d65", taskId="a", startedAt=STAMP, status="success").updated(**fields)
        text = run.model_dump_json()
        assert run.named_trees == {tree for tree in BOTH if tree in text}, place


def test_only_a_landed_change_is_one_that_was_not_committed() -> None:
    run = run_of(id="9f86d081884c7d65", taskId="a", startedAt=STAMP, status="success")
    merge = Merge(trees=BOTH)
    blocked = run.updated(landing=LandingBlocked(reason="in the way", offered=merge))
    landed = run.updated(landing=Landed(at=STAMP, merge=merge, uncommitted="the hook refused"))
    reasons = [(one.landing_reason, one.uncommitted_landing) for one in (blocked, landed)]
    assert reasons == [("in the way", None), ("the hook refused", "the hook refused")]


@pytest.mark.parametrize(
    "landing",
    [
        LandingBlocked(reason="", offered=Merge(trees=BOTH)),
        LandingDue(offered=Merge(trees=BOTH)),
        LandingDue(evidence=KNOWN, brought=ConflictMerge(change=BOTH, merge=BOTH)),
        Landed(at=STAMP, merge=Merge(trees=BOTH), evidence=KNOWN),
    ],
)
def test_every_tree_of_a_landing_is_one_that_it_names(landing: LandingDue | LandingBlocked | Landed) -> None:
    run = run_of(id="9f86d081884c7d65", taskId="a", startedAt=STAMP, status="success")
    assert run.updated(landing=landing).named_trees == {*BOTH}


THERE, BACK = {"base": "1" * 40, "head": "2" * 40}, {"base": "2" * 40, "head": "1" * 40}


@pytest.mark.parametrize(
    ("former", "moving", "landing"),
    [
        (
            {"landing": {"state": "due", "begun": {"trees": THERE, "additions": ["a.txt"]}}},
            Moving(verb=Verb.LAND, trees=BOTH, additions=("a.txt",)),
            LandingDue(),
        ),
        ({"undoing": {"verb": "undo", "trees": THERE}}, Moving(verb=Verb.UNDO, trees=BOTH), None),
        ({"undoing": {"verb": "redo", "trees": BACK}}, Moving(verb=Verb.REDO, trees=BOTH), None),
        (
            {
                "landing": {"state": "due", "begun": {"trees": BACK}},
                "undoing": {"verb": "undo", "trees": THERE},
            },
            Moving(verb=Verb.UNDO, trees=BOTH),
            Landed(at=STAMP, merge=Merge(trees=Trees("2" * 40, "1" * 40))),
        ),
        ({"message": '"undoing" and "begun"'}, None, None),
    ],
)
def test_what_had_begun_is_one_part_of_an_earlier_record_too(
    former: Mapping[str, object], moving: Moving | None, landing: LandingDue | Landed | None
) -> None:
    record = {"id": "9f86d081884c7d65", "taskId": "a", "startedAt": STAMP, "status": "success"}
    run = Run.from_value({**record, "completedAt": STAMP, "blackbird": former})
    assert (run.moving, run.landing) == (moving, landing)
    assert Run.from_value(run.to_json()) == run
