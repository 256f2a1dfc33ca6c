"""What happened outside the place of a run, in words."""

from collections.abc import Iterator

from git_blackbird.messages.display.format import render_path
from git_blackbird.model.base.next_steps import SETTING_BACK
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.summary import Outside, OutsideChange, Subject

OWN_HEADING = "Done outside its place:"
SEEN_HEADING = "Seen while agents worked, by them or by others:"
_LONGEST_VALUE = 200
_LONGEST_NAME = 1000
_ID_LETTERS = 10


def own_lines(outside: Outside) -> Iterator[str]:
    """Say what the run itself did."""
    yield from (f"wrote {render_path(path)}" for path in outside.paths)
    for made in outside.commits:
        yield f"made commit {made.commit[:_ID_LETTERS]} in {render_path(made.worktree)}"


def seen_lines(outside: Outside) -> Iterator[str]:
    """Say what it or anybody else may have done."""
    for change in outside.seen:
        back = way_back(change)
        yield seen_text(change) + (f" (`{back}` sets it back)" if back else "")


def seen_text(change: OutsideChange) -> str:
    """Say what is another than before."""
    name = clean_line(change.name, _LONGEST_NAME)
    match change.subject:
        case Subject.PLACE:
            return f"the worktree of {change.before} is gone: {name}"
        case Subject.WORKTREE:
            return f"new worktree {name}"
        case Subject.BRANCH:
            return _branch_text(name, change)
        case Subject.SETTING:
            return f"{name} {_value(change.before, '(unset)')} -> {_value(change.after, 'removed')}"
        case _:
            what = "is gone" if change.after is None else "changed" if change.before else "is new"
            return f"{name} in the git directory {what}"


def _branch_text(name: str, change: OutsideChange) -> str:
    before, after = _short(change.before), _short(change.after)
    if not before:
        return f"new branch {name} at {after}"
    return f"branch {name} {before} -> {after}" if after else f"branch {name}, at {before}, is gone"


def way_back(change: OutsideChange) -> str | None:
    """Return the command that sets back what keeps git from working here; None for all else."""
    is_set = change.subject is Subject.SETTING and change.after not in {None, "false"}
    return SETTING_BACK.get(change.name) if is_set else None


def _value(value: str | None, absent: str) -> str:
    return absent if value is None else clean_line(value, _LONGEST_VALUE)


def _short(target: str | None) -> str:
    return clean_line(target or "")[:_ID_LETTERS]
