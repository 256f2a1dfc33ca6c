"""The actions of the screen: the help on its keys, what is possible now, and the command palette."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, Protocol, cast, runtime_checkable

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen
from textual.types import IgnoreReturnCallbackType

from git_blackbird.messages.document import Line, Style, styled
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.keys import ACTIONS, EVERYWHERE, KEY_COLUMNS, KeyAction, KeyTable, When
from git_blackbird.tui.widgets.line_view import titled

_EVERYWHERE = {binding.id for binding in EVERYWHERE}
_ORDER = {one.action: place for place, one in enumerate(ACTIONS) if one.action not in _EVERYWHERE}


class ScreenKey(NamedTuple):
    """A key that works on a screen now: what it is called, and what it does there."""

    name: str
    text: str
    binding: Binding


@runtime_checkable
class DescribesKeys(Protocol):
    """A screen whose keys depend on what it shows."""

    def describe_key(self, action: str) -> str | None:
        """Describe what an action does now; None if its binding describes it."""

    def keys_nearby(self) -> tuple[str, Iterable[Binding]]:
        """Return keys of what another key goes to, with a heading that names that key."""


PLAIN = frozenset(
    {
        *(
            "choose",
            "select",
            "move",
            "page",
            "end",
            "shift",
            "jump",
            "scroll",
            "scroll_to",
            "first",
            "last",
            "cursor_up",
        ),
        *("cursor_down", "page_up", "page_down", "scroll_up", "scroll_down", "scroll_left", "scroll_right"),
        *("scroll_home", "scroll_end", "page_left", "page_right"),
    }
)
"""Actions that everyone finds without being told; they are listed last."""
_NOT_LISTED = frozenset({"ctrl+q", "ctrl+p", "ctrl+c", "super+c", "tab", "shift+tab"})


def keys_on(screen: Screen[object]) -> Iterator[ScreenKey]:
    """Yield the keys with a meaning on a screen or for the widget in focus, each meaning once.

    Those of the plan are among them also where they do nothing now.
    """
    active = screen.active_bindings.values()
    return _merged(screen, (key.binding for key in active if key.enabled or key.binding.id))


def _merged(screen: Screen[object], bindings: Iterable[Binding]) -> Iterator[ScreenKey]:
    told: dict[str, list[Binding]] = {}
    describe = screen.describe_key if isinstance(screen, DescribesKeys) else None
    for binding in sorted(bindings, key=_rank):
        described = None if describe is None else describe(binding.action)
        text = described or ": ".join(filter(None, (binding.description, binding.tooltip)))
        if text and (binding.id or binding.key not in _NOT_LISTED):
            told.setdefault(text, []).append(binding)
    for text, alike in told.items():
        yield ScreenKey(" ".join(map(screen.app.get_key_display, alike)), text, alike[0])


def _rank(binding: Binding) -> int:
    """Return the place of a key in the help: actions of the plan first, in their order, movement last."""
    if binding.action.partition("(")[0] in PLAIN:
        return len(_ORDER) + 1
    return _ORDER.get(binding.id or "", len(_ORDER))


def help_lines(screen: Screen[object], keys: KeyTable, task_id: str | None) -> Iterator[Line]:
    """Yield the keys of a screen and of what has the focus on it, with the command lines for a task."""
    listed = list(keys_on(screen))
    for key in listed:
        yield _help_line(key)
        action = keys.by_name.get(key.binding.id or "")
        if action is not None and (command := action.command(task_id)):
            yield styled(f"{'':<{KEY_COLUMNS}} {command}", Style.FAINT)
    if isinstance(screen, DescribesKeys):
        heading, bindings = screen.keys_nearby()
        texts = {key.text for key in listed}
        nearby = (key for key in _merged(screen, bindings) if key.text not in texts)
        yield from titled(heading, map(_help_line, nearby))
    yield styled("")
    yield styled(f"{'tab':<{KEY_COLUMNS}} go on to what can have the focus next; shift+tab goes back")
    yield styled(f"{'ctrl+p':<{KEY_COLUMNS}} find an action by name")


def _help_line(key: ScreenKey) -> Line:
    return styled(f"{key.name:<{KEY_COLUMNS}} {key.text}")


_FOR_A_TASK = ("decide", "execute_task", "resume", "tell", "restart", "retry")
_ANYWHERE = {When.ASKED: "nothing waits for you", When.AT_WORK: "nothing runs"}
_ON_A_TASK = {When.NOT_AT_WORK: "an agent works on it", When.HAS_RUN: "it has not run"}
_NEEDS_LOCK = frozenset({When.ACCEPTED, When.HAS_RUN, When.LISTENS})


def why_impossible(context: AppContext, action: KeyAction) -> str:
    """Say in a few words why an action cannot be done now, and which key does something instead."""
    task, when = context.current, action.when
    if context.view_state is None:
        return "the records cannot be read"
    if when is When.IDLE or (when in _NEEDS_LOCK and task is not None and not context.can_execute):
        return "agents are at work; ctrl+c pauses them" if context.is_busy else "another command runs here"
    if when in _ANYWHERE or task is None:
        return _ANYWHERE.get(when, "there is no task")
    if when in _ON_A_TASK:
        return _ON_A_TASK[when]
    if task.children:
        return "it is a parent; its children are run and decided"
    state = context.state_text(task)
    instead = next(filter(context.is_possible, _FOR_A_TASK), None)
    if instead is None:
        return f"it is {state}"
    other = context.keys.by_name[instead]
    return f"it is {state}; {other.key}: {other.description}"


class _PaletteEntry(NamedTuple):
    label: str
    title: str
    perform: IgnoreReturnCallbackType
    help: str


class ActionProvider(Provider):
    """The command palette: finds the actions that are possible now, on the plan or on the screen above it."""

    async def discover(self) -> Hits:
        for found in self._possible():
            yield DiscoveryHit(Content(found.title), found.perform, help=_literal(found.help))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for found in self._possible():
            # A match in the label outranks one in the description.
            score = max(2 * matcher.match(found.label), matcher.match(found.title))
            if score > 0:
                yield Hit(score, matcher.highlight(found.title), found.perform, help=_literal(found.help))

    def _possible(self) -> Iterator[_PaletteEntry]:
        if self.screen is not self._context.main:
            yield from self._on_screen()
            return
        for action in self._context.keys.actions:
            if self._context.is_possible(action.action):
                perform = partial(self.app.run_action, action.action)
                yield _PaletteEntry(action.label, _title(action), perform, self._help(action))

    def _on_screen(self) -> Iterator[_PaletteEntry]:
        """Yield what the keys of the screen do."""
        for key in keys_on(self.screen):
            perform = partial(self.app.simulate_key, key.binding.key)
            yield _PaletteEntry(key.text, key.text, perform, key.name)

    @property
    def _context(self) -> AppContext:
        return cast(AppContext, self.app)

    def _help(self, action: KeyAction) -> str:
        task = self._context.current
        return action.command(None if task is None else task.id) or "only for the screen"


def _literal(text: str) -> str:
    """Return the markup of a text, for what takes nothing else: Textual's own escaping leaves some tags."""
    return text.replace("[", r"\[")


def _title(action: KeyAction) -> str:
    return f"{action.label}: {action.description}"
