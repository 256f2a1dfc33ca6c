"""The keys of the plan: one table with what each does, when, and the command line that does the same."""

from collections.abc import Collection, Iterable, Iterator
from enum import Enum, auto
from typing import Any, NamedTuple, NoReturn

from textual.binding import Binding
from textual.screen import Screen

from git_blackbird.errors import RequestError
from git_blackbird.messages.document import Document, Line, Section, Span, Style, Table
from git_blackbird.model.base.next_steps import MESSAGE, Sentence, ShellLine, TaskCommand

NO_KEY = "no key does that here; ? lists them"
"""What is said about a key that does nothing."""
KEY_COLUMNS = 12
"""How wide keys are where they are listed."""


def does_something(screen: Screen[Any], key: str) -> bool:
    """Whether a key has a meaning now on a screen or for what has the focus."""
    active = screen.active_bindings.get(key)
    return active is not None and active.enabled


class When(Enum):
    """When an action is possible."""

    ALWAYS = auto()
    AT_WORK = auto()
    """While agents work here."""
    ASKED = auto()
    """While something waits for a person."""
    IDLE = auto()
    """While no command runs agents here."""
    ON_TASK = auto()
    NOT_AT_WORK = auto()
    """On a task that no agent works on."""
    HAS_RUN = auto()
    """On a task with runs, while no command runs agents here."""
    ACCEPTED = auto()
    """On a task that one of the action's commands takes, while no command runs agents here."""
    ACCEPTED_AT_WORK = auto()
    """On a task that one of the action's commands takes, also while agents work."""
    LISTENS = auto()
    """On a task at work, or, while no command runs agents here, on one that the action's command takes."""


class KeyAction(NamedTuple):
    """One action of the application; its name is also its id in a keymap.

    ``example`` is the command that does the same, "" if there is none. ``takes`` are the commands of which
    one has to take the task, ``steps`` those for which next steps name this key. ``is_shown``: in the footer.
    """

    key: str
    action: str
    label: str
    description: str
    when: When
    example: str = ""
    takes: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    is_shown: bool = True

    @property
    def is_of_task(self) -> bool:
        """Whether it is about the task under the cursor."""
        return " TASK" in self.example

    def does_all_of(self, step: TaskCommand) -> bool:
        """Whether the key does no less than a command that it stands for, with its options."""
        return step.rest in ("", self.example.partition(" TASK")[2])

    def command(self, task_id: str | None) -> str:
        """Return the example with a task in the place of TASK."""
        verb, takes_task, rest = self.example.partition(" TASK")
        if takes_task:
            return TaskCommand(verb, task_id or "TASK", rest)
        return self.example and f"git blackbird {self.example}"


ACTIONS = (
    KeyAction(
        "e",
        "execute",
        "Execute",
        "show what is due, and do it until someone must decide",
        When.IDLE,
        "execute",
    ),
    KeyAction(
        "x",
        "execute_task",
        "Run",
        "run this task alone",
        When.ACCEPTED,
        "execute TASK",
        takes=("execute",),
        steps=("execute",),
    ),
    KeyAction(
        "d",
        "decide",
        "Decide",
        "decide on the task's run",
        When.ACCEPTED_AT_WORK,
        "decide TASK --approve",
        takes=("decide",),
        steps=("decide",),
    ),
    KeyAction(
        "a",
        "answer",
        "Action",
        "open what waits first, in the order of status, then what comes next, or go to its task",
        When.ASKED,
        "status",
    ),
    KeyAction(
        "p",
        "review",
        "Review",
        "what reviews of the task found, and what to do about it",
        When.ACCEPTED_AT_WORK,
        "review show TASK",
        takes=("review show",),
        steps=("review show", "review run", "review dismiss"),
    ),
    KeyAction(
        "u",
        "resume",
        "Resume",
        "continue the task in its session",
        When.ACCEPTED,
        "resume TASK",
        takes=("resume", "resume --all"),
        steps=("resume", "resume --all"),
    ),
    KeyAction(
        "m",
        "tell",
        "Tell",
        "send the task's agent a message, in its session; at work, it is paused for that",
        When.LISTENS,
        "resume TASK -e",
        takes=("resume -m",),
        steps=("resume -m",),
    ),
    KeyAction(
        "b",
        "retry",
        "Retry",
        "set the task back to todo; start nothing",
        When.ACCEPTED_AT_WORK,
        "retry TASK",
        takes=("retry",),
        steps=("retry",),
    ),
    KeyAction(
        "w",
        "restart",
        "Restart",
        "start the task in a new session, with everything pending",
        When.ACCEPTED,
        "restart TASK",
        takes=("restart",),
        steps=("restart",),
    ),
    KeyAction(
        "U",
        "undo",
        "Undo",
        "take the task's change back out of your files, as shown first",
        When.HAS_RUN,
        "undo TASK",
        steps=("undo",),
    ),
    KeyAction(
        "R",
        "redo",
        "Redo",
        "bring a change back that was taken back, as shown first",
        When.HAS_RUN,
        "redo TASK",
        steps=("redo",),
    ),
    KeyAction(
        "s",
        "set_status",
        "Status",
        "set the task's status by hand",
        When.NOT_AT_WORK,
        "set-status TASK",
        steps=("set-status",),
    ),
    KeyAction("ctrl+c", "pause", "Pause", "pause what runs; again, or when nothing runs, quit", When.AT_WORK),
    KeyAction(
        "h",
        "runs",
        "Runs",
        "the task's runs, and what their agents did",
        When.ON_TASK,
        "runs TASK",
        steps=("runs",),
    ),
    KeyAction("slash", "search", "Search", "search in ids and titles", When.ALWAYS, "list --all"),
    KeyAction("t", "switch", "Live", "show the task, or what agents do", When.ALWAYS),
    KeyAction(
        "c",
        "settings",
        "Settings",
        "show, set and remove settings, and see which layer sets each",
        When.ALWAYS,
        "config",
    ),
    KeyAction("y", "copy", "Copy", "copy the task's id, or what has the focus", When.ALWAYS),
    KeyAction(
        "o",
        "choose_agent",
        "Agent",
        "choose the agent for new runs, until you quit",
        When.ALWAYS,
        "agent",
    ),
    KeyAction("A", "add_task", "Add", "add a task to the plan", When.ALWAYS, "add"),
    KeyAction(
        "P",
        "plan",
        "Plan",
        "let an agent generate or refine tasks, or infer dependencies; you accept what it proposes",
        When.IDLE,
        "plan generate",
        steps=("plan generate", "plan refine", "deps infer"),
    ),
    KeyAction(
        "E", "edit_task", "Edit", "edit the task, in a form or in your editor", When.NOT_AT_WORK, "edit TASK"
    ),
    KeyAction(
        "D",
        "delete_task",
        "Delete",
        "show what deleting the task takes along, and delete it",
        When.NOT_AT_WORK,
        "delete TASK --dry-run",
    ),
    KeyAction(
        "M",
        "move_task",
        "Move",
        "move the task up, down or below another",
        When.NOT_AT_WORK,
        "move TASK --after OTHER",
    ),
    KeyAction(
        "B",
        "set_deps",
        "Before",
        "choose what must be done before the task",
        When.NOT_AT_WORK,
        "deps set TASK DEP...",
    ),
    KeyAction(
        "ctrl+z",
        "suspend_process",
        "Suspend",
        "go back to the shell, `fg` returns; in a text, undo",
        When.ALWAYS,
        is_shown=False,
    ),
    KeyAction("question_mark", "help", "Help", "list all keys", When.ALWAYS),
    KeyAction("q", "quit", "Quit", "quit; what runs is paused first", When.ALWAYS),
)
"""In the order of the footer. Those that change the plan or files have capitals, not pressed by mistake."""


PAUSE = "pause"
FIXED = frozenset({PAUSE, "suspend_process"})
"""What other programs use their keys for as well."""


def bindings_of(*names: str) -> list[Binding]:
    """Return the bindings of the named actions of the application, or of all, in the order of the table."""
    return [
        Binding(
            action.key,
            f"app.{action.action}",
            action.label,
            id=action.action,
            tooltip=action.description,
            show=action.is_shown,
            priority=action.action == PAUSE,
        )
        for action in ACTIONS
        if not names or action.action in names
    ]


EVERYWHERE = bindings_of("answer", "copy", "suspend_process", "help")
"""What every screen has, where the key is no letter of a text."""


class KeyTable:
    """The actions with the keys that a person has for them."""

    def __init__(self, actions: Iterable[KeyAction] = ACTIONS) -> None:
        self.actions = tuple(actions)
        self.by_key = {action.key: action for action in self.actions}
        self.by_name = {action.action: action for action in self.actions}
        self._by_step = {step: action for action in self.actions for step in action.steps}

    def mapped(self, keymap: str, taken: Collection[str]) -> "KeyTable":
        """Return the table with the keys of a keymap, ``ACTION=KEY ...``.

        ``taken`` are the keys of the plan that are no actions.
        Raises RequestError for an action that is not there, and for a key that has another meaning.
        """
        keys = dict(_entries(keymap))
        names = self.by_name.keys() - FIXED
        for name in keys.keys() - names:
            _refuse(
                f"no action with a key of its own is called {name!r}",
                f"these are: {', '.join(sorted(names))}",
            )
        actions = [action._replace(key=keys.get(action.action, action.key)) for action in self.actions]
        met = set(taken)
        for action in actions:
            if action.key in met:
                _refuse(f"the key {action.key!r} of {action.action} has another meaning on the plan")
            met.add(action.key)
        return KeyTable(actions)

    def as_key_hint(self, step: str, current: str | None = None) -> str:
        """Return the key for a next step that the plan has a key for, or the step as it is.

        A task is named where it is not the ``current`` one.
        """
        if isinstance(step, Sentence):
            return step.naming(lambda command: self._key_for(command, current))
        if isinstance(step, TaskCommand) and (action := self._action_of(step)) is not None:
            return f"{_place_of(action, step, current)}: {action.description}"
        return step

    def in_document(self, document: Document, current: str | None = None) -> Iterator[Section | Line | Table]:
        """Yield a document with the keys for the commands that it names.

        A line that has come to be as one above it is left out: one key stands for several commands.
        """
        for part in document:
            if isinstance(part, Section):
                shown: dict[Line | int, Line | Table] = {}
                for number, was in enumerate(part.parts):
                    now = self._part_in_keys(was, current)
                    shown[number if isinstance(now, Table) or now == was else now] = now
                yield part._replace(parts=tuple(shown.values()))
            else:
                yield self._part_in_keys(part, current)

    def _part_in_keys(self, part: Line | Table, current: str | None) -> Line | Table:
        if isinstance(part, Line):
            return self.in_keys(part, current)
        return part._replace(rows=[[self._in_keys(cell, current) for cell in row] for row in part.rows])

    def in_keys(self, line: Line, current: str | None = None) -> Line:
        """Return a line with the keys for the commands that it names."""
        return line._replace(spans=tuple(self._in_keys(span, current) for span in line.spans))

    def _in_keys(self, span: Span, current: str | None) -> Span:
        match span.about:
            case ShellLine() as step:
                return Span(self.as_key_hint(step, current), Style.FAINT)
            case Sentence() as said:
                return Span(self.as_key_hint(said, current), span.style)
            case _:
                return span

    def _key_for(self, step: ShellLine, current: str | None) -> str | None:
        """Return the key for a command in a sentence; None where none does the same."""
        if not isinstance(step, TaskCommand):
            return None
        action = self._action_of(step)
        return _place_of(action, step, current) if action is not None and action.does_all_of(step) else None

    def _action_of(self, step: TaskCommand) -> KeyAction | None:
        if step.verb == "execute" and step.task_id is None:
            return self.by_name["execute"]
        tells = self._by_step.get(f"{step.verb} -m") if step.blank is MESSAGE else None
        return tells or self._by_step.get(step.verb)


def _place_of(action: KeyAction, step: TaskCommand, current: str | None) -> str:
    """Return a key, and the task on which it is meant."""
    return action.key if step.task_id in (None, current) else f"{action.key} on {step.task_id}"


def _entries(keymap: str) -> Iterator[tuple[str, str]]:
    for entry in keymap.split():
        name, _, key = entry.partition("=")
        if not key:
            _refuse(f"{entry!r} is not ACTION=KEY")
        yield name, key


def _refuse(why: str, hint: str = "") -> NoReturn:
    shows = TaskCommand("config", rest=" tui.keymap")
    way_out = Sentence(shows, " shows where it is set: removed there, the usual keys are back")
    raise RequestError(f"tui.keymap: {why}", hint=(hint, way_out) if hint else way_out)
