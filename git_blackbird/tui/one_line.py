"""A text of one line."""

from textual import events
from textual.widgets import Input


class OneLine(Input):
    """Takes all of what is pasted."""

    def on_paste(self, event: events.Paste) -> None:
        """Join the lines."""
        event.stop()
        event.prevent_default()
        self.replace(" ".join(event.text.splitlines()), *sorted(self.selection))
