"""Looking at the worktree again and again, away from the screen."""

import gc
from typing import TYPE_CHECKING

from git_blackbird.controller.watching import Picture, Watch
from git_blackbird.errors import BlackbirdError
from git_blackbird.model.collector import collector_paused
from git_blackbird.tui.turns import Turns

if TYPE_CHECKING:
    from git_blackbird.tui.app import BlackbirdApp


class Looker:
    """Tells the application what has changed, whoever did it; one look at a time."""

    def __init__(self, app: "BlackbirdApp", watch: Watch) -> None:
        self.turns = Turns()
        self._app = app
        self._watch = watch
        self._is_looking = False
        self._trouble: str | None = None

    def look(self) -> None:
        """Begin to look, unless one look is under way."""
        if not self._is_looking:
            self._is_looking = True
            self._app.run_worker(self._look, thread=True)

    def _look(self) -> None:
        try:
            self._look_around()
        finally:
            self._is_looking = False

    def _look_around(self) -> None:
        # What a key may need next is loaded before the many records are.
        _ = self._app.doing
        was_busy = self._app.runner.is_busy
        try:
            picture = self._look_once()
        except BlackbirdError as error:
            self._app.call_from_thread(self.say_trouble, error)
            return
        if picture is not None:
            self._app.call_from_thread(self._show, picture)
            if picture.overview.owed:
                # Who is asked for a decision may name files next.
                self._app.call_from_thread(self._app.listing.prepare, self._app)
        self._follow(was_busy=was_busy)

    def _look_once(self) -> Picture | None:
        with collector_paused():
            picture = self._watch.look(self.turns.wait)
            if picture is not None and self._app.picture is None:
                # Records are many and live long: the search for garbage need not halt the screen for them.
                gc.freeze()
        return picture

    def _follow(self, *, was_busy: bool) -> None:
        """Follow what another process runs; what runs here, or did when it was looked at, tells of itself."""
        follower = self._app.doing.follower
        if was_busy or self._app.runner.is_busy:
            follower.leave()
        elif self._app.picture is not None:
            follower.look(self._watch.workspace, self._app.picture)

    def _show(self, picture: Picture) -> None:
        self._trouble = None
        self._app.wear(self._watch.workspace)
        self._app.main.show_picture(picture, self._app.world.timestamp())

    def say_trouble(self, error: BlackbirdError) -> None:
        """Say what cannot be read, once."""
        text = f"{error.message} {error.hint or ''}".strip()
        if text != self._trouble:
            self._trouble = text
            self._app.main.show_trouble(text)
