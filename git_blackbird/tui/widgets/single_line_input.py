"""A text of one line; apart from mention_editor, which loads more than the main screen needs."""

from textual import events
from textual.widgets import Input


class SingleLineInput(Input):
    """Takes all lines of a pasted text; Textual's own takes the first one."""

    def on_paste(self, event: events.Paste) -> None:
        """Join the pasted lines by spaces."""
        event.stop()
        event.prevent_default()
        self.replace(" ".join(event.text.splitlines()), *sorted(self.selection))
