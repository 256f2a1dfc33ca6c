"""A place to review a change: what is known of it, its files and its diff."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.widgets import ContentSwitcher, OptionList, Static

from git_blackbird.controller.core.drafts import Drafts
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.checkpoint import TITLE, checkpoint_facts, render_overview
from git_blackbird.messages.display.dialogue import Say, ShowDiff, view_step
from git_blackbird.messages.document import line
from git_blackbird.messages.patch.parse import FilePatch, Patch
from git_blackbird.model.change.decision import Reply
from git_blackbird.model.run.states import Choice
from git_blackbird.model.run.summary import ChangedLines, Trees
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.tui.screens.comment import CommentScreen
from git_blackbird.tui.screens.modal import Modal
from git_blackbird.tui.screens.review_keys import REVIEW_BINDINGS, Focus, KeyLine, keys_line, place_of
from git_blackbird.tui.widgets.diff.pane import PLAIN, Caption, DiffPane
from git_blackbird.tui.widgets.diff.view import DiffView
from git_blackbird.tui.widgets.file_list import OVERVIEW, FileList, ReviewMarks
from git_blackbird.tui.widgets.mention_editor import PathLister
from git_blackbird.tui.widgets.overview_pane import OverviewPane
from git_blackbird.tui.widgets.scrolling import ScrollsText

_SINCE_REQUEST = Caption(
    no_notes="none in what changed since the request; I shows all",
)
_STACKED_BELOW = 80
_SHORT_BELOW, _LOW_BELOW = 18, 24


class ChangeScreen(ScrollsText, Modal[Reply]):
    """Shows a change for a decision, which a subclass asks for. ``marks`` outlive the screen."""

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
        self.checkpoint = checkpoint._replace(is_shown=False)
        self._workspace = workspace
        self._drafts = drafts
        self._comments = drafts.comments(checkpoint.run)
        self._path_lister = path_lister
        self._marks = marks
        self._viewed = checkpoint.pair
        # The diff in which the cursor was put on what is not read.
        self._begun: Trees | None = None
        # The whole change, also while only what changed since the request is shown.
        self._change = Patch("")
        self._key_line = KeyLine()
        self._files = FileList(marks, id="files")
        self._diff = DiffPane(id="diff", options=marks.options)
        self._overview = OverviewPane(id="overview")

    def compose(self) -> ComposeResult:
        task = self.checkpoint.task
        about = f"ACTION REQUIRED  your decision on {task.id}: {task.title}"
        yield Static(line(about).text, classes="banner", markup=False)
        facts = " · ".join(checkpoint_facts(self.checkpoint))
        yield Static(line(facts).text, classes="facts", markup=False)
        with Container(id="review"):
            yield self._files
            with ContentSwitcher(id="view", initial="overview"):
                yield self._overview
                yield self._diff
        yield self._files.search_field
        yield from self.compose_body()
        yield self._key_line

    def on_mount(self) -> None:
        self.bindings_updated_signal.subscribe(self, lambda _: self._show_keys())
        since, merged = self.checkpoint.since_request, self.checkpoint.merged
        if merged is not None:
            self._files.show_findings(
                (*(one.file for one in merged.findings), *(one.file for one in merged.minor))
            )
        self._diff.sign_lines = self._sign_lines
        earlier = () if since is None else since.comments
        self._diff.annotate(self._comments, merged, earlier, self.checkpoint.run.evidence)
        self._show_comments()
        self._path_lister.prepare(self.app)
        if self.checkpoint.pair is not None:
            self._diff.read(self._workspace, self.checkpoint.pair)

    def _sign_lines(self, patch: Patch) -> Mapping[int, str]:
        is_whole = self._viewed == self.checkpoint.pair
        return self._marks.sign_lines(self._change, patch) if is_whole else {}

    @property
    def _place(self) -> Focus:
        return place_of(self.focused)

    def on_unmount(self) -> None:
        """Save the comments at once, however this screen is closed."""
        self._comments.save()

    async def on_diff_pane_comment_wanted(self, event: DiffPane.CommentWanted) -> None:
        """Let a comment be written."""
        screen = CommentScreen(
            event.pane,
            event.comment,
            self._path_lister,
            self._drafts.comment(self.checkpoint.run, event.comment),
        )
        await self.app.push_screen(screen, lambda _: self._show_comments())

    def on_diff_pane_edit_wanted(self, event: DiffPane.EditWanted) -> None:
        """Name the worktree of the task to whoever lends the terminal."""
        event.folder = self.checkpoint.worktree

    def on_diff_pane_comments_changed(self) -> None:
        self._show_comments()

    def on_overview_pane_chosen(self, event: OverviewPane.Chosen) -> None:
        """Go to a finding in the whole change, at its line or at the head of its file."""
        if self.checkpoint.pair is not None:
            self._show_diff(self.checkpoint.pair)
            self.set_focus(self._diff.view)
            self._diff.go_to_finding(event.issue)

    def _show_comments(self) -> None:
        """Show which files have comments, and list those that are not sent."""
        unsent, since = self._comments.items, self.checkpoint.since_request
        before = () if since is None else since.comments
        self._files.show_comments(
            (comment.path for comment in unsent), (outcome.comment.path for outcome in before)
        )
        self._overview.show(render_overview(self.checkpoint, unsent), self.checkpoint.run.id)

    def _show_keys(self) -> None:
        """Say what the keys of what has the focus do now."""
        place, was_requested = self._place, self.checkpoint.since_request is not None
        self.set_class(place is Focus.DIFF, "reading")
        line = keys_line(place, is_diff_shown=self._is_diff_shown, was_requested=was_requested)
        special = self._diff.special_keys if place is Focus.DIFF else ""
        self._key_line.show_keys(special or line)

    def on_click(self) -> None:
        self._unsay()

    def _unsay(self) -> None:
        self._diff.clear_remark()
        self._key_line.unsay()

    def on_resize(self) -> None:
        """Put files and diff beside each other, or one above the other where there are few columns."""
        self.set_class(self.size.width < _STACKED_BELOW, "stacked")
        self.set_class(self.size.height < _SHORT_BELOW, "short")
        self.set_class(self.size.height < _LOW_BELOW, "low")

    def action_diff(self) -> None:
        self._view(view_step(self.checkpoint, Choice.VIEW_DIFF))

    def action_after_request(self, choice: str) -> None:
        self._view(view_step(self.checkpoint, Choice(choice)))

    def _view(self, step: Say | ShowDiff) -> None:
        """Show a diff, and go to it, or say why there is none."""
        if isinstance(step, Say):
            self._key_line.say(step.text)
            return
        self._show_diff(step.trees)
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

    def action_overview(self) -> None:
        """Show the overview instead of the diff."""
        self._switch("overview")
        with self.prevent(OptionList.OptionHighlighted):
            self._files.highlighted = OVERVIEW

    def _show_diff(self, pair: Trees) -> None:
        self._viewed = pair
        self._switch("diff")
        self._diff.read(self._workspace, pair, self._caption_of(pair))
        self._files.follow(self._diff.file)

    def _caption_of(self, pair: Trees) -> Caption:
        return PLAIN if pair == self.checkpoint.pair else _SINCE_REQUEST

    async def action_in_diff(self, action: str) -> None:
        """Move in the diff, wherever the focus is."""
        if not self._is_diff_shown and self._viewed is not None:
            self._show_diff(self._viewed)
        elif self._viewed is not None:
            await self._diff.view.run_action(action)

    def on_diff_pane_file_changed(self) -> None:
        """Show the files of a diff that was read, and follow its cursor, which begins at what is not read."""
        if self._diff.shown and self._viewed != self._begun:
            self._begun = self._viewed
            self._go_to_unread(self._diff.shown)
        self._files.show(self._diff.shown)
        whole = self._diff.whole
        if whole.files and self._viewed == self.checkpoint.pair and whole is not self._change:
            self._change = whole
            self._marks.settle(whole)
            self._diff.show_signs()
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
        if not self._files.display:
            # The list is not to be seen.
            mark = f"{self._marks.mark(file)} ".lstrip() if file and self._is_diff_shown else ""
            where.append(f"{mark}{self._files.border_title}")
        self.query_one("#view").border_title = ", ".join(where)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show what the cursor of the file list is on."""
        if event.option_index == OVERVIEW:
            self._switch("overview")
        elif self._files.current is not None and self._viewed is not None:
            self._switch("diff")
            self._diff.go_to_file(self._files.current.path)

    def on_option_list_option_selected(self) -> None:
        """Go from a file to its lines, or unfold a folder."""
        if self._files.folder is not None:
            self._files.action_fold()
        else:
            self.set_focus(self._diff.view if self._is_diff_shown else self._overview)

    def action_mark_read(self) -> None:
        """Mark the file, or all of the folder, and go on to the next one that is not read."""
        files = self._marked_files()
        if not files:
            return
        is_unread = not all(map(self._marks.is_read, files))
        if self._is_diff_shown and len(files) == 1 and is_unread and self._diff.unfold_generated():
            self._key_line.say("it was folded: m again marks it as read")
            return
        is_read = self._marks.toggle_read(files)
        self._show_marks()
        if is_read and self._is_diff_shown:
            self._go_to_unread(self._diff.shown[self._diff.shown.index(files[-1]) + 1 :])
            # At once: the next key is meant for that file.
            self._files.follow(self._diff.file)

    def _go_to_unread(self, files: Sequence[FilePatch]) -> None:
        """Go to the first of some files that is not read, if there is one."""
        unread = next((file for file in files if not self._marks.is_read(file)), None)
        if unread is not None:
            self._diff.go_to_file(unread.path)

    def _show_marks(self) -> None:
        self._files.show_marks()
        self._diff.show_signs()
        self._name_file()

    def action_zoom(self) -> None:
        """Give the room of the files and the facts to what is shown, or give it back."""
        self.toggle_class("zoomed")
        self._name_file()
        if self._place in {Focus.FILES, Focus.NAMES}:
            self.set_focus(self._diff.view if self._is_diff_shown else self._overview)

    def action_leave_out(self) -> None:
        """Leave the hunk under the cursor out of an approval, or the file or folder; or take it in."""
        files = self._marked_files()
        if not files:
            return
        is_in_diff = self._is_diff_shown and self._place not in {Focus.FILES, Focus.NAMES}
        lines = {edit.lines for edit in self._diff.edits_here} if is_in_diff else set()
        if not lines:
            self._marks.toggle_left_out(files)
        elif file := self._file_with(files[0].path, lines):
            self._marks.toggle_edits(self._change, file, lines)
        else:
            self._key_line.say("o leaves out a hunk where the whole change is shown, with white space (I, W)")
        self._show_marks()

    def _file_with(self, path: str, lines: AbstractSet[ChangedLines]) -> FilePatch | None:
        """Return a file of the whole change if these are edits of it: without white space it has others."""
        for file in self._change.files if self._viewed == self.checkpoint.pair else ():
            known = self._change.named_edits(file).values() if file.path == path else ()
            if lines <= {edit.lines for edit in known}:
                return file
        return None

    def _marked_files(self) -> Sequence[FilePatch]:
        """Return the file under the cursor, or those of the folder; if there is none, say so."""
        if self._place is Focus.FILES:
            files = self._files.files_here
        else:
            file = self._diff.file if self._is_diff_shown else self._files.current
            files = [] if file is None else [file]
        if not files:
            self.notify("No file: ] goes to the next one", severity="warning")
        return files

    def action_scroll(self, pages: int) -> None:
        self._unsay()
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
    def read_widget(self) -> OverviewPane | DiffView:
        return self._diff.view if self._is_diff_shown else self._overview
