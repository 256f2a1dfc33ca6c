"""Whose a move of HEAD was."""

import pytest

from git_blackbird.model.entities.commits import GitProcess, HeadMove, Mover, attribute_moves

RUN = "0123456789abcdef"
SECOND = 1_000_000_000
AN_HOUR = 3600 * SECOND


def move(message: str, at: float, new: str = "1" * 40) -> HeadMove:
    """One at an exact moment, in seconds."""
    moment = int(at * SECOND)
    return HeadMove("0" * 39 + "1", new, message, moment, moment)


def process(verb: str, start: float, end: float | None, *, failed: bool = False) -> GitProcess:
    return GitProcess(verb, int(start * SECOND), None if end is None else int(end * SECOND), failed)


@pytest.mark.parametrize(
    ("message", "verb"),
    [
        ("commit: x", "commit"),
        ("commit (amend): x", "commit"),
        ("checkout: moving from a to b", "switch"),
        ("pull -q: Fast-forward", "pull"),
        ("rebase (pick): x", "pull"),
        ("merge side: Fast-forward", "merge"),
        ("reset: moving to HEAD~1", "reset"),
        ("a message of update-ref's", "update-ref"),
    ],
)
def test_a_move_is_the_runs_whose_command_was_at_work(message: str, verb: str) -> None:
    own, late = move(message, 10), move(message, 20)
    assert attribute_moves([own, late], {}, [process(verb, 9, 11)], RUN) == [Mover.RUN, Mover.OTHER]


def test_another_command_or_a_failed_one_made_nothing() -> None:
    made = move("commit: x", 10)
    assert attribute_moves([made], {}, [process("checkout", 9, 11)], RUN) == [Mover.OTHER]
    assert attribute_moves([made], {}, [process("commit", 9, 11, failed=True)], RUN) == [Mover.OTHER]


def test_a_commit_takes_the_first_move_of_its_time_and_only_one() -> None:
    """Git refuses it where HEAD was moved before; its hooks may take long after it."""
    before, own, after = move("commit: a", 8.99), move("commit: b", 9.005), move("commit: c", 15)
    found = attribute_moves([before, own, after], {}, [process("commit", 9, 15)], RUN)
    assert found == [Mover.OTHER, Mover.RUN, Mover.OTHER]


def test_a_commit_just_before_or_after_is_not_taken_for_the_one_between() -> None:
    own = move("commit: b", 9.005)
    after = attribute_moves([own, move("commit: c", 9.012)], {}, [process("commit", 9, 9.01)], RUN)
    assert after == [Mover.RUN, Mover.OTHER]


def test_the_clock_of_files_may_be_a_tick_behind() -> None:
    assert attribute_moves([move("commit: a", 8.99)], {}, [process("commit", 9, 10)], RUN) == [Mover.RUN]


def test_a_rebase_takes_all_of_its_time_and_one_without_an_end_goes_on() -> None:
    moves = [move("rebase (start): x", 10), move("rebase (pick): x", 11), move("rebase (finish): x", 12)]
    assert attribute_moves(moves, {}, [process("rebase", 9, None)], RUN) == [Mover.RUN] * 3


def test_what_the_hook_noted_counts_before_the_trace() -> None:
    mine, own = move("commit: mine", 10, "a" * 40), move("commit: own", 10, "b" * 40)
    owners = {"a" * 40: {"-"}, "b" * 40: {RUN}}
    assert attribute_moves([mine, own], owners, [process("commit", 9, 11)], RUN) == [Mover.OTHER, Mover.RUN]
    assert attribute_moves([mine, own], {"b" * 40: {RUN}}, [process("commit", 9, 11)], RUN) == [
        Mover.OTHER,
        Mover.RUN,
    ]


def test_the_trace_decides_over_a_commit_that_two_hooks_named() -> None:
    own, mine = move("commit: own", 10, "a" * 40), move("commit: mine", 10.5, "b" * 40)
    owners = {"b" * 40: {"-", RUN}}
    found = attribute_moves([own, mine], owners, [process("commit", 9.99, 10.1)], RUN)
    assert found == [Mover.RUN, Mover.OTHER]


def test_where_nobody_looked_nothing_is_known() -> None:
    moves = [move("commit: a", 10, "a" * 40), move("checkout: moving", 11)]
    assert attribute_moves(moves, {"a" * 40: {"-"}}, None, RUN) == [Mover.OTHER, Mover.UNKNOWN]
    assert attribute_moves([], {}, None, RUN) == []


def test_a_command_that_was_told_a_date_is_known_by_its_kind() -> None:
    dated = GitProcess("checkout", AN_HOUR, AN_HOUR + SECOND, is_dated=True)
    assert attribute_moves([move("checkout: moving", 10)], {}, [dated], RUN) == [Mover.RUN]
    assert attribute_moves([move("commit: x", 10)], {}, [dated._replace(verb="commit")], RUN) == [Mover.OTHER]
