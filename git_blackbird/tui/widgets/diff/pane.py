"""A diff with its search and remarks on its keys; every diff is shown by it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from git_blackbird.controller.core.drafts import CommentDraft
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.document import line
from git_blackbird.messages.patch.comments import comment_on
from git_blackbird.messages.patch.marks import marked_lines, marks_words
from git_blackbird.messages.patch.parse import Edit, FilePatch, Patch
from git_blackbird.model.run.findings import Finding, MergedReview, MinorIssue
from git_blackbird.model.run.parts import ReviewComment
from git_blackbird.model.run.summary import Trees
from git_blackbird.model.views.checkpoint import CommentOutcome
from git_blackbird.tui.widgets.bars import SingleLineInput
from git_blackbird.tui.widgets.diff.notes import (
    comment_notes,
    earlier_notes,
    finding_notes,
    line_of_finding,
)
from git_blackbird.tui.widgets.diff.rows import DiffOptions
from git_blackbird.tui.widgets.diff.source import DiffSource
from git_blackbird.tui.widgets.diff.view import NO_NOTES, DiffView

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence

_RANGE_KEYS = "move to the end of the range; c comments it, esc gives it up"
_SEARCH_KEYS = "enter searches, esc ends the search"
_MATCH_KEYS = "enter next match, backspace the one before, / searches again, esc ends the search"
_NO_FINDING = "no finding on a file of this diff here; } goes to the next"
_NO_LINE = "there is no line of a file to comment here"
_CHANGED_SINCE = "none here: the lines you commented before were changed"
_NO_MORE, _NO_LESS = "this is the whole file; R shows less", "there is no less; r shows more"
_NOT_AGAIN = "this diff cannot be read in another way"
_NO_MATCH_KEYS = "/ searches again, esc ends the search"


class Caption(NamedTuple):
    """The line above a diff, and the text that is shown for one without files.

    ``no_notes`` is the remark if no line has a comment or a finding.
    """

    text: str = ""
    nothing: str = "nothing was changed"
    no_notes: str = NO_NOTES


PLAIN = Caption()


class DiffPane(Vertical):
    """Shows one diff at a time, read in a thread. The focus goes to its view."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", show=False),
        Binding("r", "context(1)", "More context, up to the whole file", show=False),
        Binding("R", "context(-1)", "Less context", show=False),
        Binding("W", "space", "Ignore white space, or no longer", show=False),
        Binding("ctrl+o", "edit", "Open the file in your editor, at the line", show=False),
        Binding("t", "take", "Make the reviewer's finding a comment of yours", show=False),
        Binding("escape", "give_up", "End the search, or give up the range", show=False),
    ]

    class FileChanged(Message):
        """The cursor is in another file, or another diff is shown; None where it has no files."""

        def __init__(self, pane: "DiffPane", file: FilePatch | None) -> None:
            super().__init__()
            self.pane = pane
            self.file = file

        @property
        def control(self) -> "DiffPane":
            """The pane, for ``@on``."""
            return self.pane

    class CommentWanted(Message):
        """A comment is to be written; it has the text of the one at its place, if there is one."""

        def __init__(self, pane: "DiffPane", comment: ReviewComment) -> None:
            super().__init__()
            self.pane = pane
            self.comment = comment

    class CommentsChanged(Message):
        """A finding was made a comment."""

    class EditWanted(Message):
        """A file is to be opened in the person's editor, at a line of the file.

        ``folder`` is the task's own worktree, if the change was made there.
        """

        def __init__(self, path: str, line: int) -> None:
            super().__init__()
            self.path = path
            self.line = line
            self.folder: str | None = None

    def __init__(self, *, id: str, options: DiffOptions | None = None) -> None:
        super().__init__(id=id)
        self._comments: CommentDraft | None = None
        self._merged: MergedReview | None = None
        self._earlier: Sequence[CommentOutcome] = ()
        self._evidence: Evidence | None = None
        self._view = DiffView(options)
        self._source: DiffSource | None = None
        self._file: FilePatch | None = None
        self._caption = PLAIN
        self._is_read = False
        self.sign_lines: Callable[[Patch], Mapping[int, str]] = lambda _: {}
        """Returns the signs of lines that are left out."""

    def compose(self) -> ComposeResult:
        yield Static("", classes="diff-caption", markup=False)
        yield self._view
        yield Static("", classes="diff-note", markup=False)
        search = SingleLineInput(placeholder="search in the diff", classes="diff-search")
        search.display = False
        yield search

    @property
    def view(self) -> DiffView:
        """What has the cursor, and the focus."""
        return self._view

    @property
    def shown(self) -> tuple[FilePatch, ...]:
        """The files of the diff, in its order."""
        return self._view.patch.files

    @property
    def whole(self) -> Patch:
        """The diff with what is hidden."""
        return self._view.patch if self._source is None else self._source.whole

    @property
    def edits_here(self) -> Sequence[Edit]:
        """The edits of the hunk under the cursor; none at the head of a file."""
        row, patch = self._view.row, self._view.patch
        hunk = None if row is None else patch.hunk_at(row.line)
        return () if hunk is None else tuple(patch.edits(hunk))

    @property
    def hides_lines(self) -> bool:
        """Whether lines are not shown, because a person folded files or white space is ignored."""
        is_narrowed = self._source is not None and bool(self._source.hidden_words(self.shown))
        return is_narrowed or not self._view.folded <= self._generated

    @property
    def file(self) -> FilePatch | None:
        """The file under the cursor."""
        return self._view.file

    @property
    def special_keys(self) -> str:
        """What the keys do while something is searched or a range is begun; "" otherwise."""
        if self._input.has_focus:
            return _SEARCH_KEYS
        if self._view.mark is not None:
            return _RANGE_KEYS
        if not self._view.needle:
            return ""
        return _MATCH_KEYS if self._view.matches else _NO_MATCH_KEYS

    def read(self, workspace: Workspace, pair: Trees, caption: Caption = PLAIN) -> None:
        """Show the diff of a pair of trees, unless it is shown already."""
        self._caption = caption
        self._view.no_notes = self._no_notes
        if self._source is not None and pair == self._source.pair:
            self._show_caption()
        else:
            self.show_text("reading...")
            self._source = DiffSource(workspace, pair, self._evidence)
            self._read(self._source.read, self._show_patch)

    def show(self, text: str) -> None:
        """Show a patch as git prints it."""
        self._source, self._caption = None, PLAIN
        self._show_patch(Patch(text))

    def show_text(self, text: str) -> None:
        """Show no diff, and why."""
        self._source, self._is_read = None, False
        self._view.show(Patch(""))
        self._show_remark("")
        self._show_line("caption", text)

    def annotate(
        self,
        comments: CommentDraft | None,
        merged: MergedReview | None,
        earlier: Sequence[CommentOutcome] = (),
        evidence: "Evidence | None" = None,
    ) -> None:
        """Show comments, which can be written then, and the findings of reviewers under their lines.

        ``earlier`` are those that were sent before; lines are marked that no test ran, or nothing notices,
        by ``evidence``.
        """
        self._comments, self._merged, self._earlier = comments, merged, earlier
        self._evidence = evidence
        self._view.accepts_comments = comments is not None
        self._show_notes()

    def keep_comment(self, comment: ReviewComment) -> None:
        """Keep a comment as it is written now, and show it; one without a text is removed."""
        if self._comments is not None:
            self._comments.put(comment)
            self._show_notes()

    def show_signs(self) -> None:
        self._view.show_signs(self.sign_lines(self._view.patch))

    def _show_notes(self) -> None:
        patch = self._view.patch
        self.show_signs()
        self._view.show_marks(marked_lines(patch, self._evidence))
        self._view.no_notes = self._no_notes
        comments = () if self._comments is None else self._comments.items
        self._view.annotate(
            (
                *finding_notes(patch, self._merged),
                *earlier_notes(patch, self._earlier),
                *comment_notes(patch, comments),
            )
        )

    @property
    def _no_notes(self) -> str:
        """Say why no line has a comment or a finding."""
        is_whole = self._caption.no_notes == NO_NOTES
        return _CHANGED_SINCE if self._earlier and is_whole else self._caption.no_notes

    def on_diff_view_comment_wanted(self, event: DiffView.CommentWanted) -> None:
        """Ask the screen for the text of a comment."""
        comment = self._comment_at(event.first, event.last)
        if comment is None:
            self._show_remark(_NO_LINE)
        else:
            self.post_message(self.CommentWanted(self, comment))

    def action_take(self) -> None:
        """Add the finding under the cursor, or all under the line, to the comment at their place."""
        row, advice = self._view.row, [note.advice for note in self._view.notes_here if note.advice]
        comment = self._comment_at(row.line, row.line) if row is not None and advice else None
        new = [] if comment is None else [text for text in advice if text not in comment.text]
        if comment is None or not new:
            self._show_remark("your comment here has it already" if comment else _NO_FINDING)
            return
        text = "\n".join(filter(None, (comment.text, *new)))
        self.keep_comment(comment.model_copy(update={"text": text}))
        self._show_remark("it is your comment now; c edits it")
        self.post_message(self.CommentsChanged())

    def _comment_at(self, first: int, last: int) -> ReviewComment | None:
        """Return the comment on these lines, an empty one if there is none; None where none can be."""
        wanted = comment_on(self._view.patch, first, last)
        if wanted is None or self._comments is None:
            return None
        # The comment that stands under the line is meant, also if it is about more lines.
        under = self._view.comments_at(last) if first == last else ()
        places = [comment.place for comment in (*under, wanted)]
        return next((comment for comment in self._comments.items if comment.place in places), wanted)

    def go_to_file(self, path: str) -> bool:
        """Move the cursor to the header of a file; return whether it is in the diff."""
        return self._view.go_to_file(path)

    def unfold_generated(self) -> bool:
        """Unfold the file under the cursor if it is generated and folded; return whether it was."""
        row = self._view.row
        is_folded = row is not None and row.file in self._generated & self._view.folded
        if row is not None and is_folded:
            self._view.fold(self._view.folded - {row.file})
        return is_folded

    def go_to_finding(self, issue: Finding | MinorIssue) -> None:
        """Move the cursor to the line under which a finding is shown."""
        if self.shown:
            self._view.go_to(line_of_finding(self._view.patch, issue))

    @work(thread=True, exclusive=True, group="diff")
    def _read(self, read: Callable[[], Patch], show: Callable[[Patch], None]) -> None:
        worker = get_current_worker()
        try:
            shown = partial(show, read())
        except BlackbirdError as error:
            shown = partial(self.show_text, f"no diff can be shown: {error.message}")
        if not worker.is_cancelled:
            self.app.call_from_thread(shown)

    def action_edit(self) -> None:
        """Ask for the editor at the line under the cursor."""
        row = self._view.row
        if row is not None:
            patch = self._view.patch
            self.post_message(self.EditWanted(patch.files[row.file].path, patch.place_after(row.line)))

    def action_context(self, direction: int) -> None:
        """Read the file under the cursor with more context or less."""
        source, file = self._source, self.file
        if source is None or file is None or not file.hunks or not self._is_read:
            self._show_remark(_NOT_AGAIN)
        elif words := source.change_context(file, direction):
            read = partial(source.read_file, self._view.patch, file)
            self._read(read, partial(self._replace_patch, words))
        else:
            self._show_remark(_NO_MORE if direction > 0 else _NO_LESS)

    def action_space(self) -> None:
        """Read the diff without white space, or with it."""
        if self._source is None or not self._is_read:
            self._show_remark(_NOT_AGAIN)
        else:
            self._source.toggle_space()
            self._read(self._source.read, partial(self._replace_patch, ""))

    def _replace_patch(self, remark: str, patch: Patch) -> None:
        self._view.search("")
        self._view.replace(patch)
        self._show_notes()
        self._show_remark(remark)
        self._show_caption()

    def _show_patch(self, patch: Patch) -> None:
        self._view.search("")
        self._view.show(patch)
        self._view.fold(self._generated)
        self._show_notes()
        self._show_remark("")
        self._is_read = True
        self._show_caption()

    def _show_caption(self) -> None:
        if self._is_read:
            hidden = "" if self._source is None else self._source.hidden_words(self.shown)
            text = self._caption.text if self.shown or hidden else self._caption.nothing
            moved = f"{counted(self._view.moved, 'moved line')} are dim" if self._view.moved else ""
            words = (text, hidden, self._folded_words, moved, marks_words(self._view.marks))
            self._show_line("caption", ", ".join(filter(None, words)))

    @property
    def _folded_words(self) -> str:
        """Say how many generated files are folded; "" for none."""
        count = len(self._generated & self._view.folded)
        return f"{counted(count, 'generated file')} folded (z unfolds one, Z all)" if count else ""

    @property
    def _generated(self) -> frozenset[int]:
        return frozenset() if self._source is None else self._source.generated(self.shown)

    def on_diff_rows_folded(self) -> None:
        self._show_caption()

    def on_diff_rows_moved(self) -> None:
        if self.file is not self._file:
            self._file = self.file
            self.post_message(self.FileChanged(self, self._file))

    def on_diff_view_key_remark(self, event: DiffView.KeyRemark) -> None:
        self._show_remark(event.text)

    def clear_remark(self) -> None:
        """Clear the remark on a key, which may be untrue from now on."""
        self._show_remark("")

    on_key = on_click = clear_remark

    def _show_remark(self, text: str) -> None:
        self._show_line("note", text)

    def _show_line(self, which: str, text: str) -> None:
        shown = self.query_one(f".diff-{which}", Static)
        shown.update(line(text).text)
        shown.display = bool(text)

    @property
    def _input(self) -> Input:
        return self.query_one(".diff-search", Input)

    def action_search(self) -> None:
        self._show_remark("")
        self._input.display = True
        # At once: the next key belongs to it.
        self.screen.set_focus(self._input)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Esc to the screen unless it ends a search or a range."""
        del parameters
        if action == "take":
            return self._comments is not None
        is_used = self._input.display or bool(self._view.needle) or self._view.mark is not None
        return action != "give_up" or is_used

    def action_give_up(self) -> None:
        if self._view.mark is not None:
            self._view.action_range()
            return
        self._view.search("")
        self._close_search()
        self._show_remark("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search; the field is closed, and what was typed is kept for the next time."""
        event.stop()
        self._close_search()
        self._view.search(event.value)

    def _close_search(self) -> None:
        self._input.display = False
        self._view.focus()
