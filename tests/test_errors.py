"""An error is harmless from when it is made: whoever shows it has nothing to clean."""

from git_blackbird.errors import BlackbirdError, RequestError, error_notes
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.views.events import Level, Notice

HOSTILE = "a\x1b[2J\u202e\nhint: b"
SHOWN = "a\ufffd hint: b"


def test_no_text_of_an_error_reaches_a_terminal_raw_or_begins_a_line() -> None:
    error = RequestError(HOSTILE, hint=("c\x07", "d"))
    error.add_note(HOSTILE)
    assert (error.message, str(error), error_notes(error)) == (SHOWN, SHOWN, (SHOWN,))
    assert error.hint == "c\ufffd\nd"
    error.hint = "e\x9b\nf"
    assert error.ways_out == ("e\ufffd f",)
    assert RequestError(("x:", HOSTILE)).message == f"x:\n{SHOWN}"
    assert len(BlackbirdError("x" * 1_000_000).message) <= 10_000


def test_a_way_out_stays_the_command_that_it_is() -> None:
    step = TaskCommand("resume", "t\u00e4sk")
    assert RequestError("x", hint=step).hint is step


def test_no_text_of_a_notice_does_either() -> None:
    notice = Notice(Level.WARNING, HOSTILE, ("c\x07", "d"))
    assert (notice.text, notice.hint) == (SHOWN, "c\ufffd\nd")
    assert Notice(Level.INFO, "x").hint is None
