"""The command palette: every action by name, with the command line that does the same."""

from collections.abc import Iterator
from functools import partial
from typing import cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from git_blackbird.tui.actions import ACTIONS, KeyAction
from git_blackbird.tui.context import AppContext


class ActionProvider(Provider):
    """Finds the actions that are possible now."""

    async def discover(self) -> Hits:
        """Yield all of them."""
        for action, perform in self._possible():
            yield DiscoveryHit(_title(action), perform, help=self._help(action))

    async def search(self, query: str) -> Hits:
        """Yield those that match."""
        matcher = self.matcher(query)
        for action, perform in self._possible():
            # A match in the label outranks one in the description.
            score = max(2 * matcher.match(action.label), matcher.match(_title(action)))
            if score > 0:
                yield Hit(score, matcher.highlight(_title(action)), perform, help=self._help(action))

    def _possible(self) -> Iterator[tuple[KeyAction, IgnoreReturnCallbackType]]:
        for action in ACTIONS:
            if self._context.is_possible(action.action):
                yield action, partial(self.app.run_action, action.action)

    @property
    def _context(self) -> AppContext:
        return cast(AppContext, self.app)

    def _help(self, action: KeyAction) -> str:
        task = self._context.current
        return action.command(None if task is None else task.id) or "only for the screen"


def _title(action: KeyAction) -> str:
    return f"{action.label}: {action.description}"
