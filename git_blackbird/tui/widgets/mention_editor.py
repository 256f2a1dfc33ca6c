"""An editor in which ``@`` completes paths of the repository, which a thread lists before they are needed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from git_blackbird.controller.core.drafts import Draft
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.queries.diff import paths_of, tracked_paths_of
from git_blackbird.errors import BlackbirdError
from git_blackbird.messages.document import editable
from git_blackbird.model.base.path_search import MENTION, PathIndex
from git_blackbird.tui.widgets.bars import MultiLineInput


class PathLister:
    """Lists the paths of one worktree; the last list stays available while they are listed again.

    That is the user's, or a task's own at the path ``worktree``.
    """

    def __init__(self, workspace: Workspace, worktree: str | None = None) -> None:
        self.known: PathIndex | None = None
        self._workspace = workspace
        self._worktree = worktree
        self._on_change: Callable[[], object] | None = None
        self._is_listing = False
        self._last_paths: list[str] | None = None

    def prepare(self, app: App[Any]) -> None:
        """List the paths, unless that was done before."""
        if self.known is None:
            self._start(app)

    def refresh_paths(self, app: App[Any], on_change: Callable[[], object]) -> None:
        """List the paths again; ``on_change`` is called in the UI thread whenever the paths change."""
        self._on_change = on_change
        self._start(app)

    def _start(self, app: App[Any]) -> None:
        if not self._is_listing:
            self._is_listing = True
            app.run_worker(partial(self._list, app), thread=True)

    def _list(self, app: App[Any]) -> None:
        try:
            for paths in self._path_lists():
                if paths != self._last_paths:
                    app.call_from_thread(self._set_paths, PathIndex(paths))
                    self._last_paths = paths
        finally:
            self._is_listing = False

    def _path_lists(self) -> Iterator[list[str]]:
        """Yield the tracked paths, which takes less time, then all; nothing after an error."""
        with suppress(BlackbirdError):
            if self.known is None and self._worktree is None:
                yield tracked_paths_of(self._workspace)
            yield paths_of(self._workspace, self._worktree)

    def _set_paths(self, paths: PathIndex) -> None:
        self.known = paths
        if self._on_change is not None:
            self._on_change()


_PICKING = frozenset({"up", "down", "enter", "tab", "escape"})


class MentionArea(MultiLineInput):
    """The text; while the picker is open, it gets the keys that choose a path."""

    class Picked(Message):
        """A key for the picker."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, text: str) -> None:
        super().__init__(text, soft_wrap=True, show_line_numbers=False, tab_behavior="focus")
        self.is_picking = False

    def on_key(self, event: events.Key) -> None:
        if self.is_picking and event.key in _PICKING:
            event.stop()
            event.prevent_default()
            self.post_message(self.Picked(event.key))

    @property
    def mention(self) -> str | None:
        """The text between an ``@`` and the cursor; None if there is no ``@``."""
        row, column = self.cursor_location
        match = MENTION.search(self.document.get_line(row)[:column])
        return None if match is None else match[1]


class MentionEditor(Vertical):
    """The text, with a picker of paths below it: Textual's Input, of one line, suggests one completion."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send", priority=True),
        Binding("ctrl+o", "open_editor", "Open your editor", priority=True),
    ]

    class Sent(Message):
        """The text is to be sent."""

    class EditorWanted(Message):
        """The text is to be edited in the person's own editor, in the draft that the screen has for it."""

        def __init__(self, editor: "MentionEditor", draft: Draft) -> None:
            super().__init__()
            self.editor = editor
            self.draft = draft

    def __init__(self, path_lister: PathLister, draft: Draft, text: str = "") -> None:
        super().__init__()
        self._path_lister = path_lister
        self._draft = draft
        self._shown_mention: str | None = None
        self._first_text = text

    def compose(self) -> ComposeResult:
        yield MentionArea(editable(self._first_text))
        picker = OptionList(id="picker", markup=False)
        picker.can_focus = False
        picker.display = False
        yield picker

    @property
    def text(self) -> str:
        return self._area.text

    @property
    def _area(self) -> MentionArea:
        return self.query_one(MentionArea)

    @property
    def _picker(self) -> OptionList:
        return self.query_one("#picker", OptionList)

    def on_mount(self) -> None:
        self._area.focus()
        self._area.move_cursor(self._area.document.end)
        self._path_lister.refresh_paths(self.app, self._refresh_picker)

    def _refresh_picker(self) -> None:
        if self.is_attached:
            self._update_picker()

    def action_send(self) -> None:
        self.post_message(self.Sent())

    def action_open_editor(self) -> None:
        self.post_message(self.EditorWanted(self, self._draft))

    def replace_text(self, text: str) -> None:
        """Replace the whole text, which can be undone."""
        self._area.replace(editable(text), (0, 0), self._area.document.end)

    def on_text_area_selection_changed(self) -> None:
        """Suggest paths for the mention at the cursor; a new ``@`` lists the paths again."""
        if self._area.mention == "":
            self._path_lister.refresh_paths(self.app, self._refresh_picker)
        self._update_picker()

    def _update_picker(self) -> None:
        mention = self._area.mention
        if mention is None:
            self._close()
        elif self._path_lister.known is not None:
            self._search(self._path_lister.known, mention)

    @work(thread=True, exclusive=True, group="search")
    def _search(self, paths: PathIndex, mention: str) -> None:
        """Search all paths in a thread; the next key cancels the search."""
        worker = get_current_worker()
        matches: list[str] = []
        for batch in paths.matching(mention):
            matches += batch
            if not worker.is_cancelled:
                self.app.call_from_thread(self._show_matches, mention, tuple(matches))

    def _show_matches(self, mention: str, matches: Sequence[str]) -> None:
        """Show the matches so far; the highlighted line stays when more are found."""
        if self._area.mention != mention:
            return
        chosen = self._picker.highlighted if self._shown_mention == mention else None
        self._shown_mention = mention
        self._picker.clear_options()
        self._picker.add_options([Option(path) for path in matches])
        is_open = bool(matches) and tuple(matches) != (mention,)
        self._picker.display = self._area.is_picking = is_open
        if is_open:
            self._picker.highlighted = chosen or 0

    def _close(self) -> None:
        self._picker.display = self._area.is_picking = False

    def on_mention_area_picked(self, event: MentionArea.Picked) -> None:
        """Move in the picker, take a path, or close the picker."""
        match event.key:
            case "up":
                self._picker.action_cursor_up()
            case "down":
                self._picker.action_cursor_down()
            case "escape":
                self._close()
            case _:
                self._take()

    def _take(self) -> None:
        mention, index = self._area.mention, self._picker.highlighted
        if mention is not None and index is not None:
            path = str(self._picker.get_option_at_index(index).prompt)
            row, column = self._area.cursor_location
            self._area.replace(f"{path} ", (row, column - len(mention)), (row, column))
        self._close()
