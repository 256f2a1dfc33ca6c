"""How the screen looks. No terminal is asked for its colours: it may not answer."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter
from textual.reactive import Reactive
from textual.theme import Theme

from git_blackbird.controller.looks import color_wanted
from git_blackbird.controller.workspace import Workspace

DARK = Theme(
    name="blackbird-dark",
    primary="#1f6fbf",
    secondary="#35597d",
    accent="#f0a842",
    warning="#f0b95a",
    error="#f07178",
    success="#7fca7f",
    foreground="#e2e2e2",
    background="#121212",
    surface="#1c1c1c",
    panel="#262a2e",
    variables={
        "text-primary": "#6cb8ff",
        "text-secondary": "#4fd0d8",
        "text-warning": "#f0b95a",
        "text-error": "#ff8087",
        "text-success": "#86d186",
    },
)
LIGHT = Theme(
    name="blackbird-light",
    primary="#0b5cad",
    secondary="#c4d8ec",
    accent="#b45a00",
    warning="#8a5200",
    error="#b3261e",
    success="#1d6b33",
    foreground="#1c1c1c",
    background="#fafafa",
    surface="#f1f1f1",
    panel="#e2e6ea",
    dark=False,
    variables={
        "text-primary": "#0b5cad",
        "text-secondary": "#00646e",
        "text-warning": "#8a5200",
        "text-error": "#b3261e",
        "text-success": "#1d6b33",
        "footer-key-foreground": "#8a4500",
    },
)
_OURS = {theme.name: theme for theme in (DARK, LIGHT)}
_WITHOUT_COLORS = "ansi-dark"
# What is simple has sixteen colours, or none that are known.
_SIMPLE = frozenset({None, "standard"})
_BLACKS = frozenset({0, 8})
_LIGHT_BACKGROUNDS = frozenset({"7", *map(str, range(9, 16))})


class _WithoutColors(LineFilter):
    """Takes colours away; what stands out by its background does so by reverse."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Give the same without them."""
        del background
        return [Segment(text, style and _plain(style), control) for text, style, control in segments]


_PLAIN = _WithoutColors()


@lru_cache(1024)
def _plain(style: Style) -> Style:
    ground = style.bgcolor
    stands_out = ground is not None and not ground.is_default and ground.number not in _BLACKS
    plain = style.without_color + Style(reverse=bool(style.reverse) or stands_out)
    # What a click there means.
    return plain + Style.from_meta(style.meta) if style.meta else plain


class ThemedApp(App[None]):
    """Has colours where they are wanted; without them, everything is told by words, bold and reverse."""

    # What most people see is there from the start: a change costs reading all styles again.
    theme: Reactive[str] = Reactive(DARK.name)

    def get_theme(self, theme_name: str) -> Theme | None:
        """Find a theme, ours first: it is looked up for everything that is drawn."""
        return _OURS.get(theme_name) or super().get_theme(theme_name)

    _worn: Workspace | None = None

    def wear(self, workspace: Workspace) -> None:
        """Look as ``tui.theme`` and git's ``color.ui`` say; nothing to do where it was worn last."""
        if workspace is self._worn:
            return
        self._worn = workspace
        for theme in _OURS.values():
            self.register_theme(theme)
        self.no_color = not color_wanted(workspace.world, is_tty=True)
        chosen, environ = workspace.settings.text("tui.theme") or "auto", workspace.world.environ
        is_simple = self.console.color_system in _SIMPLE
        name = _WITHOUT_COLORS if self.no_color else theme_name(chosen, environ, is_simple=is_simple)
        if name != self.theme:
            self.theme = name

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Take all colours away, not only what makes them differ."""
        return (_PLAIN,) if self.no_color else super().get_line_filters()


def theme_name(chosen: str, environ: Mapping[str, str], *, is_simple: bool) -> str:
    """Give the theme of a choice of ``tui.theme``; ``is_simple`` is a terminal of sixteen colours or none."""
    light = environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_BACKGROUNDS
    if chosen == "ansi" or (chosen == "auto" and is_simple):
        return "ansi-light" if light else "ansi-dark"
    if chosen == "auto":
        chosen = "light" if light else "dark"
    return f"blackbird-{chosen}"
