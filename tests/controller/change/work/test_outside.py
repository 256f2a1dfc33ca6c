"""What a command of ours writes while agents work is not told, and what others did before it is."""

from git_blackbird.controller.change.work.watch import Baseline
from git_blackbird.model.run.summary import MAX_RECORDED, Outside, OutsideChange, Subject

BRANCH = (Subject.BRANCH, "main")


def at(main: str | None, other: str = "o") -> dict[str, dict[str, str]]:
    return {Subject.BRANCH: {"other": other, **({} if main is None else {"main": main})}}


def moved(before: str | None, after: str | None, name: str = "main") -> OutsideChange:
    return OutsideChange(subject=Subject.BRANCH, name=name, before=before, after=after)


def test_our_own_move_is_not_told() -> None:
    begun = Baseline(at("1")).before_writing(at("1"), frozenset([BRANCH]))
    assert list(begun.changes(at("2"))) == []
    assert list(begun.changes(at("2", other="p"))) == [moved("o", "p", "other")]
    ended = begun.after_writing(at("2"), frozenset([BRANCH]))
    assert list(ended.changes(at("2"))) == []
    assert list(ended.changes(at("3"))) == [moved("2", "3")]


def test_what_others_moved_before_ours_is_still_told() -> None:
    begun = Baseline(at("1")).before_writing(at("2"), frozenset([BRANCH]))
    ended = begun.after_writing(at("3"), frozenset([BRANCH]))
    assert list(Baseline.from_json(ended.to_json()).changes(at("3"))) == [moved("1", "2")]


def test_a_branch_of_ours_that_is_new_or_gone_is_not_told() -> None:
    begun = Baseline(at(None)).before_writing(at(None), frozenset([BRANCH]))
    assert Baseline.from_json(begun.to_json()) == begun
    made = begun.after_writing(at("1"), frozenset([BRANCH]))
    assert list(made.changes(at("1"))) == []
    gone = made.before_writing(at("1"), frozenset([BRANCH])).after_writing(at(None), frozenset([BRANCH]))
    assert list(gone.changes(at(None))) == []


def test_what_is_recorded_is_bounded_and_says_what_it_lacks() -> None:
    paths = tuple(f"/{number}" for number in range(MAX_RECORDED + 5))
    both = Outside().adding(Outside(paths=paths)).adding(Outside(paths=(paths[0], "/new")))
    assert (len(both.paths), both.more) == (MAX_RECORDED, 6)
    assert Outside().adding(Outside()).to_json() == {}
