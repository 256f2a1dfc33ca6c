"""How the user wants output to look, as git is configured."""

from git_blackbird.controller.world import World
from git_blackbird.git.settings import color_wanted as git_color_wanted


def color_wanted(world: World, *, is_tty: bool) -> bool:
    """Whether output is to be coloured: not with ``NO_COLOR``; ``color.blackbird``, else ``color.ui``."""
    if world.environ.get("NO_COLOR"):
        return False
    return git_color_wanted(world.cwd, world.environ, is_tty=is_tty)
