"""Configuration in columns: one line for each key, and all that there is to know of one of them."""

from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from git_blackbird.controller.config_edits import NOT_OF_A_CLONE
from git_blackbird.controller.config_views import BrokenFile, SettingsView
from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.config_text import UNSET, key_text, layer_lines, told_text, value_text
from git_blackbird.model.layers import EVERYWHERE, HERE, KeyLayers, Standing
from git_blackbird.model.settings import Layer, Setting, Told
from git_blackbird.model.text import clean_line
from git_blackbird.tui.lines import STYLES

Row = BrokenFile | KeyLayers
_SIGNS = {
    Layer.FLAG: "h",
    Layer.ENVIRONMENT: "e",
    Layer.GIT_LOCAL: "g",
    Layer.PROJECT: "f",
    Layer.GIT_GLOBAL: "g",
    Layer.GLOBAL: "f",
    Layer.AGENT_CHOICE: "f",
}
_OF_NEITHER = frozenset({Layer.FLAG, Layer.ENVIRONMENT, Layer.AGENT_CHOICE})
_HEADINGS = ("local", "global", "default", "applied")
_LONGEST_KEY = 34
_VALUE_COLUMNS = (10, 28)
_NOTHING, _FAULT = "-", "!"


class Widths(NamedTuple):
    """The columns of the key, and those of each of the four values."""

    key: int
    value: int

    @classmethod
    def within(cls, columns: int) -> "Widths":
        """Share the columns out: a mark, the key, four values, and a space before each of these."""
        count = len(_HEADINGS)
        least, most = _VALUE_COLUMNS
        room = columns - 1 - count
        value = max(least, min((room - _LONGEST_KEY) // count, most))
        return cls(max(least, room - count * value), value)

    def line(self, mark: str, name: str, cells: tuple[Content, ...]) -> Content:
        """Put a line together."""
        cut = [_cut(Content(name), self.key), *(_cut(cell, self.value) for cell in cells)]
        return Content(mark) + Content(" ").join(cut)


def legend(rows: tuple[Row, ...]) -> str:
    """Say what the signs are, and how many lines have the one to look at."""
    marked = sum(_mark(row) == _FAULT for row in rows)
    return f"g git, f file, e environment, h chosen here, {_FAULT} wrong: {marked or 'none'}"


def heading(columns: int) -> Content:
    """Write the names of the columns."""
    return Widths.within(columns).line(" ", "key", tuple(map(Content, _HEADINGS)))


def row_text(row: Row, columns: int) -> Content:
    """Write one line."""
    if isinstance(row, BrokenFile):
        name = row.problem.origin.rpartition("/.blackbird/")[2]
        where = f"{row.scope.value} .blackbird/{name}"
        text = f"{_FAULT}{where}  {clean_line(row.why)}"
        return _cut(Content.styled(text, STYLES[Tone.WARNING]), columns)
    cells = (
        _told_cell(row.of(HERE)),
        _told_cell(row.of(EVERYWHERE)),
        Content(_NOTHING if row.key is None else _short(row.key.default)),
        _applied_cell(row.applied),
    )
    return Widths.within(columns).line(_mark(row), clean_line(row.name), cells)


def _mark(row: Row) -> str:
    return _FAULT if isinstance(row, BrokenFile) or row.is_faulty else " "


def _told_cell(told: Told | None) -> Content:
    if told is None:
        return Content.styled(_NOTHING, "dim")
    value = told_text(told)
    return Content(f"{_SIGNS[told.given.layer]} {value if told.is_valid else f'({value})'}")


def _applied_cell(applied: Setting | None) -> Content:
    if applied is None:
        return Content(_NOTHING)
    sign = f"{_SIGNS[applied.layer]} " if applied.layer in _OF_NEITHER else ""
    return Content.styled(sign + _short(applied.value), "" if applied.layer is Layer.DEFAULT else "bold")


def _short(value: object) -> str:
    return UNSET if value is None else value_text(value)  # type: ignore[arg-type]


def _cut(text: Content, columns: int) -> Content:
    """Give the text in exactly so many columns."""
    return text.truncate(columns, ellipsis=True, pad=True)


class KeyTable(OptionList):
    """The lines; the cursor stays on its key whatever changes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self.rows: tuple[Row, ...] = ()

    @property
    def current(self) -> Row | None:
        """What is under the cursor."""
        index = self.highlighted
        return None if index is None or index >= len(self.rows) else self.rows[index]

    @property
    def columns(self) -> int:
        """How many columns a line has."""
        return self.scrollable_content_region.width

    def show(self, view: SettingsView) -> None:
        """Show the configuration as it is now."""
        current = self.current
        before = None if current is None else name_of(current)
        self.rows = (*view.broken, *view.unknown, *view.keys)
        names = [name_of(row) for row in self.rows]
        self._draw()
        self.highlighted = names.index(before) if before in names else 0

    def on_resize(self) -> None:
        """Share the new width out."""
        highlighted = self.highlighted
        self._draw()
        self.highlighted = highlighted

    def _draw(self) -> None:
        self.set_options([Option(row_text(row, self.columns)) for row in self.rows])


def name_of(row: Row) -> str:
    """Name a line; no key has a name with a slash."""
    return row.problem.origin if isinstance(row, BrokenFile) else row.name.lower()


def about(row: Row, near: Callable[[str], str]) -> Iterator[Line]:
    """Say everything of a line; ``near`` shortens origins."""
    if isinstance(row, BrokenFile):
        yield Line(clean_line(row.problem.origin, 1000), Tone.HEADING)
        yield Line(f"{clean_line(row.why)}: it is ignored", Tone.WARNING)
        yield Line(
            "enter opens it here; commands that start or decide refuse to run until it is fixed", Tone.FAINT
        )
        return
    yield Line(clean_line(row.name), Tone.HEADING)
    if row.key is not None:
        trust = "" if row.key.clone_safe else f"; {NOT_OF_A_CLONE}"
        yield Line(f"{key_text(row.key)}{trust}")
    lines = list(layer_lines(row))
    widest = min(max((len(line.value) for line in lines), default=0), _VALUE_COLUMNS[1])
    for line in lines:
        tone = Tone.PLAIN if line.standing == Standing.APPLIED else Tone.FAINT
        yield Line(f"  {line.standing:<10} {line.value:<{widest}}  {near(line.origin)}".rstrip(), tone)
        yield from (Line(f"    {why}", Tone.WARNING) for why in line.why)
