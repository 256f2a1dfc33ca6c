"""The keys of the plan, and the command line that does the same as each."""

from typing import Any, NamedTuple

from textual.events import Key
from textual.screen import Screen
from textual.widgets import Input, TextArea

from git_blackbird.model.base.next_steps import TaskCommand, task_command

NO_KEY = "no key does that here; ? lists them"
"""What is said about a key that does nothing."""


def does_nothing(screen: Screen[Any], event: Key) -> bool:
    """Whether a letter that came to nobody has no meaning on a screen."""
    is_text = isinstance(screen.focused, Input | TextArea)
    return event.is_printable and not is_text and event.key not in screen.active_bindings


class KeyAction(NamedTuple):
    """One action of the application; ``example`` is the command that does the same, "" if there is none."""

    key: str
    action: str
    label: str
    description: str
    example: str = ""
    is_shown: bool = True
    """Whether the footer shows the key."""

    @property
    def is_of_task(self) -> bool:
        """Whether it is about the task under the cursor."""
        return " TASK" in self.example

    def command(self, task_id: str | None) -> str:
        """Return the example with a task in the place of TASK."""
        verb, takes_task, rest = self.example.partition(" TASK")
        if takes_task:
            return task_command(verb, task_id or "TASK", rest)
        return self.example and f"git blackbird {self.example}"


PLAN_EDITS = (
    KeyAction("A", "add_task", "Add", "add a task to the plan", "add --title TEXT"),
    KeyAction(
        "P",
        "plan",
        "Plan",
        "let an agent generate or refine tasks, or infer dependencies; you accept what it proposes",
        "plan generate",
    ),
    KeyAction("E", "edit_task", "Edit", "edit the task, in a form or in your editor", "edit TASK"),
    KeyAction(
        "D",
        "delete_task",
        "Delete",
        "show what deleting the task takes along, and delete it",
        "delete TASK --dry-run",
    ),
    KeyAction(
        "M",
        "move_task",
        "Move",
        "move the task up, down or below another",
        "move TASK --after OTHER",
    ),
    KeyAction(
        "B",
        "set_deps",
        "Before",
        "choose what must be done before the task",
        "deps set TASK DEP...",
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
        "a", "answer", "Action", "open the next decision or question, or go to what else waits", "status"
    ),
    KeyAction(
        "p", "review", "Review", "what reviews of the task found, and what to do about it", "review show TASK"
    ),
    KeyAction("u", "resume", "Resume", "continue the task in its session", "resume TASK"),
    KeyAction("m", "tell", "Tell", "send the task's agent a message, in its session", "resume TASK -m TEXT"),
    KeyAction("b", "retry", "Retry", "set the task back to todo; start nothing", "retry TASK"),
    KeyAction(
        "w", "restart", "Restart", "start the task in a new session, with everything pending", "restart TASK"
    ),
    KeyAction(
        "U", "undo", "Undo", "take the task's change back out of your files, as shown first", "undo TASK"
    ),
    KeyAction("R", "redo", "Redo", "bring a change back that was taken back, as shown first", "redo TASK"),
    KeyAction("s", "set_status", "Status", "set the task's status by hand", "set-status TASK STATUS"),
    KeyAction("ctrl+c", "pause", "Pause", "pause what runs; again, or when nothing runs, quit"),
    KeyAction("h", "runs", "Runs", "the task's runs, and what their agents did", "runs TASK"),
    KeyAction("slash", "search", "Search", "search in ids and titles", "list --all"),
    KeyAction("t", "switch", "Live", "show the task, or what agents do"),
    KeyAction(
        "c", "settings", "Settings", "show, set and remove settings, and see which layer sets each", "config"
    ),
    KeyAction("y", "copy", "Copy", "copy the task's id, or what the other pane shows"),
    KeyAction(
        "o", "choose_agent", "Agent", "choose the agent for new runs, until you quit", "execute --agent NAME"
    ),
    *PLAN_EDITS,
    KeyAction(
        "ctrl+z",
        "suspend_process",
        "Suspend",
        "go back to the shell, `fg` returns; in a text, undo",
        "",
        is_shown=False,
    ),
    KeyAction("question_mark", "help", "Help", "list all keys"),
    KeyAction("q", "quit", "Quit", "quit; what runs is paused first"),
)
"""In the order of the footer."""
BY_KEY = {action.key: action for action in ACTIONS}
_KEY_OF_VERB = {
    "execute": "x",
    "plan generate": "P",
    "plan refine": "P",
    "deps infer": "P",
    "decide": "d",
    "resume": "u",
    "restart": "w",
    "retry": "b",
    "runs": "h",
    "review show": "p",
    "review run": "p",
    "review dismiss": "p",
}


def in_keys(step: str, current: str | None = None) -> str:
    """Return the key for a next step, if it is a command that the plan has a key for, or the step as it is.

    A task is named where it is not the ``current`` one.
    """
    if not isinstance(step, TaskCommand):
        return step
    key = "e" if step.verb == "execute" and step.task_id is None else _KEY_OF_VERB.get(step.verb)
    if key is None:
        return step
    elsewhere = "" if step.task_id in (None, current) else f" on {step.task_id}"
    return f"{key}{elsewhere}: {BY_KEY[key].description}"
