"""Whose a move of HEAD was."""

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.run.commits import HeadMove, Mover, mover_of, undo_mark
from git_blackbird.model.run.states import VERBS

RUN = RunId("0123456789abcdef")


def test_two_marks_name_the_commits_of_all_verbs() -> None:
    back = {undo_mark(verb, RUN) for verb, rules in VERBS.items() if rules.takes_back}
    there = {undo_mark(verb, RUN) for verb, rules in VERBS.items() if not rules.takes_back}
    assert (back, there) == ({f"undo-{RUN}"}, {f"redo-{RUN}"})


def test_the_hook_tells_whose_a_commit_was() -> None:
    made = HeadMove("0" * 39 + "1", "1" * 40, "commit: x")
    assert mover_of(made, {made.new: {RUN}}, RUN) is Mover.RUN
    assert mover_of(made, {made.new: {"-"}}, RUN) is Mover.OTHER
    assert mover_of(made, {}, RUN) is Mover.UNKNOWN
    # Another commit moved HEAD before the hook read it.
    assert mover_of(made, {made.new: {"-", RUN}}, RUN) is Mover.UNKNOWN


def test_nothing_tells_who_moved_head_otherwise() -> None:
    moved = HeadMove("0" * 39 + "1", "1" * 40, "checkout: moving from a to b")
    assert mover_of(moved, {moved.new: {RUN}}, RUN) is Mover.UNKNOWN
