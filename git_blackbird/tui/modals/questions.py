"""A question of an agent: one of its options, or a text."""

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static

from git_blackbird.messages.checkpoint_text import Line
from git_blackbird.model.conversation import Question
from git_blackbird.model.ids import TaskId
from git_blackbird.model.text import clean, clean_line
from git_blackbird.tui.lines import drawn
from git_blackbird.tui.modals.chooser import ChoiceList, Offer
from git_blackbird.tui.modals.modal import Modal


class QuestionScreen(Modal[str]):
    """Asks one question; ``place`` is its number and how many there are. None leaves it open."""

    def __init__(self, task_id: TaskId, question: Question, place: tuple[int, int]) -> None:
        super().__init__()
        self._task_id = task_id
        self.question = question
        self._place = place

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        number, count = self._place
        title = f"{self._task_id} asks" + (f" ({number} of {count})" if count > 1 else "")
        with Vertical(classes="box wide"):
            yield Static(title, classes="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(drawn(map(Line, clean(self.question.prompt).splitlines())), markup=False)
            if self.question.options:
                yield ChoiceList([Offer(option, clean_line(option)) for option in self.question.options])
            else:
                yield Input(placeholder="your answer")
            yield Static("enter answers, esc leaves it open", classes="keys", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take an option."""
        self.give(self.question.options[event.option_index])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take a text, unless there is none."""
        if event.value.strip():
            self.give(event.value)
