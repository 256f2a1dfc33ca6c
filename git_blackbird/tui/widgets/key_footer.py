"""The footer: the keys that work now, as far as there is room; the help has all."""

from collections.abc import Iterator

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

_ALWAYS = frozenset({"help", "quit"})


class KeyFooter(Widget, can_focus=False):
    """One line, drawn only when the active keys change; a click presses a key."""

    keys: reactive[tuple[Binding, ...]] = reactive((), always_update=False)

    def on_mount(self) -> None:
        """Subscribe to changes of the active keys."""
        self.screen.bindings_updated_signal.subscribe(self, self._update_keys)

    def _update_keys(self, screen: Screen[object]) -> None:
        active = screen.active_bindings.values()
        self.keys = tuple(key.binding for key in active if key.binding.show and key.enabled)

    def render(self) -> Content:
        """Draw the keys that fit."""
        keys = [
            Content.assemble((self._key_text(key), "$footer-key-foreground bold"), f" {key.description}")
            for key in self._fitting()
        ]
        return Content(" ").join(keys)

    def on_click(self, event: events.Click) -> None:
        """Press the key under the mouse."""
        right = 0
        for key in self._fitting():
            right += self._columns(key)
            if event.x < right:
                self.app.simulate_key(key.key)
                return

    def _fitting(self) -> Iterator[Binding]:
        """Yield the keys that fit: help and quit always, the others in order."""
        room = self.size.width + 1 - sum(self._columns(key) for key in self.keys if key.action in _ALWAYS)
        for key in self.keys:
            if key.action not in _ALWAYS:
                room -= self._columns(key)
            if room >= 0 or key.action in _ALWAYS:
                yield key

    def _columns(self, key: Binding) -> int:
        return len(self._key_text(key)) + len(key.description) + 2

    def _key_text(self, key: Binding) -> str:
        return self.app.get_key_display(key)
