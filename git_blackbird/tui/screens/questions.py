"""The answer to an agent's question."""

from enum import IntEnum
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static, TextArea

from git_blackbird.controller.core.drafts import Draft
from git_blackbird.messages.display.dialogue import answers_to, own_words, question_lines, question_title
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.parts import Question
from git_blackbird.tui.screens.modal import ScrollingModal
from git_blackbird.tui.widgets.bars import AnswerInput
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
        keys = f"enter answers, {back}esc leaves it open, pgup/pgdn scroll"
        super().__init__(question_title(task_id, position), keys, "wide asking")
        self._writing_keys = f"enter answers, {back}ctrl+j begins a line, pgup/pgdn scroll, esc "
        self.question = question
        self._number = number
        self._draft = draft

    def compose_body(self) -> ComposeResult:
        options, answer = self.question.options, self._draft.text
        with VerticalScroll(can_focus=False):
            yield Static(to_content(whole_lines(question_lines(self.question))), markup=False)
        if options:
            offers = answers_to(self.question)
            items = [ChoiceItem(offer, offer.label) for offer in offers]
            selected = options.index(answer) if answer in options else len(options) if answer else 0
            yield ChoiceList(items, selected)
        own = AnswerInput(own_words(self.question, answer), placeholder="your answer")
        own.display = not options
        yield own

    def on_mount(self) -> None:
        own = self.query_one(AnswerInput)
        own.move_cursor(own.document.end)
        self._show_keys()

    def _show_keys(self) -> None:
        own = self.query_one(AnswerInput)
        leaves = "goes back" if self.question.options else "leaves it open"
        keys = f"{self._writing_keys}{leaves}" if own.display else self._keys
        self.query_one(".keys", Static).update(keys)

    @property
    def read_widget(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the option under the cursor, or show the line for another answer."""
        if event.option_index == len(self.question.options):
            self._show_own(is_shown=True)
            return
        self._draft.text = self.question.options[event.option_index]
        self.dismiss_once(QuestionNav.NEXT)

    def _show_own(self, *, is_shown: bool) -> None:
        """Show another answer, to be written, instead of the options, or the options again."""
        own, choices = self.query_one(AnswerInput), self.query_one(ChoiceList)
        own.display, choices.display = is_shown, not is_shown
        self._show_keys()
        # At once: the next key belongs to it.
        self.set_focus(own if is_shown else choices)

    def action_leave(self) -> None:
        """Go back to the options from another answer, else leave the question open."""
        if self.question.options and self.query_one(AnswerInput).display:
            self._show_own(is_shown=False)
        else:
            self.dismiss_once(None)

    def on_unmount(self) -> None:
        self._draft.save()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        if event.text_area.display:
            self._draft.text = event.text_area.text

    def on_answer_input_submitted(self) -> None:
        """Take the text, unless it is empty."""
        text = self.query_one(AnswerInput).text.rstrip("\n")
        if text.strip():
            self._draft.text = text
            self.dismiss_once(QuestionNav.NEXT)

    def action_go_back(self) -> None:
        if self._number > 1:
            self.dismiss_once(QuestionNav.BACK)
