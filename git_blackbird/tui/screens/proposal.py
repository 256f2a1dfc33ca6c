"""A plan that an agent proposes, and what is to become of it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import OptionList, Static

from git_blackbird.messages.display.dialogue import PlanChoice, PlanPanel
from git_blackbird.tui.screens.modal import ScrollingModal
from git_blackbird.tui.widgets.choices import ChoiceItem, ChoiceList
from git_blackbird.tui.widgets.line_view import to_content, whole_lines


class ProposalScreen(ScrollingModal[PlanChoice]):
    """Shows what would change; the cursor begins where nothing does."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "back", "Back", show=False)]

    def __init__(self, panel: PlanPanel) -> None:
        keys = "pgup and pgdn scroll, enter chooses, esc goes back"
        super().__init__("A plan is proposed; nothing is changed yet", keys, "full")
        self._panel = panel
        self._offers = panel.offers

    def compose_body(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield Static(to_content(whole_lines(self._panel.lines)), markup=False)
        yield ChoiceList(
            [
                ChoiceItem(one.choice, one.label, blocked_reason=one.blocked_reason, digit=one.digit)
                for one in self._offers
            ]
        )

    @property
    def read_widget(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss_once(self._offers[event.option_index].choice)
