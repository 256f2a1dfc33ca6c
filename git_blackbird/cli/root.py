"""What the edge and the commands share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from git_blackbird.controller.world import World


@dataclass
class Root:
    """What the edge hands to the commands, and learns from them: whether errors must speak JSON."""

    make_world: "Callable[[], World]"
    as_json: bool = False

    @cached_property
    def world(self) -> "World":
        """The world, made when a command first looks at it."""
        return self.make_world()
