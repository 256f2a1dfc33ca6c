"""What the edge and the commands share."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from git_blackbird.controller.core.environment import Environment


class AppState:
    """What the edge hands to the commands, and learns from them: whether errors must speak JSON.

    ``begin`` is for a command to call before it does anything.
    """

    def __init__(self, make_world: "Callable[[], Environment]", begin: Callable[[], None]) -> None:
        self._make_world = make_world
        self.begin = begin
        self.as_json = False

    @cached_property
    def environment(self) -> "Environment":
        """The world, made when a command first looks at it."""
        return self._make_world()
