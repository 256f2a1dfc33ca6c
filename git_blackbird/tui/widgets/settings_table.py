"""The configuration as a table of keys, and the details of one key."""

from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from git_blackbird.controller.config.edit import NOT_OF_A_CLONE
from git_blackbird.controller.config.view import BrokenFile, SettingsView
from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.messages.display.config import UNSET, key_text, layer_lines, layer_value_text, value_text
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.keys import Value
from git_blackbird.model.config.layers import EVERYWHERE, HERE, KeyLayers, ValueEffect
from git_blackbird.model.config.settings import Layer, LayerValue, Setting
from git_blackbird.tui.widgets.line_view import STYLES

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
_OTHER_LAYERS = frozenset({Layer.FLAG, Layer.ENVIRONMENT, Layer.AGENT_CHOICE})
_HEADINGS = ("local", "global", "default", "applied")
_LONGEST_KEY = 34
_VALUE_COLUMNS = (10, 28)
_NOTHING, _FAULT = "-", "!"


class Widths(NamedTuple):
    """The columns of the key, and of each of the four values."""

    key: int
    value: int

    @classmethod
    def within(cls, columns: int) -> "Widths":
        """Distribute the columns: a mark, the key, and four values with a space before each."""
        count = len(_HEADINGS)
        least, most = _VALUE_COLUMNS
        room = columns - 1 - count
        value = max(least, min((room - _LONGEST_KEY) // count, most))
        return cls(max(least, room - count * value), value)

    def line(self, mark: str, name: str, cells: tuple[Content, ...]) -> Content:
        """Return one line of the table."""
        cut = [_cut(Content(name), self.key), *(_cut(cell, self.value) for cell in cells)]
        return Content(mark) + Content(" ").join(cut)


def legend(rows: tuple[Row, ...]) -> str:
    """Explain the signs, and count the lines that are wrong."""
    marked = sum(_mark(row) == _FAULT for row in rows)
    return f"g git, f file, e environment, h chosen here, {_FAULT} wrong: {marked or 'none'}"


def heading(columns: int) -> Content:
    """Return the headings of the columns."""
    return Widths.within(columns).line(" ", "key", tuple(map(Content, _HEADINGS)))


def row_text(row: Row, columns: int) -> Content:
    """Return the line of a key, or of a file that cannot be read."""
    if isinstance(row, BrokenFile):
        name = row.problem.origin.rpartition("/.blackbird/")[2]
        where = f"{row.scope.value} .blackbird/{name}"
        text = f"{_FAULT}{where}  {clean_line(row.why)}"
        return _cut(Content.styled(text, STYLES[Style.WARNING]), columns)
    cells = (
        _layer_cell(row.of(HERE)),
        _layer_cell(row.of(EVERYWHERE)),
        Content(_NOTHING if row.key is None else _short(row.key.default)),
        _applied_cell(row.applied),
    )
    return Widths.within(columns).line(_mark(row), clean_line(row.name), cells)


def _mark(row: Row) -> str:
    return _FAULT if isinstance(row, BrokenFile) or row.is_faulty else " "


def _layer_cell(value: LayerValue | None) -> Content:
    if value is None:
        return Content.styled(_NOTHING, "dim")
    text = layer_value_text(value)
    return Content(f"{_SIGNS[value.given.layer]} {text if value.is_valid else f'({text})'}")


def _applied_cell(applied: Setting | None) -> Content:
    if applied is None:
        return Content(_NOTHING)
    sign = f"{_SIGNS[applied.layer]} " if applied.layer in _OTHER_LAYERS else ""
    return Content.styled(sign + _short(applied.value), "" if applied.layer is Layer.DEFAULT else "bold")


def _short(value: Value | None) -> str:
    return UNSET if value is None else value_text(value)


def _cut(text: Content, columns: int) -> Content:
    """Cut or pad the text to ``columns``."""
    return text.truncate(columns, ellipsis=True, pad=True)


class SettingsTable(OptionList):
    """The table; the cursor stays on its key when values change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self.rows: tuple[Row, ...] = ()

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        index = self.highlighted
        return None if index is None or index >= len(self.rows) else self.rows[index]

    @property
    def columns(self) -> int:
        """The width of a line."""
        return self.scrollable_content_region.width

    def show(self, view: SettingsView) -> None:
        """Show a configuration."""
        current = self.current
        old_name = None if current is None else name_of(current)
        self.rows = (*view.broken, *view.unknown, *view.keys)
        names = [name_of(row) for row in self.rows]
        self._draw()
        self.highlighted = names.index(old_name) if old_name in names else 0

    def on_resize(self) -> None:
        highlighted = self.highlighted
        self._draw()
        self.highlighted = highlighted

    def _draw(self) -> None:
        self.set_options([Option(row_text(row, self.columns)) for row in self.rows])


def name_of(row: Row) -> str:
    """Return the name that identifies a row; only paths of files contain a slash."""
    return row.problem.origin if isinstance(row, BrokenFile) else row.name.lower()


def about(row: Row, shorten: Callable[[str], str]) -> Iterator[StyledLine]:
    """Yield the details of a row; ``shorten`` abbreviates origins."""
    if isinstance(row, BrokenFile):
        yield StyledLine(clean_line(row.problem.origin, 1000), Style.HEADING)
        yield StyledLine(f"{clean_line(row.why)}: it is ignored", Style.WARNING)
        yield StyledLine("commands that start or decide refuse to run until it is fixed", Style.FAINT)
        return
    yield StyledLine(clean_line(row.name), Style.HEADING)
    if row.key is not None:
        trust = "" if row.key.clone_safe else f"; {NOT_OF_A_CLONE}"
        yield StyledLine(f"{key_text(row.key)}{trust}")
    lines = list(layer_lines(row))
    widest = min(max((len(line.value) for line in lines), default=0), _VALUE_COLUMNS[1])
    for line in lines:
        tone = Style.PLAIN if line.effect == ValueEffect.APPLIED else Style.FAINT
        yield StyledLine(f"  {line.effect:<10} {line.value:<{widest}}  {shorten(line.origin)}".rstrip(), tone)
        yield from (StyledLine(f"    {why}", Style.WARNING) for why in line.why)
