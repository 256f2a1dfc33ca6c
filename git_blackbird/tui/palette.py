"""The command palette: every action by name, with the command line that does the same."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from git_blackbird.tui.deeds import DEEDS, Deed

if TYPE_CHECKING:
    from git_blackbird.tui.app import BlackbirdApp


class DeedProvider(Provider):
    """Finds actions that can be done here and now."""

    async def discover(self) -> Hits:
        """Give all of them."""
        for deed, perform in self._possible():
            yield DiscoveryHit(_title(deed), perform, help=self._help(deed))

    async def search(self, query: str) -> Hits:
        """Give those that match."""
        matcher = self.matcher(query)
        for deed, perform in self._possible():
            # Who types the name of an action means that one.
            score = max(2 * matcher.match(deed.label), matcher.match(_title(deed)))
            if score > 0:
                yield Hit(score, matcher.highlight(_title(deed)), perform, help=self._help(deed))

    def _possible(self) -> Iterator[tuple[Deed, IgnoreReturnCallbackType]]:
        for deed in DEEDS:
            if self._blackbird.is_possible(deed.action):
                yield deed, partial(self.app.run_action, deed.action)

    @property
    def _blackbird(self) -> "BlackbirdApp":
        return cast("BlackbirdApp", self.app)

    def _help(self, deed: Deed) -> str:
        task = self._blackbird.current
        return deed.command(None if task is None else task.id) or "about the screen alone"


def _title(deed: Deed) -> str:
    return f"{deed.label}: {deed.says}"
