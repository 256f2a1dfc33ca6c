"""What a person can do here: the key, what it says of itself, and the command line that does the same."""

from typing import NamedTuple

from git_blackbird.model.commands import task_command


class Deed(NamedTuple):
    """One action of the application.

    ``verb`` is the command it stands for; of a task where ``is_of_task``. ``rest`` are its options. Without a
    verb it is about the screen alone. What is not ``is_shown`` has no place in the footer.
    """

    key: str
    action: str
    label: str
    says: str
    verb: str = ""
    rest: str = ""
    is_of_task: bool = True
    is_shown: bool = True

    def command(self, task_id: str | None) -> str:
        """Write the command line that does the same; "" for what is about the screen alone."""
        if not self.verb:
            return ""
        if not self.is_of_task:
            return f"git blackbird {self.verb}{self.rest}"
        return task_command(self.verb, task_id or "TASK", self.rest)


DEEDS = (
    Deed(
        "e",
        "execute",
        "Execute",
        "do what is due, up to a decision",
        "execute",
        is_of_task=False,
    ),
    Deed("x", "execute_task", "Run", "run this task alone", "execute"),
    Deed("d", "decide", "Decide", "decide on the task's run", "decide", " --approve"),
    Deed("p", "review", "Review", "what reviews of the task found, and what to do about it", "review show"),
    Deed("u", "resume", "Resume", "go on in the task's session", "resume"),
    Deed("m", "tell", "Tell", "tell the task's agent something, in its session", "resume", " -m TEXT"),
    Deed("y", "retry", "Retry", "make the task todo again; start nothing", "retry"),
    Deed("w", "restart", "Restart", "start the task in a new session, with everything pending", "restart"),
    Deed("s", "set_status", "Status", "set the task's status by hand", "set-status", " STATUS"),
    Deed(
        "n",
        "choose_agent",
        "Agent",
        "choose the agent of new runs, until this application is left",
        "execute",
        " --agent NAME",
        is_of_task=False,
        is_shown=False,
    ),
    Deed(
        "ctrl+c",
        "pause",
        "Pause",
        "pause what runs; again, or when nothing runs, quit",
    ),
    Deed(
        "ctrl+z",
        "suspend_process",
        "Suspend",
        "go back to the shell, `fg` comes here again; in a text, undo",
        is_shown=False,
    ),
    Deed("h", "runs", "Runs", "the task's runs, and what their agents did", "runs", is_shown=False),
    Deed(
        "a",
        "answer",
        "Action",
        "open the next decision, or go to what waits for you",
        "status",
        is_of_task=False,
    ),
    Deed(
        "c",
        "settings",
        "Settings",
        "every key of the configuration: who sets it, what counts; set and remove it",
        "config",
        is_of_task=False,
        is_shown=False,
    ),
    Deed("t", "switch", "Live", "show the task, or what agents do", is_shown=False),
    Deed(
        "slash",
        "search",
        "Search",
        "search in ids and titles",
        "list",
        " --all",
        is_of_task=False,
        is_shown=False,
    ),
    Deed("question_mark", "help", "Help", "list all keys"),
    Deed("q", "quit", "Quit", "leave; what runs is paused first"),
)
"""In the order of the footer."""
BY_KEY = {deed.key: deed for deed in DEEDS}

KEYS_OF_TREE = (
    ("up down j k", "move; also pgup, pgdn, home, end"),
    ("enter space", "fold or unfold"),
    ("f", "filter: all, ready, blocked (`git blackbird list --ready`, `--blocked`)"),
    ("tab", "go to the other pane"),
    ("esc", "go back"),
    ("ctrl+p", "find an action by name"),
)
KEY_NAMES = {"slash": "/", "question_mark": "?"}
