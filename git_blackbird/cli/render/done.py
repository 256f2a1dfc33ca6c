"""What criteria of finished tasks say of the files as they are."""

from collections.abc import Iterator, Sequence

from git_blackbird.controller.proof.done import DoneCriterion
from git_blackbird.messages.display.evidence import check_details
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import Line, Span, Style, line


def done_lines(found: Sequence[DoneCriterion]) -> Iterator[Line]:
    """Yield each criterion that does not pass, with what it printed, and how many do."""
    for one in found:
        if not one.result.has_passed:
            since = "" if one.since is None else f", since {one.since.task} (run {one.since.run})"
            said = f"{one.result.title} {one.result.words}{since}"
            yield line(Span(one.task, Style.HEADING), f": {said}", gives_way=1)
            yield from (line(f"    {text}") for text in check_details(one.result))
    passed = sum(one.result.has_passed for one in found)
    tasks = counted(len({one.task for one in found}), "task")
    if not found:
        yield line("no task that is done has a criterion that is a command")
    else:
        criteria = "criterion" if len(found) == 1 else "criteria"
        yield line(f"{passed} of {len(found)} {criteria} of {tasks} pass")
