"""Which content of a record file is known."""

import pytest

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.entities.provenance import Content, Unconfirmed, WatchedRun, accept_command

RUN = RunId("0000000000000001")
PLACE = "runs/a/1.json"
OLD, NEW = 5, 15


@pytest.mark.parametrize(
    ("before", "written", "content", "is_new"),
    [
        ("x", (), Content("x", OLD), None),
        ("x", (), Content("edited at rest", OLD), None),
        ("x", (), Content("x", NEW), None),
        ("x", (), Content("y", NEW), False),
        ("x", ("y",), Content("y", NEW), None),
        ("x", ("y",), Content("x", NEW), None),
        ("x", ("y", "z"), Content("x", NEW), False),
        ("x", ("y", "z"), Content("y", NEW), None),
        (None, ("y",), Content("y", NEW), None),
        (None, ("y",), Content("x", NEW), False),
        (None, (), Content("x", NEW), True),
        (None, (), Content("x", OLD), True),
    ],
)
def test_content_is_known_that_was_there_or_that_our_commands_wrote_last(
    before: str | None, written: tuple[str, ...], content: Content, is_new: bool | None
) -> None:
    watched = WatchedRun(
        ((10, RUN),), {} if before is None else {PLACE: before}, {PLACE: written} if written else {}
    )
    wanted = None if is_new is None else Unconfirmed(content.digest, RUN, is_new)
    assert watched.judge(PLACE, content) == wanted


def test_the_command_that_accepts_one_is_safe_to_paste() -> None:
    assert accept_command("runs/a b/1.json") == "git blackbird runs 'a b' 1 --accept"
    assert accept_command("runs/a/reviews/$(x).json") == "git blackbird runs a '$(x)' --accept"
    assert accept_command("parent-review-feedback/a.json") == "git blackbird runs a feedback --accept"
