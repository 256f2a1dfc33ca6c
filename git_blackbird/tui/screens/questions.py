"""The answer to an agent's question."""

from enum import IntEnum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, OptionList, Static

from git_blackbird.controller.core.drafts import Draft
from git_blackbird.messages.display.dialogue import answers_to, own_words, question_title
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.run.parts import Question
from git_blackbird.tui.screens.modal import ScrollingModal
from git_blackbird.tui.widgets.bars import SingleLineInput
from git_blackbird.tui.widgets.choices import ChoiceItem, ChoiceList
from git_blackbird.tui.widgets.line_view import to_content, whole_lines


class QuestionNav(IntEnum):
    """The step from one question to another."""

    BACK = -1
    NEXT = 1


class QuestionScreen(ScrollingModal[QuestionNav]):
    """Asks one question; ``position`` is its number and the count of all.

    The draft has the answer, also an unfinished one. None leaves all questions open.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("shift+tab", "go_back", "Before", show=False),
    ]

    def __init__(self, task_id: TaskId, question: Question, position: tuple[int, int], draft: Draft) -> None:
        number, _ = position
        back = "shift+tab goes back, " if number > 1 else ""
        super().__init__(
            question_title(task_id, position), f"enter answers, {back}esc leaves it open", "wide asking"
        )
        self.question = question
        self._number = number
        self._draft = draft

    def compose_body(self) -> ComposeResult:
        options, answer = self.question.options, self._draft.text
        prompt = strip_controls(self.question.prompt).splitlines()
        with VerticalScroll(can_focus=False):
            yield Static(to_content(whole_lines(prompt)), markup=False)
        if options:
            offers = answers_to(self.question)
            items = [ChoiceItem(offer, offer.label) for offer in offers]
            selected = options.index(answer) if answer in options else len(options) if answer else 0
            yield ChoiceList(items, selected)
        line = SingleLineInput(
            own_words(self.question, answer), placeholder="your answer", select_on_focus=False
        )
        line.display = not options
        yield line

    @property
    def read_widget(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the option under the cursor, or show the line for another answer."""
        if event.option_index == len(self.question.options):
            self._show_line(is_line_shown=True)
            return
        self._draft.text = self.question.options[event.option_index]
        self.dismiss_once(QuestionNav.NEXT)

    def _show_line(self, *, is_line_shown: bool) -> None:
        """Show the line for another answer instead of the options, or the options again."""
        line, choices = self.query_one(SingleLineInput), self.query_one(ChoiceList)
        line.display, choices.display = is_line_shown, not is_line_shown
        # At once: the next key belongs to it.
        self.set_focus(line if is_line_shown else choices)

    def action_leave(self) -> None:
        """Go back to the options from another answer, else leave the question open."""
        if self.question.options and self.query_one(SingleLineInput).display:
            self._show_line(is_line_shown=False)
        else:
            self.dismiss_once(None)

    def on_unmount(self) -> None:
        self._draft.save()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.display:
            self._draft.text = event.value

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the text, unless it is empty."""
        if event.value.strip():
            self.dismiss_once(QuestionNav.NEXT)

    def action_go_back(self) -> None:
        if self._number > 1:
            self.dismiss_once(QuestionNav.BACK)
