"""The appearance of the screen: themes, without colours, and in terminals of any size."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.constants import DIM_FACTOR
from textual.pilot import Pilot
from textual.theme import Theme

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.themes import DARK, DARK_256, LIGHT, LIGHT_256
from git_blackbird.tui.widgets.line_view import STYLES
from tests.controller.support import configure, execute, leaf, parent_of, put_plan
from tests.support import git
from tests.tui.driver import drive, screen_text, wait_for

READABLE = 4.5
THEMES = (DARK, LIGHT, DARK_256, LIGHT_256)
KINDS = ("primary", "secondary", "warning", "error", "success")
STYLE_SHEET = BlackbirdApp.CSS_PATH
GOOD = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


@pytest.fixture(autouse=True)
def colorful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.delenv("COLORFGBG", raising=False)
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("chosen", "environ", "theme"),
    [
        ("auto", {}, "blackbird-dark"),
        ("auto", {"COLORFGBG": "0;15"}, "blackbird-light"),
        ("auto", {"COLORFGBG": "15;default;0"}, "blackbird-dark"),
        ("auto", {"TERM": "linux", "COLORTERM": ""}, "ansi-dark"),
        ("auto", {"COLORTERM": ""}, "blackbird-dark-256"),
        ("light", {"COLORTERM": ""}, "blackbird-light-256"),
        ("dark", {"COLORFGBG": "0;15"}, "blackbird-dark"),
        ("light", {}, "blackbird-light"),
        ("ansi", {"COLORFGBG": "0;15"}, "ansi-light"),
        ("light", {"NO_COLOR": "1"}, "ansi-dark"),
    ],
)
def test_the_theme_is_the_chosen_one_or_goes_by_the_environment(
    planned: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, environ: dict[str, str], theme: str
) -> None:
    put_plan(planned, leaf("alpha"))
    configure(planned, tui__theme=chosen)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        del pilot
        assert app.theme == theme

    drive(planned, session)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_word_can_be_read(theme: Theme) -> None:
    colors = {**theme.to_color_system().generate(), **theme.variables}
    names = {match[1] for style in STYLES.values() if (match := re.search(r"\$([a-z-]+)", style))}
    grounds = [Color.parse(colors[name]) for name in ("background", "surface", "panel")]
    foreground = Color.parse(colors["foreground"])
    for ground in grounds:
        words = {name: Color.parse(colors[name]) for name in (*names, "text-primary", "foreground")}
        words["dim"] = ground.blend(foreground, DIM_FACTOR)
        too_faint = {
            name: ratio for name, word in words.items() if (ratio := contrast(word, ground)) < READABLE
        }
        assert not too_faint
    assert contrast(Color.parse(colors["background"]), Color.parse(colors["warning"])) >= READABLE


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_word_of_a_diff_can_be_read(theme: Theme) -> None:
    colors = {**theme.to_color_system().generate(), **theme.variables}
    rules = re.findall(r"\.diff--([a-z-]+) \{\n    background: \$diff-([a-z-]+);", STYLE_SHEET.read_text())
    assert {name for name, _ in rules} == {"added", "removed", "added-part", "removed-part", "cursor"}
    for name, ground in rules:
        assert name == ground
        # What was changed within a line has no colours of its language.
        is_part = name.endswith("-part")
        kinds = ["diff-part"] if is_part else ["foreground", *(f"text-{kind}" for kind in KINDS)]
        for below in ("background", "surface"):
            mixed = tinted(Color.parse(colors[below]), colors[f"diff-{name}"])
            assert min(contrast(Color.parse(colors[word]), mixed) for word in kinds) >= READABLE, name


def tinted(ground: Color, tint: str) -> Color:
    color, _, percent = tint.partition(" ")
    return ground.blend(Color.parse(color), float(percent.rstrip("%") or 100) / 100)


@pytest.mark.parametrize("theme", [DARK_256, LIGHT_256], ids=lambda theme: theme.name)
def test_in_256_colours_no_ground_of_a_diff_looks_like_another(theme: Theme) -> None:
    tints = ("added", "removed", "added-part", "removed-part")
    grounds = {name: Color.parse(theme.variables[f"diff-{name}"]) for name in (*tints, "cursor")}
    shown = {name: in_256(ground) for name, ground in grounds.items()}
    assert {name: shown[name] for name in tints} == {name: grounds[name].rgb for name in tints}
    assert len(set(shown["cursor"])) == 1
    assert len({*shown.values(), in_256(Color.parse(theme.background or ""))}) == len(shown) + 1


def in_256(color: Color) -> tuple[int, ...]:
    return tuple(color.rich_color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor())


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio as WCAG defines it."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: Color) -> float:
    parts = (part / 255 for part in (color.r, color.g, color.b))
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.sampled(1)
@pytest.mark.parametrize("without", ["NO_COLOR", "color.ui", "color.blackbird"])
def test_without_colours_all_is_told_by_words_and_reverse(
    planned: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    if without == "NO_COLOR":
        monkeypatch.setenv(without, "1")
    else:
        git(planned, "config", without, "never")
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", "write a.txt one"), leaf("beta"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        assert_colorless(app)
        assert "Action required" in reversed_text(app)
        await pilot.press("d")
        await wait_for(pilot, lambda: "5. View full diff" in screen_text(app))
        assert_colorless(app)
        assert ">(choose)" in reversed_text(app)
        await pilot.press("v")
        await wait_for(pilot, lambda: "+one" in screen_text(app).replace(" ", ""))
        assert_colorless(app)
        assert "a.txt" in text_of(app, lambda style: style.underline)

    drive(planned, session)


def painted(app: BlackbirdApp) -> list[Segment]:
    return [segment for strip in app.screen._compositor.render_strips() for segment in strip]


def assert_colorless(app: BlackbirdApp) -> None:
    styles = [segment.style for segment in painted(app) if segment.style is not None]
    colors = {color for style in styles for color in (style.color, style.bgcolor) if color is not None}
    assert all(color.is_default for color in colors)


def reversed_text(app: BlackbirdApp) -> str:
    return text_of(app, lambda style: style.reverse)


def text_of(app: BlackbirdApp, is_wanted: Callable[[Style], bool | None]) -> str:
    return "".join(one.text for one in painted(app) if one.style is not None and is_wanted(one.style))


def fits(app: BlackbirdApp, width: int, height: int) -> bool:
    strips = app.screen._compositor.render_strips()
    return [strip.cell_length for strip in strips] == [width] * height


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 60)])
def test_every_screen_fits_and_follows_the_terminal(planned: Path, size: tuple[int, int]) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, parent_of("all", ["alpha"]), leaf("alpha", "write a.txt one", parent="all"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        for keys in ("", "down d v", "3 enter", "question_mark", "h", "ctrl+p"):
            if keys != "3 enter":
                await pilot.press("escape", "escape")
            await pilot.press(*keys.split())
            for width, height in (size, (size[0] - 7, size[1] - 2), size):
                await pilot.resize_terminal(width, height)
                await wait_for(pilot, lambda size=(width, height): fits(app, *size))  # type: ignore[misc]
        await pilot.press("escape", "escape")
        await wait_for(pilot, lambda: app.screen is app.main)
        await wait_for(pilot, lambda: screen_text(app).splitlines()[-1].endswith("demo"))

    drive(planned, session, size)
