"""The decision on a run: a place to review its change, and the choices."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.widgets import ContentSwitcher, Input, OptionList, Static

from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.checkpoint import (
    TITLE,
    checkpoint_facts,
    render_overview,
)
from git_blackbird.messages.display.format import counted
from git_blackbird.messages.patch.parse import FilePatch
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.change import TreePair
from git_blackbird.model.entities.decision import (
    APPROVE_ANYWAY,
    APPROVES,
    VIEWS,
    Choice,
    Decision,
    Reply,
    reply_of,
)
from git_blackbird.model.entities.run import APPROVALS, DecisionState
from git_blackbird.model.views.checkpoint import Checkpoint, OtherBranch
from git_blackbird.tui.screens.comment import CommentScreen
from git_blackbird.tui.screens.modal import ChoiceModal, Modal
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.screens.review_keys import REVIEW_BINDINGS, KeyLine, Place, keys_line, place_of
from git_blackbird.tui.widgets.choices import ChoiceItem, ChoiceRow
from git_blackbird.tui.widgets.diff.pane import PLAIN, Caption, DiffPane
from git_blackbird.tui.widgets.diff.view import DiffView
from git_blackbird.tui.widgets.file_list import OVERVIEW, FileList, ReviewMarks
from git_blackbird.tui.widgets.line_view import TextPane
from git_blackbird.tui.widgets.mention_editor import PathLister
from git_blackbird.tui.widgets.scrolling import ScrollsText

_SINCE_REQUEST = Caption(nothing="nothing changed since the request")
_KEYS_AFTER_REQUEST = frozenset({"i", "I"})
_STACKED_BELOW = 80
_SHORT_BELOW = 18
_REPEATED = "What you requested before is sent again with this, comments included: write only what is new."


class CheckpointScreen(ScrollsText, Modal[Reply]):
    """A place to review a change: what is known of it, its files, its diff, and the choices.

    None leaves the checkpoint open. ``marks`` outlive the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = REVIEW_BINDINGS

    def __init__(
        self,
        workspace: Workspace,
        checkpoint: Checkpoint,
        drafts: Drafts,
        path_lister: PathLister,
        marks: ReviewMarks,
    ) -> None:
        super().__init__(TITLE, "")
        self.checkpoint = checkpoint
        self._workspace = workspace
        self._drafts = drafts
        self._comments = drafts.comments(checkpoint.run)
        self._path_lister = path_lister
        self._marks = marks
        self._viewed = checkpoint.pair
        # The files of the whole change, also while only what changed since the request is shown.
        self._change: Sequence[FilePatch] = ()
        self._key_line = KeyLine()
        self._files = FileList(marks, id="files")
        self._diff = DiffPane(id="diff", look=marks.look)
        self._overview = TextPane(id="overview")

    def compose(self) -> ComposeResult:
        task = self.checkpoint.task
        about = f"ACTION REQUIRED  your decision on {task.id}: {clean_line(task.title)}"
        yield Static(about, classes="banner", markup=False)
        yield Static(" · ".join(checkpoint_facts(self.checkpoint)), classes="facts", markup=False)
        with Container(id="review"):
            yield self._files
            with ContentSwitcher(id="view", initial="overview"):
                yield self._overview
                yield self._diff
        yield self._files.search_field
        yield ChoiceRow(self._items(), self._index_of(self.checkpoint.preselected))
        yield self._key_line

    def describe_key(self, action: str) -> str | None:
        """Name the choice of a digit, and what esc and y do now; None where a key always does the same."""
        name, _, rest = action.partition("(")
        if name == "choice":
            return self.checkpoint.offers()[int(rest.strip("')")) - 1].label
        if name in {"leave", "back"}:
            return "Back to the overview" if self._is_diff_shown else "Leave the decision open"
        if name == "app.copy" and self._place is Place.OVERVIEW:
            return "Copy the overview"
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is: so many choices, what was requested, no keys that the list of files has."""
        if action == "choice":
            digit = int(str(parameters[0]))
            offered = self.checkpoint.offers()[digit - 1 : digit]
            return any(self.checkpoint.is_possible(offer.choice) for offer in offered)
        if action == "search":
            return self._place in {Place.CHOICES, Place.OVERVIEW}
        if action == "scroll":
            return self._place is not Place.FILES
        if action == "after_request" and self.checkpoint.since_request is None:
            return None
        return True

    @property
    def _place(self) -> Place:
        return place_of(self.focused)

    def _items(self) -> list[ChoiceItem[Choice]]:
        return [
            ChoiceItem(
                offer.choice,
                offer.label,
                blocked_reason=self.checkpoint.blocked_reason(offer.choice),
            )
            for offer in self.checkpoint.offers()
        ]

    def _index_of(self, choice: Choice) -> int:
        return [offer.choice for offer in self.checkpoint.offers()].index(choice)

    @property
    def _choices(self) -> ChoiceRow[Choice]:
        return self.query_one(ChoiceRow)

    def on_mount(self) -> None:
        self.set_focus(self._choices)
        self.bindings_updated_signal.subscribe(self, lambda _: self._show_keys())
        self.watch(self._choices, "cursor", self._unsay, init=False)
        since = self.checkpoint.since_request
        self._diff.annotate(self._comments, self.checkpoint.merged, () if since is None else since.comments)
        self._show_comments()
        self._path_lister.prepare(self.app)
        if self.checkpoint.pair is not None:
            self._diff.read(self._workspace, self.checkpoint.pair)

    def on_unmount(self) -> None:
        """Save the comments at once, however this screen is closed."""
        self._comments.save()

    async def on_diff_pane_comment_wanted(self, event: DiffPane.CommentWanted) -> None:
        """Let a comment be written."""
        screen = CommentScreen(event.pane, event.comment, self._path_lister)
        await self.app.push_screen(screen, lambda _: self._show_comments())

    def _show_comments(self) -> None:
        """Show which files have comments, and list those that are not sent."""
        unsent, since = self._comments.items, self.checkpoint.since_request
        before = () if since is None else since.comments
        self._files.show_comments(
            (comment.path for comment in unsent), (outcome.comment.path for outcome in before)
        )
        self._overview.show(render_overview(self.checkpoint, unsent), self.checkpoint.run.id)

    def on_descendant_focus(self) -> None:
        if isinstance(self.focused, Input):
            # Its letters come to no other widget, to end what was said before.
            self._unsay()
        self._show_keys()

    def _show_keys(self) -> None:
        """Say what the keys of what has the focus do now."""
        place, was_requested = self._place, self.checkpoint.since_request is not None
        line = keys_line(place, is_diff_shown=self._is_diff_shown, was_requested=was_requested)
        special = self._diff.special_keys if place is Place.DIFF else ""
        self._key_line.show_keys(special or line)

    def on_key(self, event: events.Key) -> None:
        """Drop what was said about the key before; say why one has no meaning yet."""
        self._unsay()
        if not event.is_printable and event.key != "enter":
            self._choices.end_text()
        if event.key in _KEYS_AFTER_REQUEST and self.checkpoint.since_request is None:
            self._key_line.say("nothing was requested yet")

    def on_click(self) -> None:
        self._unsay()

    def _unsay(self) -> None:
        self._diff.end_note()
        self._key_line.unsay()

    def action_leave(self) -> None:
        """Go back from the diff to the overview, else leave the decision open."""
        if self._is_diff_shown:
            self._show_overview()
            self.set_focus(self._choices)
        else:
            if kept := len(self._comments.items):
                verb = "is" if kept == 1 else "are"
                self.notify(f"{counted(kept, 'comment')} {verb} kept for when you decide", markup=False)
            self.dismiss_once(None)

    def on_resize(self) -> None:
        """Put files and diff beside each other, or one above the other where there are few columns."""
        self.set_class(self.size.width < _STACKED_BELOW, "stacked")
        self.set_class(self.size.height < _SHORT_BELOW, "short")

    def action_choice(self, digit: str) -> None:
        """Go to a choice, wherever the focus is; the next key may be meant for it already."""
        if self._choices.go_to(digit):
            self.set_focus(self._choices)

    async def on_choice_row_chosen(self, event: ChoiceRow.Chosen) -> None:
        choice = self.checkpoint.offers()[event.index].choice
        if choice in VIEWS:
            self._view(choice)
        elif choice is Choice.REQUEST_CHANGES:
            await self._compose_request()
        elif choice in APPROVES and self.checkpoint.other_branch is not None:
            await self._ask_branch(choice, self.checkpoint.other_branch)
        else:
            self._reply(reply_of(choice))

    def on_choices_ignored(self) -> None:
        """Say what a text is written with: a letter may be meant for anything."""
        number = self._index_of(Choice.REQUEST_CHANGES) + 1
        request = "" if self.checkpoint.request_blocked_reason else f"; {number}, then enter: request changes"
        self._key_line.say(f"no key does that here; ? lists them{request}")

    def _reply(self, reply: Reply) -> None:
        """Close the screen with a reply; an approval leaves out what is marked so."""
        if not self._marks.left_out or not isinstance(reply, Decision) or reply.state not in APPROVALS:
            self.dismiss_once(reply)
            return
        paths = self._marks.approved_paths(self._change)
        if not paths:
            why = "Every file is left out: o takes one in" if self._change else "Its files are being read"
            self.notify(why, severity="warning")
            return
        self.dismiss_once(replace(reply, only=paths))

    async def _ask_branch(self, choice: Choice, other: OtherBranch) -> None:

        def close(reply: Reply | None) -> None:
            if reply is not None:
                self._reply(reply)

        approval = reply_of(choice, branch_confirmed=True)
        items: list[ChoiceItem[Reply | None]] = [
            ChoiceItem(None, "Go back"),
            ChoiceItem(approval, APPROVE_ANYWAY),
        ]
        await self.app.push_screen(ChoiceModal[Reply | None](f"Careful: {other.text}.", items), close)

    async def _compose_request(self) -> None:
        def send(text: str | None) -> None:
            if text is not None:
                self.dismiss_once(Decision(DecisionState.CHANGES_REQUESTED, text))

        suggestion = self.checkpoint.suggested_request
        draft = self._drafts.request(self.checkpoint.run, suggestion)
        remark = "" if self.checkpoint.since_request is None else _REPEATED
        screen = RequestScreen("What should change?", self._path_lister, draft, suggestion, remark=remark)
        await self.app.push_screen(screen, send)

    def action_diff(self) -> None:
        self._view(Choice.VIEW_DIFF)

    def action_after_request(self, choice: str) -> None:
        self._view(Choice(choice))

    def _view(self, choice: Choice) -> None:
        """Show a diff, and go to it."""
        pair = self.checkpoint.pair_of(choice)
        if pair is None:
            self._key_line.say(f"no diff can be shown: {self.checkpoint.blocked_reason(choice)}")
            return
        self._show_diff(pair)
        self.set_focus(self._diff.view)

    def action_search(self) -> None:
        """Search in the diff, wherever the focus is."""
        if self._viewed is None:
            self._key_line.say("there is no diff to search in")
            return
        self._show_diff(self._viewed)
        self._diff.action_search()

    @property
    def _is_diff_shown(self) -> bool:
        return self.query_one("#view", ContentSwitcher).current == "diff"

    def _show_overview(self) -> None:
        self._switch("overview")
        with self.prevent(OptionList.OptionHighlighted):
            self._files.highlighted = OVERVIEW

    def _show_diff(self, pair: TreePair) -> None:
        self._viewed = pair
        self._switch("diff")
        self._diff.read(self._workspace, pair, self._caption_of(pair))
        self._files.follow(self._diff.file)

    def _caption_of(self, pair: TreePair) -> Caption:
        return PLAIN if pair == self.checkpoint.pair else _SINCE_REQUEST

    async def action_in_diff(self, action: str) -> None:
        """Move in the diff, wherever the focus is."""
        if not self._is_diff_shown and self._viewed is not None:
            self._show_diff(self._viewed)
        elif self._viewed is not None:
            await self._diff.view.run_action(action)

    def on_diff_pane_file_changed(self) -> None:
        """Show the files of a diff that was read, and follow its cursor."""
        self._files.show(self._diff.shown)
        if self._diff.shown and self._viewed == self.checkpoint.pair:
            self._change = self._diff.shown
        if self._is_diff_shown:
            self._files.follow(self._diff.file)
        self._name_file()

    def _switch(self, view: str) -> None:
        self.query_one("#view", ContentSwitcher).current = view
        self._name_file()
        self.refresh_bindings()

    def _name_file(self) -> None:
        """Say above the diff at which file its cursor is, and that it is not of the whole change."""
        files, file = self._diff.shown, self._diff.file
        is_one_of_many = self._is_diff_shown and file is not None and len(files) > 1
        where = [f"file {files.index(file) + 1} of {len(files)}"] if file and is_one_of_many else []
        if self._is_diff_shown and self._viewed != self.checkpoint.pair:
            where.append("since your request")
        self.query_one("#view").border_title = ", ".join(where)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show what the cursor of the file list is on."""
        if event.option_index == OVERVIEW:
            self._switch("overview")
        elif self._files.current is not None and self._viewed is not None:
            self._switch("diff")
            self._diff.go_to_file(self._files.current.path)

    def on_option_list_option_selected(self) -> None:
        """Go from a file to its lines."""
        self.set_focus(self._diff.view if self._is_diff_shown else self._overview)

    def action_mark_read(self) -> None:
        """Mark the file, and go on to the next one."""
        if self._toggle(self._marks.read) and self._is_diff_shown:
            self._diff.view.action_file(1)

    def action_leave_out(self) -> None:
        self._toggle(self._marks.left_out)

    def _toggle(self, paths: set[str]) -> bool:
        """Change whether the file under the cursor is among the paths; return whether it is now."""
        file = self._files.current or (self._diff.file if self._is_diff_shown else None)
        if file is None:
            self.notify("No file: ] goes to the next one", severity="warning", markup=False)
            return False
        paths ^= {file.path}
        self._files.show_marks()
        return file.path in paths

    def action_scroll(self, pages: int) -> None:
        if self._is_diff_shown:
            self._diff.view.action_page(pages)
        else:
            super().action_scroll(pages)

    def action_scroll_to(self, end: int) -> None:
        if self._is_diff_shown:
            self._diff.view.action_end(end)
        else:
            super().action_scroll_to(end)

    @property
    def copied_text(self) -> str:
        """The path and line under the cursor of the diff, or the path of the file under that of the list."""
        return (self._diff.view if self._is_diff_shown else self._files).copied_text

    @property
    def read_widget(self) -> TextPane | DiffView:
        return self._diff.view if self._is_diff_shown else self._overview
