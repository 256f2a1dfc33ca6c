"""The themes of the screen. A terminal is asked for its background, and nothing waits for the answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter
from textual.reactive import Reactive
from textual.theme import Theme

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.document import line
from git_blackbird.tui.terminal_answers import ASK_BACKGROUND, TerminalBackground

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
        "diff-added": "#7fca7f 12%",
        "diff-removed": "#f07178 12%",
        "diff-added-part": "#7fca7f 32%",
        "diff-removed-part": "#f07178 32%",
        "diff-part": "#e2e2e2",
        "diff-cursor": "#f0a842 16%",
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
        "diff-added": "#1d6b33 12%",
        "diff-removed": "#b3261e 12%",
        "diff-added-part": "#1d6b33 32%",
        "diff-removed-part": "#b3261e 32%",
        "diff-part": "#1c1c1c",
        "diff-cursor": "#b45a00 16%",
    },
)
# With 256 colours, a faint tint would become a grey, and that of the current line the red of a removed one.
# These grounds are in the palette, and the words are those that can be read on them.
DARK_256 = replace(
    DARK,
    name="blackbird-dark-256",
    variables={
        "text-primary": "#afd7ff",
        "text-secondary": "#87ffff",
        "text-warning": "#ffd787",
        "text-error": "#ffafaf",
        "text-success": "#afffaf",
        "diff-added": "#005f00",
        "diff-removed": "#5f0000",
        "diff-added-part": "#008700",
        "diff-removed-part": "#870000",
        "diff-part": "#ffffff",
        "diff-cursor": "#444444",
    },
)
LIGHT_256 = replace(
    LIGHT,
    name="blackbird-light-256",
    variables={
        "text-primary": "#005faf",
        "text-secondary": "#005f5f",
        "text-warning": "#5f5f00",
        "text-error": "#af0000",
        "text-success": "#005f00",
        "footer-key-foreground": "#870000",
        "diff-added": "#d7ffd7",
        "diff-removed": "#ffd7d7",
        "diff-added-part": "#afffaf",
        "diff-removed-part": "#ffafaf",
        "diff-part": "#121212",
        "diff-cursor": "#dadada",
    },
)
_OURS = {theme.name: theme for theme in (DARK, LIGHT, DARK_256, LIGHT_256)}
_WITHOUT_COLORS = "ansi-dark"
# Terminals with sixteen colours, or an unknown number.
_SIMPLE = frozenset({None, "standard"})
_PALETTE = "256"
_BLACKS = frozenset({0, 8})
_TOLD = "COLORFGBG"
_BY_TERMINAL = frozenset({"auto", "ansi"})
_LIGHT_BACKGROUNDS = frozenset({"7", *map(str, range(9, 16))})


class MonochromeFilter(LineFilter):
    """Removes colours; a coloured background becomes reverse video."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [Segment(text, style and _plain(style), control) for text, style, control in segments]


_PLAIN = MonochromeFilter()


@lru_cache(1024)
def _plain(style: Style) -> Style:
    ground = style.bgcolor
    stands_out = ground is not None and not ground.is_default and ground.number not in _BLACKS
    plain = style.without_color + Style(reverse=bool(style.reverse) or stands_out)
    # What a click does.
    return plain + Style.from_meta(style.meta) if style.meta else plain


class HarmlessFilter(LineFilter):
    """Removes control characters from all that is drawn, in case a text comes there as it was read."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        del background
        return [
            Segment(_harmless(text), style and _unlinked(style), control) for text, style, control in segments
        ]


_HARMLESS = HarmlessFilter()


@lru_cache(4096)
def _harmless(text: str) -> str:
    """Clean a part of a line, which keeps its width."""
    cleaned = line(re.sub("[\t\n]", " ", text)).text
    return text if cleaned == text else set_cell_size(cleaned, cell_len(text))


def _unlinked(style: Style) -> Style:
    return style if style.link is None else style.update_link(None)


class ThemedApp(App[None]):
    """Has colours where they are wanted; words, bold and reverse say everything without them."""

    # The most common theme from the start: changing it means parsing all styles again.
    theme: Reactive[str] = Reactive(DARK.name)

    _themed: Workspace | None = None
    _ground = "dark"
    """What the terminal has answered, if it has."""

    def get_theme(self, theme_name: str) -> Theme | None:
        """Find a theme, ours first: this is called for everything that is drawn."""
        return _OURS.get(theme_name) or super().get_theme(theme_name)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return what our style sheet needs in themes that are not ours."""
        return {name: value for name, value in DARK.variables.items() if name.startswith("diff-")}

    def apply_theme(self, workspace: Workspace) -> None:
        """Apply ``tui.theme`` and git's ``color.ui``, unless it was this workspace last time."""
        if workspace is self._themed:
            return
        self._themed = workspace
        self._apply(workspace)

    def ask_background(self) -> None:
        """Ask the terminal for its background, where the theme goes by it and nothing else tells."""
        # Textual has no other name for what writes to the terminal.
        workspace = self._themed
        if workspace is None or self._driver is None or workspace.config.tui.theme not in _BY_TERMINAL:
            return
        if not self.no_color and not workspace.environment.environ.get(_TOLD):
            self._driver.write(ASK_BACKGROUND)

    def on_terminal_background(self, event: TerminalBackground) -> None:
        self._ground = event.ground
        if self._themed is not None:
            self._apply(self._themed)

    def _apply(self, workspace: Workspace) -> None:
        for theme in _OURS.values():
            self.register_theme(theme)
        self.no_color = not workspace.takes_color(is_tty=True)
        ground = _told_ground(workspace.environment.environ) or self._ground
        name = theme_name(workspace.config.tui.theme, ground, self.console.color_system)
        if self.no_color:
            name = _WITHOUT_COLORS
        if name != self.theme:
            self.theme = name

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters for control characters and, without colours, for all colours.

        Textual's own filter leaves shades of grey.
        """
        return (_HARMLESS, *((_PLAIN,) if self.no_color else super().get_line_filters()))


def _told_ground(environ: Mapping[str, str]) -> str:
    """Return what the user's environment says of the background; "" for nothing."""
    told = environ.get(_TOLD, "").rpartition(";")[2]
    return told and ("light" if told in _LIGHT_BACKGROUNDS else "dark")


def theme_name(chosen: str, ground: str, color_system: str | None) -> str:
    """Return the theme for a value of ``tui.theme`` with the colours that Rich found the terminal to have."""
    if chosen == "ansi" or (chosen == "auto" and color_system in _SIMPLE):
        return f"ansi-{ground}"
    if chosen == "auto":
        chosen = ground
    return f"blackbird-{chosen}-256" if color_system == _PALETTE else f"blackbird-{chosen}"
