"""The actions of the screen, with the command line that does the same: for keys, help and command palette."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.types import IgnoreReturnCallbackType

from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.tui.context import AppContext


class KeyAction(NamedTuple):
    """One action of the application; ``example`` is the command that does the same, "" if there is none."""

    key: str
    action: str
    label: str
    description: str
    example: str = ""
    is_shown: bool = True
    """Whether the footer shows the key."""

    def command(self, task_id: str | None) -> str:
        """Return the example with a task in the place of TASK."""
        verb, takes_task, rest = self.example.partition(" TASK")
        if takes_task:
            return task_command(verb, task_id or "TASK", rest)
        return self.example and f"git blackbird {self.example}"


PLAN_EDITS = (
    KeyAction("A", "add_task", "Add", "add a task to the plan", "add --title TEXT", is_shown=False),
    KeyAction(
        "E", "edit_task", "Edit", "edit the task, in a form or in your editor", "edit TASK", is_shown=False
    ),
    KeyAction(
        "D",
        "delete_task",
        "Delete",
        "show what deleting the task takes along, and delete it",
        "delete TASK --dry-run",
        is_shown=False,
    ),
    KeyAction(
        "M",
        "move_task",
        "Move",
        "move the task up, down or below another",
        "move TASK --after OTHER",
        is_shown=False,
    ),
    KeyAction(
        "B",
        "set_deps",
        "Before",
        "choose what must be done before the task",
        "deps set TASK DEP...",
        is_shown=False,
    ),
)
"""They change the plan itself; a capital letter each, so that none is pressed by mistake."""

ACTIONS = (
    KeyAction(
        "e",
        "execute",
        "Execute",
        "show what is due, and do it until someone must decide",
        "execute",
    ),
    KeyAction("x", "execute_task", "Run", "run this task alone", "execute TASK"),
    KeyAction("d", "decide", "Decide", "decide on the task's run", "decide TASK --approve"),
    KeyAction(
        "p", "review", "Review", "what reviews of the task found, and what to do about it", "review show TASK"
    ),
    KeyAction("u", "resume", "Resume", "continue the task in its session", "resume TASK"),
    KeyAction("m", "tell", "Tell", "send the task's agent a message, in its session", "resume TASK -m TEXT"),
    KeyAction("b", "retry", "Retry", "set the task back to todo; start nothing", "retry TASK"),
    KeyAction(
        "w", "restart", "Restart", "start the task in a new session, with everything pending", "restart TASK"
    ),
    KeyAction("s", "set_status", "Status", "set the task's status by hand", "set-status TASK STATUS"),
    KeyAction(
        "o",
        "choose_agent",
        "Agent",
        "choose the agent for new runs, until you quit",
        "execute --agent NAME",
        is_shown=False,
    ),
    *PLAN_EDITS,
    KeyAction("ctrl+c", "pause", "Pause", "pause what runs; again, or when nothing runs, quit"),
    KeyAction(
        "ctrl+z",
        "suspend_process",
        "Suspend",
        "go back to the shell, `fg` returns; in a text, undo",
        "",
        is_shown=False,
    ),
    KeyAction("h", "runs", "Runs", "the task's runs, and what their agents did", "runs TASK", is_shown=False),
    KeyAction("a", "answer", "Action", "open the next decision, or go to what waits for you", "status"),
    KeyAction(
        "c",
        "settings",
        "Settings",
        "show, set and remove settings, and see which layer sets each",
        "config",
        is_shown=False,
    ),
    KeyAction("t", "switch", "Live", "show the task, or what agents do", "", is_shown=False),
    KeyAction("slash", "search", "Search", "search in ids and titles", "list --all", is_shown=False),
    KeyAction("question_mark", "help", "Help", "list all keys"),
    KeyAction("q", "quit", "Quit", "quit; what runs is paused first"),
)
"""In the order of the footer."""
BY_KEY = {action.key: action for action in ACTIONS}

_KEYS_OF_TREE = (
    ("up down j k", "move; also pgup, pgdn, home, end"),
    ("enter space", "fold or unfold"),
    ("f F", "filter: all, or one state (`git blackbird list --ready`, `--status`)"),
    ("n N", "next or previous task that the search or filter found"),
    ("tab", "go to the other pane"),
    ("1 to 5", "show the task, live log, runs, its diff, or what it needs and unblocks"),
    ("+", "give all the room to one pane"),
    ("< >", "move the border between the panes"),
    ("esc", "go back"),
    ("ctrl+p", "find an action by name"),
)
_KEY_NAMES = {"slash": "/", "question_mark": "?"}
_KEY_COLUMNS = 13


def help_lines(task_id: str | None) -> Iterator[StyledLine]:
    """Yield all keys with their actions, and the command line of each for a task."""
    for action in ACTIONS:
        key = _KEY_NAMES.get(action.key, action.key)
        yield StyledLine(f"{key:<{_KEY_COLUMNS}}{action.label}: {action.description}")
        if command := action.command(task_id):
            yield StyledLine(f"{'':<{_KEY_COLUMNS}}{command}", Style.FAINT)
    yield StyledLine("")
    for keys, text in _KEYS_OF_TREE:
        yield StyledLine(f"{keys:<{_KEY_COLUMNS}}{text}")


_STARTS = ("execute_task", "resume", "tell", "restart")
_FOR_A_TASK = (*_STARTS, "decide", "retry")
_OF_NO_TASK = frozenset({"answer", "pause"})
_WHY_NOT = {
    "answer": "nothing waits for you",
    "pause": "nothing runs",
    "set_status": "an agent works on it",
    "edit_task": "an agent works on it",
    "delete_task": "an agent works on it",
    "move_task": "an agent works on it",
    "set_deps": "an agent works on it",
}


def why_impossible(context: AppContext, action: str) -> str:
    """Say in a few words why an action cannot be done now, and which key does something instead."""
    task = context.current
    if action in _WHY_NOT or task is None:
        return _WHY_NOT[action] if task is not None or action in _OF_NO_TASK else "there is no task"
    if action in ("execute", *_STARTS) and not context.can_execute:
        return "agents are at work; ctrl+c pauses them" if context.is_busy else "another command runs here"
    if task.children:
        return "it is a parent; its children are run and decided"
    state = "ready" if context.accepts_current("execute") else task.status.value.replace("_", " ")
    possible = (
        action_of_task
        for action_of_task in ACTIONS
        if action_of_task.action in _FOR_A_TASK and context.is_possible(action_of_task.action)
    )
    instead = next(possible, None)
    return f"it is {state}" + ("" if instead is None else f"; {instead.key}: {instead.description}")


class ActionProvider(Provider):
    """The command palette: finds the actions that are possible now."""

    async def discover(self) -> Hits:
        for action, perform in self._possible():
            yield DiscoveryHit(_title(action), perform, help=self._help(action))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action, perform in self._possible():
            # A match in the label outranks one in the description.
            score = max(2 * matcher.match(action.label), matcher.match(_title(action)))
            if score > 0:
                yield Hit(score, matcher.highlight(_title(action)), perform, help=self._help(action))

    def _possible(self) -> Iterator[tuple[KeyAction, IgnoreReturnCallbackType]]:
        for action in ACTIONS:
            if self._context.is_possible(action.action):
                yield action, partial(self.app.run_action, action.action)

    @property
    def _context(self) -> AppContext:
        return cast(AppContext, self.app)

    def _help(self, action: KeyAction) -> str:
        task = self._context.current
        return action.command(None if task is None else task.id) or "only for the screen"


def _title(action: KeyAction) -> str:
    return f"{action.label}: {action.description}"
