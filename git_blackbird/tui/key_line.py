"""The keys that work here and now, in one line; what has no room there stands in the help."""

from collections.abc import Iterator

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

_ALWAYS = frozenset({"help", "quit"})


class KeyLine(Widget, can_focus=False):
    """One line, drawn anew only when other keys work; a click presses its key."""

    keys: reactive[tuple[Binding, ...]] = reactive((), always_update=False)

    def on_mount(self) -> None:
        """Follow what works."""
        self.screen.bindings_updated_signal.subscribe(self, self._follow)

    def _follow(self, screen: Screen[object]) -> None:
        active = screen.active_bindings.values()
        self.keys = tuple(one.binding for one in active if one.binding.show and one.enabled)

    def render(self) -> Content:
        """Draw what there is room for."""
        words = [
            Content.assemble((self._word(key), "$footer-key-foreground bold"), f" {key.description}")
            for key in self._fitting()
        ]
        return Content(" ").join(words)

    def on_click(self, event: events.Click) -> None:
        """Press the key that is there."""
        right = 0
        for key in self._fitting():
            right += self._columns(key)
            if event.x < right:
                self.app.simulate_key(key.key)
                return

    def _fitting(self) -> Iterator[Binding]:
        """Give the keys there is room for: help and the way out always, the others in order."""
        room = self.size.width + 1 - sum(self._columns(key) for key in self.keys if key.action in _ALWAYS)
        for key in self.keys:
            if key.action not in _ALWAYS:
                room -= self._columns(key)
            if room >= 0 or key.action in _ALWAYS:
                yield key

    def _columns(self, key: Binding) -> int:
        return len(self._word(key)) + len(key.description) + 2

    def _word(self, key: Binding) -> str:
        return self.app.get_key_display(key)
