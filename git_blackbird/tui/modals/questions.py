"""A question of an agent: one of its options, or a text of one's own."""

from collections.abc import Iterator
from enum import IntEnum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static

from git_blackbird.controller.drafts import Draft
from git_blackbird.messages.answers import OTHER
from git_blackbird.messages.checkpoint_text import Line
from git_blackbird.model.conversation import Question
from git_blackbird.model.ids import TaskId
from git_blackbird.model.text import clean, clean_line
from git_blackbird.tui.lines import LONGEST, drawn
from git_blackbird.tui.modals.chooser import ChoiceList, Offer
from git_blackbird.tui.modals.scrolling import ScrollingModal
from git_blackbird.tui.one_line import OneLine


class Move(IntEnum):
    """Where to go from a question: to the next one, or to the one before."""

    BACK = -1
    ON = 1


class QuestionScreen(ScrollingModal[Move]):
    """Asks one question; ``place`` is its number and how many there are.

    The answer is in the draft, as is what was typed of one. None leaves all open.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("shift+tab", "go_back", "Before", show=False)]

    def __init__(self, task_id: TaskId, question: Question, place: tuple[int, int], draft: Draft) -> None:
        super().__init__()
        self._task_id = task_id
        self.question = question
        self._number, self._count = place
        self._draft = draft

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        title = f"{self._task_id} asks" + (f" ({self._number} of {self._count})" if self._count > 1 else "")
        options, answer = self.question.options, self._draft.text
        before = "shift+tab goes to the one before, " if self._number > 1 else ""
        with Vertical(classes="box wide asking"):
            yield Static(title, classes="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(drawn(_broken(self.question.prompt)), markup=False)
            if options:
                labels = [*map(clean_line, options), OTHER]
                known = options.index(answer) if answer in options else len(options) if answer else 0
                yield ChoiceList([Offer(label, label) for label in labels], known)
            line = OneLine(
                "" if answer in options else answer, placeholder="your answer", select_on_focus=False
            )
            line.display = not options
            yield line
            yield Static(f"enter answers, {before}esc leaves it open", classes="keys", markup=False)

    @property
    def read_widget(self) -> VerticalScroll:
        """The question."""
        return self.query_one(VerticalScroll)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take an option, or let another answer be written."""
        if event.option_index == len(self.question.options):
            self._write(is_writing=True)
            return
        self._draft.text = self.question.options[event.option_index]
        self.give(Move.ON)

    def _write(self, *, is_writing: bool) -> None:
        """Show the line for another answer in place of the options, or the options again."""
        line, choices = self.query_one(OneLine), self.query_one(ChoiceList)
        line.display, choices.display = is_writing, not is_writing
        (line if is_writing else choices).focus()

    def action_leave(self) -> None:
        """Go back to the options from another answer, else leave the question open."""
        if self.question.options and self.query_one(OneLine).display:
            self._write(is_writing=False)
        else:
            self.give(None)

    def on_unmount(self) -> None:
        """Save what was typed at once."""
        self._draft.save()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Keep what is typed while it is typed."""
        if event.input.display:
            self._draft.text = event.value

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take a text, unless there is none."""
        if event.value.strip():
            self.give(Move.ON)

    def action_go_back(self) -> None:
        """Go to the question before."""
        if self._number > 1:
            self.give(Move.BACK)


def _broken(prompt: str) -> Iterator[Line]:
    """Give all of a prompt, also of one that is a single line longer than any should be."""
    for line in clean(prompt).splitlines():
        yield from (Line(line[start : start + LONGEST]) for start in range(0, max(1, len(line)), LONGEST))
